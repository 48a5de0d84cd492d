# Files of archives.

# test: tree module
op_version_set = 1
import __torch__.a
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

# test: tree module
class A(Module):
  a : int
class B(Module):
  b : __torch__.A
def f():
  pass
#| (class
#|   (ident A)
#|   (option (variable (ident Module)))
#|   (list
#|     (assign
#|       (list (variable (ident a)))
#|       (option)
#|       (option (variable (ident int)))))
#|   (option)
#|   (option))
#| (class
#|   (ident B)
#|   (option (variable (ident Module)))
#|   (list
#|     (assign
#|       (list (variable (ident b)))
#|       (option)
#|       (option
#|         (.
#|           (variable (ident __torch__))
#|           (ident A)))))
#|   (option)
#|   (option))
#| (def
#|   (ident f)
#|   (decl (list) (option))
#|   (list (pass)))

# test: tree module
import a
import b.c
class A:
  pass
#| (class
#|   (ident A)
#|   (option)
#|   (list (pass))
#|   (option)
#|   (option))
