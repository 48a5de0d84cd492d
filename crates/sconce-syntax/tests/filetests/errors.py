# What is refused, and in what words.

# test: error exp

#| expected ident but found 'eof' here:

# test: error exp
a +
#| expected ident but found 'eof' here:
#| a +

# test: error exp
(a
#| expected ) but found 'eof' here:
#| (a

# test: error exp
(a,
#| expected ident but found 'eof' here:
#| (a,

# test: error exp
[a
#| expected ] but found 'eof' here:
#| [a

# test: error exp
[a,
#| expected ident but found 'eof' here:
#| [a,

# test: error exp
f(a
#| expected ) but found 'eof' here:
#| f(a

# test: error exp
f(a=
#| expected ident but found 'eof' here:
#| f(a=

# test: error exp
f(a b)
#| expected ) but found 'ident' here:
#| f(a b)
#|     ~ <--- HERE

# test: error exp
a[
#| expected ident but found 'eof' here:
#| a[

# test: error exp
a[1
#| expected ] but found 'eof' here:
#| a[1

# test: error exp
a.
#| expected ident but found 'eof' here:
#| a.

# test: error exp
a.if
#| expected ident but found 'if' here:
#| a.if
#|   ~~ <--- HERE

# test: error exp
if
#| expected ident but found 'if' here:
#| if

# test: error exp
a if b
#| expected else but found 'eof' here:
#| a if b

# test: error exp
a if b c
#| expected else but found 'ident' here:
#| a if b c
#|        ~ <--- HERE

# test: error exp
x for
#| expected ident but found 'eof' here:
#| x for

# test: error exp
x for y
#| expected in but found 'eof' here:
#| x for y

# test: error exp
x for y of z
#| expected in but found 'ident' here:
#| x for y of z
#|         ~~ <--- HERE

# test: error exp
[x for x in y, z]
#|  expected a single list comprehension within '[' , ']':
#| [x for x in y, z]
#| ~~~~~~~~~~~~~~~~ <--- HERE

# test: error exp
[z, x for x in y]
#|  expected a single list comprehension within '[' , ']':
#| [z, x for x in y]
#| ~~~~~~~~~~~~~~~~ <--- HERE

# test: error exp
{a}
#| expected : but found '}' here:
#| {a}
#|   ~ <--- HERE

# test: error exp
{a: b, }
#| expected ident but found '}' here:
#| {a: b, }
#|        ~ <--- HERE

# test: error exp
{a: }
#| expected ident but found '}' here:
#| {a: }
#|     ~ <--- HERE

# test: error exp
not
#| expected ident but found 'eof' here:
#| not

# test: error exp
$
#| expected a valid token but found '$' here:
#| $

# test: error exp
a $ b
#| expected a valid token but found ' ' here:
#| a $ b
#|   ~ <--- HERE

# test: error exp
a \ b
#| expected a valid token but found ' ' here:
#| a \ b
#|   ~ <--- HERE

# test: error exp
"a
#| expected a valid token but found '"' here:
#| "a
#| ~ <--- HERE

# test: error exp
"\x41"
#| unsupported hex specifier:
#| "\x41"

# test: error exp
"\u0041"
#| unsupported unicode specifier:
#| "\u0041"

# test: error exp
"\q"
#|  ill formed octal specifier:
#| "\q"

# test: error exp
"\8"
#|  ill formed octal specifier:
#| "\8"

# test: error exp
'''a
#| expected a valid token but found ''' here:
#| '''a
#| ~ <--- HERE

# test: error exp
*
#| expected ident but found 'eof' here:
#| *

# test: error exp
a if
#| expected ident but found 'eof' here:
#| a if

# test: error exp
a ** 
#| expected ident but found 'eof' here:
#| a **

# test: error exp
+a
#| expected ident but found '+' here:
#| +a
#| ~ <--- HERE

# test: error exp
a <> b
#| expected ident but found '>' here:
#| a <> b
#|    ~ <--- HERE

# test: error def
def
#| expected ident but found 'newline' here:
#| def

# test: error def
def f
#| expected ( but found 'newline' here:
#| def f

# test: error def
def f(
#| expected ident but found 'eof' here:
#| def f(

# test: error def
def f(x
#| expected ) but found 'eof' here:
#| def f(x

# test: error def
def f(x:
#| expected ident but found 'eof' here:
#| def f(x:

# test: error def
def f(x=
#| expected ident but found 'eof' here:
#| def f(x=

# test: error def
def f(1)
#| expected ident but found 'number' here:
#| def f(1)
#|       ~ <--- HERE

# test: error def
def f(x) ->
#| expected ident but found 'newline' here:
#| def f(x) ->

# test: error def
def f(x)
#| expected : but found 'newline' here:
#| def f(x)

# test: error def
def f(x):
#| expected ident but found 'newline' here:
#| def f(x):

# test: error def
def f(x):
return x
#| expected ident but found 'newline' here:
#| def f(x):
#| return x

# test: error def
def f(x):
  return x
 y
#| invalid indent level 1:
#| def f(x):
#|   return x
#|  y

# test: error def
  def f(x):
    return x
y
#| invalid indent level 0:
#|   def f(x):
#|     return x
#| y

# test: error def
def f(x):
  x = 
#| expected ident but found 'newline' here:
#| def f(x):
#|   x =

# test: error def
def f(x):
  x : int = y = 1
#| Annotated multiple assignment is not supported in python:
#| def f(x):
#|   x : int = y = 1
#|       ~~~ <--- HERE

# test: error def
def f(x):
  x, y += 1
#|  augmented assignment can only have one LHS expression:
#| def f(x):
#|   x, y += 1
#|   ~~~~ <--- HERE

# test: error def
def f(x):
  if x: pass
#| expected indent but found 'pass' here:
#| def f(x):
#|   if x: pass
#|         ~~~~ <--- HERE

# test: error def
def f(x):
  if x:
  pass
#| expected indent but found 'newline' here:
#| def f(x):
#|   if x:
#|   pass

# test: error def
def f(x):
  if:
    pass
#| expected ident but found ':' here:
#| def f(x):
#|   if:
#|     ~ <--- HERE
#|     pass

# test: error def
def f(x):
  else:
    pass
#| expected ident but found 'else' here:
#| def f(x):
#|   else:
#|   ~~~~ <--- HERE
#|     pass

# test: error def
def f(x):
  while x
    pass
#| expected : but found 'indent' here:
#| def f(x):
#|   while x
#|     pass

# test: error def
def f(x):
  for x:
    pass
#| expected in but found ':' here:
#| def f(x):
#|   for x:
#|        ~ <--- HERE
#|     pass

# test: error def
def f(x):
  for x in y
    pass
#| expected : but found 'indent' here:
#| def f(x):
#|   for x in y
#|     pass

# test: error def
def f(x):
  with x as 1:
    pass
#| expected ident but found 'number' here:
#| def f(x):
#|   with x as 1:
#|             ~ <--- HERE
#|     pass

# test: error def
def f(x):
  with x
    pass
#| expected : but found 'indent' here:
#| def f(x):
#|   with x
#|     pass

# test: error def
def f(x):
  assert
#| expected ident but found 'newline' here:
#| def f(x):
#|   assert

# test: error def
def f(x):
  raise
#| expected ident but found 'newline' here:
#| def f(x):
#|   raise

# test: error def
def f(x):
  del
#| expected ident but found 'newline' here:
#| def f(x):
#|   del

# test: error def
def f(x):
  global 1
#| expected ident but found 'number' here:
#| def f(x):
#|   global 1
#|          ~ <--- HERE

# test: error def
def f(x):
  pass pass
#| expected newline but found 'pass' here:
#| def f(x):
#|   pass pass
#|        ~~~~ <--- HERE

# test: error def
def f(x):
  x = 1  # type: int
#| expected newline but found 'type comment' here:
#| def f(x):
#|   x = 1  # type: int
#|          ~~~~~~~ <--- HERE

# test: error def
def f(x):
  # type: (int, int) -> int
  return x
#| Number of type annotations (2) did not match the number of function parameters (1):
#| def f(x):
#|      ~~~~ <--- HERE
#|   # type: (int, int) -> int
#|   return x

# test: error def
def f(x):
  # type: int
  return x
#| expected ( but found 'ident' here:
#| def f(x):
#|   # type: int
#|           ~~~ <--- HERE
#|   return x

# test: error def
def f(*x):
  pass
#| expected ) but found 'ident' here:
#| def f(*x):
#|        ~ <--- HERE
#|   pass

# test: error def
def f(x, *, *y):
  pass
#| expected ident but found '*' here:
#| def f(x, *, *y):
#|             ~ <--- HERE
#|   pass

# test: error def
def f(**x):
  pass
#| expected ident but found 'pow operator' here:
#| def f(**x):
#|       ~~ <--- HERE
#|   pass

# test: error def
def f(x):
    pass
  pass
#| invalid indent level 2:
#| def f(x):
#|     pass
#|   pass

# test: error def
def f(x):
  return (x
#| expected ) but found 'eof' here:
#| def f(x):
#|   return (x

# test: error def
class A:
  pass
#| expected def but found 'class' here:
#| class A:
#| ~~~~~ <--- HERE
#|   pass

# test: error def
def f(x):
  try:
    pass
#| expected ident but found 'indent' here:
#| def f(x):
#|   try:
#|     pass

# test: error def
def f(x):
  x //= 2
#| expected ident but found '=' here:
#| def f(x):
#|   x //= 2
#|       ~ <--- HERE

# test: error def
def f(x):
  import y
#| expected ident but found 'import' here:
#| def f(x):
#|   import y
#|   ~~~~~~ <--- HERE

# test: error method
def f(self, x):
  # type: (int, int) -> int
  return x
#| Number of type annotations (2) did not match the number of method parameters (1):
#| def f(self, x):
#|      ~~~~~~~~~~ <--- HERE
#|   # type: (int, int) -> int
#|   return x

# test: error class
class
#| expected ident but found 'newline' here:
#| class

# test: error class
class A(B, C):
  pass
#| expected ) but found ',' here:
#| class A(B, C):
#|          ~ <--- HERE
#|   pass

# test: error class
class A:
pass
#| expected indent but found 'newline' here:
#| class A:
#| pass

# test: error class
class A: pass
#| expected indent but found 'pass' here:
#| class A: pass
#|          ~~~~ <--- HERE

# test: error module
x = 1
#| Unexpected token in code import: ident:
#| x = 1
#| ~ <--- HERE

# test: error module
def f(): pass
x
#| Unexpected token in code import: ident:
#| def f(): pass
#| x
#| ~ <--- HERE

# test: error module
import a
op_version_set = 1
#| Unexpected token in code import: ident:
#| import a
#| op_version_set = 1
#| ~~~~~~~~~~~~~~ <--- HERE

# test: error type
# type: int
#| expected ( but found 'ident' here:
#| # type: int
#|         ~~~ <--- HERE

# test: error type
# type: (int
#| expected ) but found 'eof' here:
#| # type: (int

# test: error type
# type: (int) -> 
#| expected ident but found 'newline' here:
#| # type: (int) ->

# test: error type
(int) -> int
#| expected type comment but found '(' here:
#| (int) -> int
#| ~ <--- HERE
