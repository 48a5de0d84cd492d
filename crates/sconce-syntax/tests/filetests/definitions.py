# Signatures and where bodies may stand.

# test: tree def
def f(): pass
#| (def
#|   (ident f)
#|   (decl (list) (option))
#|   (list (pass)))

# test: tree def
def f(x): return x
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
def f(x, ) -> int:
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
#|     (option (variable (ident int))))
#|   (list (return (variable (ident x)))))

# test: tree def
def f(x: int, y: List[int]=[], z=1) -> Tuple[int, int]:
  return x, y
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option (variable (ident int)))
#|         (option)
#|         (False))
#|       (param
#|         (ident y)
#|         (option
#|           (subscript
#|             (variable (ident List))
#|             (list
#|               (variable (ident int)))))
#|         (option (list-literal (list)))
#|         (False))
#|       (param
#|         (ident z)
#|         (option)
#|         (option (const 1))
#|         (False)))
#|     (option
#|       (subscript
#|         (variable (ident Tuple))
#|         (list
#|           (variable (ident int))
#|           (variable (ident int))))))
#|   (list
#|     (return
#|       (tuple-literal
#|         (list
#|           (variable (ident x))
#|           (variable (ident y)))))))

# test: tree def
def f(x, *, y: int, z=2):
  pass
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option)
#|         (option)
#|         (False))
#|       (param
#|         (ident y)
#|         (option (variable (ident int)))
#|         (option)
#|         (True))
#|       (param
#|         (ident z)
#|         (option)
#|         (option (const 2))
#|         (True)))
#|     (option))
#|   (list (pass)))

# test: tree def
def f(*, x):
  pass
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option)
#|         (option)
#|         (True)))
#|     (option))
#|   (list (pass)))

# test: tree def
def f(x, *, ):
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
def f(x,
      y):
  return x
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option)
#|         (option)
#|         (False))
#|       (param
#|         (ident y)
#|         (option)
#|         (option)
#|         (False)))
#|     (option))
#|   (list (return (variable (ident x)))))

# test: tree def
def f(x):
  # type: (int) -> int
  return x
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option (variable (ident int)))
#|         (option)
#|         (False)))
#|     (option (variable (ident int))))
#|   (list (return (variable (ident x)))))

# test: tree def
def f(x, y):
  # type: (int, Tensor)
  return x
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident x)
#|         (option (variable (ident int)))
#|         (option)
#|         (False))
#|       (param
#|         (ident y)
#|         (option
#|           (variable (ident Tensor)))
#|         (option)
#|         (False)))
#|     (option))
#|   (list (return (variable (ident x)))))

# test: tree def
def f():
  # type: () -> int
  return 1
#| (def
#|   (ident f)
#|   (decl
#|     (list)
#|     (option (variable (ident int))))
#|   (list (return (const 1))))

# test: tree method
def f(self, x):
  # type: (int) -> int
  return x
#| (def
#|   (ident f)
#|   (decl
#|     (list
#|       (param
#|         (ident self)
#|         (option)
#|         (option)
#|         (False))
#|       (param
#|         (ident x)
#|         (option (variable (ident int)))
#|         (option)
#|         (False)))
#|     (option (variable (ident int))))
#|   (list (return (variable (ident x)))))

# test: tree type
# type: (int, Optional[Tensor]) -> List[int]
#| (decl
#|   (list
#|     (param
#|       (ident )
#|       (option (variable (ident int)))
#|       (option)
#|       (False))
#|     (param
#|       (ident )
#|       (option
#|         (subscript
#|           (variable (ident Optional))
#|           (list
#|             (variable (ident Tensor)))))
#|       (option)
#|       (False)))
#|   (option
#|     (subscript
#|       (variable (ident List))
#|       (list (variable (ident int))))))

# test: tree type
# type: ()
#| (decl (list) (option))
