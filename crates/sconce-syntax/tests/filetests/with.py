# with.

# test: tree def
def f(x):
  with x:
    pass
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option)
#|         (option)
#|         (False)))
#|     (option))
#|   (list
#|     (with
#|       (list
#|         (withitem
#|           (variable (ident x))
#|           (option)))
#|       (list (pass)))))

# test: tree def
def f(x):
  with x as y:
    pass
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option)
#|         (option)
#|         (False)))
#|     (option))
#|   (list
#|     (with
#|       (list
#|         (withitem
#|           (variable (ident x))
#|           (option (variable (ident y)))))
#|       (list (pass)))))

# test: tree def
def f(x):
  with x as y, z, f(w) as v:
    pass
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option)
#|         (option)
#|         (False)))
#|     (option))
#|   (list
#|     (with
#|       (list
#|         (withitem
#|           (variable (ident x))
#|           (option (variable (ident y))))
#|         (withitem
#|           (variable (ident z))
#|           (option))
#|         (withitem
#|           (apply
#|             (variable (ident f))
#|             (list (variable (ident w)))
#|             (list))
#|           (option (variable (ident v)))))
#|       (list (pass)))))

# test: tree def
def f(x):
  with x, :
    pass
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option)
#|         (option)
#|         (False)))
#|     (option))
#|   (list
#|     (with
#|       (list
#|         (withitem
#|           (variable (ident x))
#|           (option)))
#|       (list (pass)))))
