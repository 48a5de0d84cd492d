# for and while.

# test: tree def
def f(x):
  while x:
    break
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
#|     (while
#|       (variable (ident x))
#|       (list (break)))))

# test: tree def
def f(x):
  for i in x:
    continue
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
#|     (for
#|       (list (variable (ident i)))
#|       (list (variable (ident x)))
#|       (list (continue)))))

# test: tree def
def f(x):
  for i, j in x:
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
#|     (for
#|       (list
#|         (variable (ident i))
#|         (variable (ident j)))
#|       (list (variable (ident x)))
#|       (list (pass)))))

# test: tree def
def f(x):
  for (i, j) in x:
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
#|     (for
#|       (list
#|         (tuple-literal
#|           (list
#|             (variable (ident i))
#|             (variable (ident j)))))
#|       (list (variable (ident x)))
#|       (list (pass)))))

# test: tree def
def f(x):
  for i in x, y:
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
#|     (for
#|       (list (variable (ident i)))
#|       (list
#|         (variable (ident x))
#|         (variable (ident y)))
#|       (list (pass)))))

# test: tree def
def f(x):
  for i in range(2):
    for j in i:
      break
    continue
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
#|     (for
#|       (list (variable (ident i)))
#|       (list
#|         (apply
#|           (variable (ident range))
#|           (list (const 2))
#|           (list)))
#|       (list
#|         (for
#|           (list (variable (ident j)))
#|           (list (variable (ident i)))
#|           (list (break)))
#|         (continue)))))

# test: tree def
def f(x):
  for i, in x:
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
#|     (for
#|       (list (variable (ident i)))
#|       (list (variable (ident x)))
#|       (list (pass)))))

# test: tree def
def f(x):
  for x.y in z:
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
#|     (for
#|       (list
#|         (.
#|           (variable (ident x))
#|           (ident y)))
#|       (list (variable (ident z)))
#|       (list (pass)))))
