# if, elif, else.

# test: tree def
def f(x):
  if x:
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
#|     (if
#|       (variable (ident x))
#|       (list (pass))
#|       (list))))

# test: tree def
def f(x):
  if x:
    pass
  y
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
#|     (if
#|       (variable (ident x))
#|       (list (pass))
#|       (list))
#|     (expression statement
#|       (variable (ident y)))))

# test: tree def
def f(x):
  if x:
    pass
  else:
    y
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
#|     (if
#|       (variable (ident x))
#|       (list (pass))
#|       (list
#|         (expression statement
#|           (variable (ident y)))))))

# test: tree def
def f(x):
  if x:
    pass
  elif y:
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
#|     (if
#|       (variable (ident x))
#|       (list (pass))
#|       (list
#|         (if
#|           (variable (ident y))
#|           (list (pass))
#|           (list))))))

# test: tree def
def f(x):
  if x:
    pass
  elif y:
    pass
  elif z:
    pass
  else:
    w
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
#|     (if
#|       (variable (ident x))
#|       (list (pass))
#|       (list
#|         (if
#|           (variable (ident y))
#|           (list (pass))
#|           (list
#|             (if
#|               (variable (ident z))
#|               (list (pass))
#|               (list
#|                 (expression statement
#|                   (variable (ident w)))))))))))

# test: tree def
def f(x):
  if x:
    if y:
      pass
    else:
      z
  w
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
#|     (if
#|       (variable (ident x))
#|       (list
#|         (if
#|           (variable (ident y))
#|           (list (pass))
#|           (list
#|             (expression statement
#|               (variable (ident z))))))
#|       (list))
#|     (expression statement
#|       (variable (ident w)))))

# test: tree def
def f(x):
  if x:
  
    # said
    pass  # said
  
  # said
  y
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
#|     (if
#|       (variable (ident x))
#|       (list (pass))
#|       (list))
#|     (expression statement
#|       (variable (ident y)))))
