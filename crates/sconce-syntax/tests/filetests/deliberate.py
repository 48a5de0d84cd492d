# Where sconce reads what PyTorch misreads or refuses: words end where they end, a number is
# negated once, numbers and strings are checked when they are parsed.

# test: sconce tree exp
not int(x)
#| (not
#|   (apply
#|     (variable (ident int))
#|     (list (variable (ident x)))
#|     (list)))

# test: sconce tree exp
x is nothing
#| (is
#|   (variable (ident x))
#|   (variable (ident nothing)))

# test: sconce tree exp
x is notin(y)
#| (is
#|   (variable (ident x))
#|   (apply
#|     (variable (ident notin))
#|     (list (variable (ident y)))
#|     (list)))

# test: sconce tree exp
not inner
#| (not (variable (ident inner)))

# test: sconce tree exp
--1
#| (unary minus (const -1))

# test: sconce tree exp
- -1.5
#| (unary minus (const -1.5))

# test: sconce tree module
def f(): pass
import a
#| (def
#|   (ident f)
#|   (decl (list) (option))
#|   (list (pass)))

# test: sconce error exp
9223372036854775808
#| Integral constant out of range (must fit in a signed 64 bit integer):
#| 9223372036854775808

# test: sconce error exp
09
#| ill-formed integer constant:
#| 09

# test: sconce error exp
0x1p3
#| ill-formed integer constant:
#| 0x1p3

# test: sconce error exp
"\377"
#| the string is not UTF-8:
#| "\377"

# test: sconce error exp
"é" é
#| expected a valid token but found ' ' here:
#| "é" é
#|      ~ <--- HERE
