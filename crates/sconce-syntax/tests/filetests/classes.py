# Classes.

# test: tree class
class A:
  pass
#| (class
#|   (ident A)
#|   (option)
#|   (list (pass))
#|   (option)
#|   (option))

# test: tree class
class A(Module):
  a : int
  def f(self): return 1
#| (class
#|   (ident A)
#|   (option (variable (ident Module)))
#|   (list
#|     (assign
#|       (list (variable (ident a)))
#|       (option)
#|       (option (variable (ident int))))
#|     (def
#|       (ident f)
#|       (decl
#|         (list
#|           (param
#|             (ident self)
#|             (option)
#|             (option)
#|             (False)))
#|         (option))
#|       (list (return (const 1)))))
#|   (option)
#|   (option))

# test: tree class
class A(NamedTuple):
  x : int
  y : Tensor
#| (class
#|   (ident A)
#|   (option
#|     (variable (ident NamedTuple)))
#|   (list
#|     (assign
#|       (list (variable (ident x)))
#|       (option)
#|       (option (variable (ident int))))
#|     (assign
#|       (list (variable (ident y)))
#|       (option)
#|       (option
#|         (variable (ident Tensor)))))
#|   (option)
#|   (option))

# test: tree class
class A(Enum):
  RED = 1
  BLUE = "b"
#| (class
#|   (ident A)
#|   (option (variable (ident Enum)))
#|   (list
#|     (assign
#|       (list (variable (ident RED)))
#|       (option (const 1))
#|       (option))
#|     (assign
#|       (list (variable (ident BLUE)))
#|       (option (string_literal b))
#|       (option)))
#|   (option)
#|   (option))

# test: tree class
class A(ModuleInterface):
  def f(self, x: Tensor) -> Tensor:
    pass
#| (class
#|   (ident A)
#|   (option
#|     (variable (ident ModuleInterface)))
#|   (list
#|     (def
#|       (ident f)
#|       (decl
#|         (list
#|           (param
#|             (ident self)
#|             (option)
#|             (option)
#|             (False))
#|           (param
#|             (ident x)
#|             (option
#|               (variable (ident Tensor)))
#|             (option)
#|             (False)))
#|         (option
#|           (variable (ident Tensor))))
#|       (list (pass))))
#|   (option)
#|   (option))

# test: tree class
class A(a.b):
  def f(self, x):
    # type: (int) -> int
    return x
#| (class
#|   (ident A)
#|   (option
#|     (. (variable (ident a)) (ident b)))
#|   (list
#|     (def
#|       (ident f)
#|       (decl
#|         (list
#|           (param
#|             (ident self)
#|             (option)
#|             (option)
#|             (False))
#|           (param
#|             (ident x)
#|             (option
#|               (variable (ident int)))
#|             (option)
#|             (False)))
#|         (option (variable (ident int))))
#|       (list
#|         (return (variable (ident x))))))
#|   (option)
#|   (option))
