# Statements on one line.

# test: tree def
def f(x):
  return
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
#|   (list (return (None))))

# test: tree def
def f(x):
  return x
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
#|   (list (return (variable (ident x)))))

# test: tree def
def f(x):
  return x, y
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
#|     (return
#|       (tuple-literal
#|         (list
#|           (variable (ident x))
#|           (variable (ident y)))))))

# test: tree def
def f(x):
  return x,
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
#|     (return
#|       (tuple-literal
#|         (list (variable (ident x)))))))

# test: tree def
def f(x):
  raise x
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
#|   (list (raise (variable (ident x)))))

# test: tree def
def f(x):
  raise E("a")
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
#|     (raise
#|       (apply
#|         (variable (ident E))
#|         (list (string_literal a))
#|         (list)))))

# test: tree def
def f(x):
  assert x
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
#|     (assert
#|       (variable (ident x))
#|       (option))))

# test: tree def
def f(x):
  assert x, "a"
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
#|     (assert
#|       (variable (ident x))
#|       (option (string_literal a)))))

# test: tree def
def f(x):
  del x
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
#|     (del (list (variable (ident x))))))

# test: tree def
def f(x):
  del x, y[0]
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
#|     (del
#|       (list
#|         (variable (ident x))
#|         (subscript
#|           (variable (ident y))
#|           (list (const 0)))))))

# test: tree def
def f(x):
  global x
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
#|   (list (global (list (ident x)))))

# test: tree def
def f(x):
  global x, y
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
#|     (global (list (ident x) (ident y)))))

# test: tree def
def f(x):
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
#|   (list (pass)))

# test: tree def
def f(x):
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
#|   (list (break)))

# test: tree def
def f(x):
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
#|   (list (continue)))

# test: tree def
def f(x):
  def g(y):
    return y
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
#|     (def
#|       (ident g)
#|       (decl
#|         (list
#|           (param
#|             (ident y)
#|             (option)
#|             (option)
#|             (False)))
#|         (option))
#|       (list
#|         (return (variable (ident y)))))))

# test: tree def
def f(x):
  print(x)
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
#|     (expression statement
#|       (apply
#|         (variable (ident print))
#|         (list (variable (ident x)))
#|         (list)))))

# test: tree def
def f(x):
  "said"
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
#|     (expression statement
#|       (string_literal said))))
