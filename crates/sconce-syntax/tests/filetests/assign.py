# Assignments.

# test: tree def
def f(x):
  x
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
#|       (variable (ident x)))))

# test: tree def
def f(x):
  x = 1
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
#|     (assign
#|       (list (variable (ident x)))
#|       (option (const 1))
#|       (option))))

# test: tree def
def f(x):
  x = 1, 2
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
#|     (assign
#|       (list (variable (ident x)))
#|       (option
#|         (tuple-literal
#|           (list (const 1) (const 2))))
#|       (option))))

# test: tree def
def f(x):
  x, y = 1, 2
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
#|     (assign
#|       (list
#|         (tuple-literal
#|           (list
#|             (variable (ident x))
#|             (variable (ident y)))))
#|       (option
#|         (tuple-literal
#|           (list (const 1) (const 2))))
#|       (option))))

# test: tree def
def f(x):
  x, = y
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
#|     (assign
#|       (list
#|         (tuple-literal
#|           (list (variable (ident x)))))
#|       (option (variable (ident y)))
#|       (option))))

# test: tree def
def f(x):
  (x, y) = z
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
#|     (assign
#|       (list
#|         (tuple-literal
#|           (list
#|             (variable (ident x))
#|             (variable (ident y)))))
#|       (option (variable (ident z)))
#|       (option))))

# test: tree def
def f(x):
  x, (y, z) = w
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
#|     (assign
#|       (list
#|         (tuple-literal
#|           (list
#|             (variable (ident x))
#|             (tuple-literal
#|               (list
#|                 (variable (ident y))
#|                 (variable (ident z)))))))
#|       (option (variable (ident w)))
#|       (option))))

# test: tree def
def f(x):
  x = y = 1
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
#|     (assign
#|       (list
#|         (variable (ident x))
#|         (variable (ident y)))
#|       (option (const 1))
#|       (option))))

# test: tree def
def f(x):
  x = y, z = 1, 2
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
#|     (assign
#|       (list
#|         (variable (ident x))
#|         (tuple-literal
#|           (list
#|             (variable (ident y))
#|             (variable (ident z)))))
#|       (option
#|         (tuple-literal
#|           (list (const 1) (const 2))))
#|       (option))))

# test: tree def
def f(x):
  x : int = 1
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
#|     (assign
#|       (list (variable (ident x)))
#|       (option (const 1))
#|       (option (variable (ident int))))))

# test: tree def
def f(x):
  x : int
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
#|     (assign
#|       (list (variable (ident x)))
#|       (option)
#|       (option (variable (ident int))))))

# test: tree def
def f(x):
  x: Optional[List[int]] = None
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
#|     (assign
#|       (list (variable (ident x)))
#|       (option (None))
#|       (option
#|         (subscript
#|           (variable (ident Optional))
#|           (list
#|             (subscript
#|               (variable (ident List))
#|               (list
#|                 (variable (ident int))))))))))

# test: tree def
def f(x):
  x.y = 1
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
#|     (assign
#|       (list
#|         (.
#|           (variable (ident x))
#|           (ident y)))
#|       (option (const 1))
#|       (option))))

# test: tree def
def f(x):
  x[0] = 1
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
#|     (assign
#|       (list
#|         (subscript
#|           (variable (ident x))
#|           (list (const 0))))
#|       (option (const 1))
#|       (option))))

# test: tree def
def f(x):
  x[:, 1] = y, z
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
#|     (assign
#|       (list
#|         (subscript
#|           (variable (ident x))
#|           (list
#|             (slice expr
#|               (option)
#|               (option)
#|               (option))
#|             (const 1))))
#|       (option
#|         (tuple-literal
#|           (list
#|             (variable (ident y))
#|             (variable (ident z)))))
#|       (option))))

# test: tree def
def f(x):
  *x, y = z
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
#|     (assign
#|       (list
#|         (tuple-literal
#|           (list
#|             (starred
#|               (variable (ident x)))
#|             (variable (ident y)))))
#|       (option (variable (ident z)))
#|       (option))))

# test: tree def
def f(x):
  x = (1 +
      2)
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
#|     (assign
#|       (list (variable (ident x)))
#|       (option (+ (const 1) (const 2)))
#|       (option))))

# test: tree def
def f(x):
  x = 1 + \
    2
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
#|     (assign
#|       (list (variable (ident x)))
#|       (option (+ (const 1) (const 2)))
#|       (option))))

# test: tree def
def f(x):
  x, y
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
#|       (tuple-literal
#|         (list
#|           (variable (ident x))
#|           (variable (ident y)))))))

# test: tree class
class A(Module):
  __parameters__ = ["a", ]
  a : Tensor
  __annotations__["0"] = Tensor
  b : Final[int] = 3
#| (class
#|   (ident A)
#|   (option (variable (ident Module)))
#|   (list
#|     (assign
#|       (list
#|         (variable
#|           (ident __parameters__)))
#|       (option
#|         (list-literal
#|           (list (string_literal a))))
#|       (option))
#|     (assign
#|       (list (variable (ident a)))
#|       (option)
#|       (option
#|         (variable (ident Tensor))))
#|     (assign
#|       (list
#|         (subscript
#|           (variable
#|             (ident __annotations__))
#|           (list (string_literal 0))))
#|       (option
#|         (variable (ident Tensor)))
#|       (option))
#|     (assign
#|       (list (variable (ident b)))
#|       (option (const 3))
#|       (option
#|         (subscript
#|           (variable (ident Final))
#|           (list (variable (ident int)))))))
#|   (option)
#|   (option))
