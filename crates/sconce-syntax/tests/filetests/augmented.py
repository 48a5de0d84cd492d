# Augmented assignments. There is no `//=`, no `@=`, no `>>>=`.

# test: tree def
def f(x):
  x += y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (+)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x -= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (-)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x *= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (*)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x /= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (/)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x %= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (%)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x |= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (|)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x &= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (&)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x ^= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (^)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x <<= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (<<)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x >>= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (>>)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x **= y
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
#|     (aug_assign
#|       (variable (ident x))
#|       (pow operator)
#|       (variable (ident y)))))

# test: tree def
def f(x):
  x += 1, 2
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
#|     (aug_assign
#|       (variable (ident x))
#|       (+)
#|       (tuple-literal
#|         (list (const 1) (const 2))))))

# test: tree def
def f(x):
  x.y += 1
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
#|     (aug_assign
#|       (.
#|         (variable (ident x))
#|         (ident y))
#|       (+)
#|       (const 1))))

# test: tree def
def f(x):
  x[0] -= 1
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
#|     (aug_assign
#|       (subscript
#|         (variable (ident x))
#|         (list (const 0)))
#|       (-)
#|       (const 1))))

# test: tree def
def f(x):
  x : int += 1
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
#|     (aug_assign
#|       (variable (ident x))
#|       (+)
#|       (const 1))))
