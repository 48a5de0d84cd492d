# test: error
def f(x):
  return y
#| undefined value y:
#|   File "<string>", line 2
#| def f(x):
#|   return y
#|          ~ <--- HERE
# test: error
def f(x, y: int):
  return x.foo(y)
#| 'Tensor (inferred)' object has no attribute or method 'foo'.:
#|   File "<string>", line 2
#| def f(x, y: int):
#|   return x.foo(y)
#|          ~~~~~ <--- HERE
# test: error
def f(x, y: int):
  return torch.add(y, "a")
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor:
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.
#|
#|   aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor:
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.
#|
#|   aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!):
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.
#|
#|   aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!):
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.
#|
#|   aten::add.t(t[] a, t[] b) -> t[]:
#|   Could not match type int to List[t] in argument 'a': Cannot match List[t] to int.
#|
#|   aten::add.str(str a, str b) -> str:
#|   Expected a value of type 'str' for argument 'a' but instead found type 'int'.
#|
#|   aten::add.int(int a, int b) -> int:
#|   Expected a value of type 'int' for argument 'b' but instead found type 'str'.
#|
#|   aten::add.complex(complex a, complex b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'int'.
#|
#|   aten::add.float(float a, float b) -> float:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'int'.
#|
#|   aten::add.int_complex(int a, complex b) -> complex:
#|   Expected a value of type 'complex' for argument 'b' but instead found type 'str'.
#|
#|   aten::add.complex_int(complex a, int b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'int'.
#|
#|   aten::add.float_complex(float a, complex b) -> complex:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'int'.
#|
#|   aten::add.complex_float(complex a, float b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'int'.
#|
#|   aten::add.int_float(int a, float b) -> float:
#|   Expected a value of type 'float' for argument 'b' but instead found type 'str'.
#|
#|   aten::add.float_int(float a, int b) -> float:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'int'.
#|
#|   aten::add(Scalar a, Scalar b) -> Scalar:
#|   Expected a value of type 'number' for argument 'b' but instead found type 'str'.
#|
#|   add(float a, Tensor b) -> Tensor:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'int'.
#|
#|   add(int a, Tensor b) -> Tensor:
#|   Expected a value of type 'Tensor' for argument 'b' but instead found type 'str'.
#|
#|   add(complex a, Tensor b) -> Tensor:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'int'.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x, y: int):
#|   return torch.add(y, "a")
#|          ~~~~~~~~~ <--- HERE
# test: error
def f(x, y: bool):
  if y:
    z = 1
  return z
#| z is not defined in the false branch:
#|   File "<string>", line 2
#| def f(x, y: bool):
#|   if y:
#|   ~~~~~
#|     z = 1
#|     ~~~~~
#|   return z
#|   ~~~~~~ <--- HERE
#| and was used here:
#|   File "<string>", line 4
#|   if y:
#|     z = 1
#|   return z
#|          ~ <--- HERE
# test: error
def f(x, y: bool):
  if y:
    z = 1
  else:
    z = 'a'
  return z
#| Type mismatch: z is set to type int in the true branch and type str in the false branch:
#|   File "<string>", line 2
#| def f(x, y: bool):
#|   if y:
#|   ~~~~~
#|     z = 1
#|     ~~~~~
#|   else:
#|   ~~~~~
#|     z = 'a'
#|     ~~~~~~~ <--- HERE
#|   return z
#| and was used here:
#|   File "<string>", line 6
#|   else:
#|     z = 'a'
#|   return z
#|          ~ <--- HERE
# test: error
def f(x: int):
  x = 'a'
  if x == 'a':
    x = 1
  return x
#| Variable 'x' previously had type str but is now being assigned to a value of type int
#| :
#|   File "<string>", line 4
#|   x = 'a'
#|   if x == 'a':
#|     x = 1
#|     ~ <--- HERE
#|   return x
# test: error
def f(x: int) -> float:
  return x
#| Return value was annotated as having type float but is actually of type int:
#|   File "<string>", line 2
#| def f(x: int) -> float:
#|   return x
#|   ~~~~~~~~ <--- HERE
# test: error
def f(x: int) -> int:
  y = x
#| Function was not annotated as having type None, but does not return along all paths:
#|   File "<string>", line 1
#| def f(x: int) -> int:
#|     ~~~~~~~~~~~~~~~~~
#|   y = x
#|   ~~~~~ <--- HERE
# test: error
def f(x: int):
  if x > 1:
    return 1
  return "a"
#| Previous return statement returned a value of type int but this return statement returns a value of type str:
#|   File "<string>", line 4
#|   if x > 1:
#|     return 1
#|   return "a"
#|   ~~~~~~~~~~ <--- HERE
# test: error
def f(x: int):
  return 1 if x > 1 else "a"
#| if-expression's true branch has type int but false branch has type str:
#|   File "<string>", line 2
#| def f(x: int):
#|   return 1 if x > 1 else "a"
#|          ~~~~~~~~~~~~~~~~~~~ <--- HERE
# test: error
def f(x: int):
  break
#| SyntaxError: 'break' outside loop:
#|   File "<string>", line 2
#| def f(x: int):
#|   break
#|   ~~~~~ <--- HERE
# test: error
def f(x: int):
  for i in (1, 2):
    continue
#| Because we emit iteration over modulelists or tuples as unrolled loops, we do not support break or continue inside the body of these loops:
#|   File "<string>", line 3
#| def f(x: int):
#|   for i in (1, 2):
#|     continue
#|     ~~~~~~~~ <--- HERE
# test: error
def f(x: int):
  for i in x:
    print(i)
#| 'int' object is not iterable:
#|   File "<string>", line 2
#| def f(x: int):
#|   for i in x:
#|   ~~~~~~~~~~~
#|     print(i)
#|     ~~~~~~~ <--- HERE
# test: error
def f(x: int):
  a, b = x
#| int cannot be used as a tuple:
#|   File "<string>", line 2
#| def f(x: int):
#|   a, b = x
#|          ~ <--- HERE
# test: error
def f(x: int):
  a, b = 1, 2, 3
#| too many values to unpack: need 2 but found 3:
#|   File "<string>", line 2
#| def f(x: int):
#|   a, b = 1, 2, 3
#|   ~~~~ <--- HERE
# test: error
def f(x: int):
  a, b, c = 1, 2
#| need 3 values to unpack but found only 2:
#|   File "<string>", line 2
#| def f(x: int):
#|   a, b, c = 1, 2
#|   ~~~~~~~ <--- HERE
# test: error
def f(x: List[int]):
  a, *b = x
#| cannot statically infer the expected size of a list in this context:
#|   File "<string>", line 2
#| def f(x: List[int]):
#|   a, *b = x
#|           ~ <--- HERE
# test: error
def f(x: int):
  *a, *b = (1, 2, 3)
#| Only one starred expression is allowed on the lhs:
#|   File "<string>", line 2
#| def f(x: int):
#|   *a, *b = (1, 2, 3)
#|   ~~~~~~ <--- HERE
# test: error
def f(x: int):
  raise x
#| exceptions must derive from BaseException:
#|   File "<string>", line 2
#| def f(x: int):
#|   raise x
#|   ~~~~~~~ <--- HERE
# test: error
def f(x: int):
  x: str = 1
#| Variable 'x' is annotated with type str but is being assigned to a value of type int:
#|   File "<string>", line 2
#| def f(x: int):
#|   x: str = 1
#|   ~ <--- HERE
# test: error
def f(x: int):
  y = 1
  if x > 1:
    y: int = 2
#| Attempting to declare and annotate the type of variable 'y' but it is already defined in an outer block:
#|   File "<string>", line 4
#|   y = 1
#|   if x > 1:
#|     y: int = 2
#|     ~ <--- HERE
# test: error
def f(x: Foo):
  return x
#| Unknown type name 'Foo':
#|   File "<string>", line 1
#| def f(x: Foo):
#|          ~~~ <--- HERE
#|   return x
# test: error
def f(x: Foo[int]):
  return x
#| Unknown type constructor Foo:
#|   File "<string>", line 1
#| def f(x: Foo[int]):
#|          ~~~~~~~~ <--- HERE
#|   return x
# test: error
def f(x: List[int, str]):
  return x
#|  expected exactly one element type but found 2:
#|   File "<string>", line 1
#| def f(x: List[int, str]):
#|          ~~~~~~~~~~~~~~ <--- HERE
#|   return x
# test: error
def f(x: Dict[List[int], int]):
  return x
#| Cannot create dict for key type 'int[]', only int, float, complex, Tensor, device and string keys are supported
# test: error
def f(x=1):
  return x
#| Keyword arguments with defaults need to be type-hinted (TorchScript C++ frontend):
#|   File "<string>", line 1
#| def f(x=1):
#|       ~~~ <--- HERE
#|   return x
# test: error
def g(x: int, y: str):
  return x
def f(x: int):
  return g(x)
#| g(int x, str y) -> int:
#| Argument y not provided.
#| :
#|   File "<string>", line 4
#|   return x
#| def f(x: int):
#|   return g(x)
#|          ~ <--- HERE
# test: error
def g(x: int, y: str):
  return x
def f(x: int):
  return g(x, 1)
#| g(int x, str y) -> int:
#| Expected a value of type 'str' for argument 'y' but instead found type 'int'.
#| :
#|   File "<string>", line 4
#|   return x
#| def f(x: int):
#|   return g(x, 1)
#|          ~ <--- HERE
# test: error
def g(x: int):
  return x
def f(x: int):
  return g(x, 1, 2)
#| g(int x) -> int:
#| Expected at most 1 arguments but found 3 positional arguments.
#| :
#|   File "<string>", line 4
#|   return x
#| def f(x: int):
#|   return g(x, 1, 2)
#|          ~ <--- HERE
# test: error
def g(x: int):
  return x
def f(x: int):
  return g(x, z=1)
#| g(int x) -> int:
#| Keyword argument z unknown.
#| :
#|   File "<string>", line 4
#|   return x
#| def f(x: int):
#|   return g(x, z=1)
#|          ~ <--- HERE
# test: error
def g(x: int):
  return x
def f(x: int):
  return g(1, x=1)
#| g(int x) -> int:
#| Keyword argument x specified twice.
#| :
#|   File "<string>", line 4
#|   return x
#| def f(x: int):
#|   return g(1, x=1)
#|          ~ <--- HERE
# test: error
def f(x):
  return torch.conv2d(x)
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor:
#|   Argument weight not provided.
#|
#|   aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding="valid", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor:
#|   Argument weight not provided.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x):
#|   return torch.conv2d(x)
#|          ~~~~~~~~~~~~ <--- HERE
# test: error
def f(x):
  x.a = 3
#| Tried to set an attribute: a on a non-class: Tensor (inferred):
#|   File "<string>", line 2
#| def f(x):
#|   x.a = 3
#|   ~~~~~~~ <--- HERE
# test: error
def f(x: Tuple[int, str]):
  return x[5]
#| Tuple index out of range. Tuple is length 2 and index is 5:
#|   File "<string>", line 2
#| def f(x: Tuple[int, str]):
#|   return x[5]
#|          ~~~~ <--- HERE
# test: error
def f(x: Tuple[int, str], i: int):
  return x[i]
#| Cannot index into a Tuple[int, str] with a non-integer literal because we cannot resolve the output type:
#|   File "<string>", line 2
#| def f(x: Tuple[int, str], i: int):
#|   return x[i]
#|          ~~~~ <--- HERE
# test: error
def f(x: int):
  return x[0]
#| 'int' object is not subscriptable:
#|   File "<string>", line 2
#| def f(x: int):
#|   return x[0]
#|          ~~~~ <--- HERE
# test: error
def f(x: int):
  return x[0, 1]
#| Unsupported operation: attempted to use multidimensional indexing on a non-tensor type:
#|   File "<string>", line 2
#| def f(x: int):
#|   return x[0, 1]
#|          ~~~~~~~ <--- HERE
# test: error
def f(x):
  return x["a"]
#| Unsupported operation: indexing tensor with unsupported index type 'str'. Only ints, slices, lists and tensors are supported:
#|   File "<string>", line 2
#| def f(x):
#|   return x["a"]
#|          ~~~~~~ <--- HERE
# test: error
def f(x):
  return x[..., x]
#| Ellipses followed by tensor indexing is currently not supported:
#|   File "<string>", line 2
#| def f(x):
#|   return x[..., x]
#|          ~~~~~~~~~ <--- HERE
# test: error
def f(x):
  return x[..., ...]
#| An index can only have a single ellipsis ('...'):
#|   File "<string>", line 2
#| def f(x):
#|   return x[..., ...]
#|          ~~~~~~~~~~~ <--- HERE
# test: error
def f(x: Tuple[int, int]):
  x[0] = 1
#| Tuple[int, int] does not support subscripted assignment:
#|   File "<string>", line 2
#| def f(x: Tuple[int, int]):
#|   x[0] = 1
#|   ~~~~ <--- HERE
# test: error
def f(x: List[int]):
  x[0:1] = [1]
#| Sliced expression not yet supported for subscripted assignment. File a bug if you want this:
#|   File "<string>", line 2
#| def f(x: List[int]):
#|   x[0:1] = [1]
#|    ~~~~ <--- HERE
# test: error
def f(x: List[int]):
  del x[0:1]
#| del statements only support deletion at a single index, slicing is not supported (see https://github.com/pytorch/pytorch/issues/31430):
#|   File "<string>", line 2
#| def f(x: List[int]):
#|   del x[0:1]
#|       ~~~~~~ <--- HERE
# test: error
def f(x: int):
  del y
#| undefined value y:
#|   File "<string>", line 2
#| def f(x: int):
#|   del y
#|       ~ <--- HERE
# test: error
def f(x: int):
  del x
  return x
#| undefined value x:
#|   File "<string>", line 3
#| def f(x: int):
#|   del x
#|   return x
#|          ~ <--- HERE
# test: error
def f(x):
  return x.tolist()
#| Expected type hint for result of tolist():
#|   File "<string>", line 2
#| def f(x):
#|   return x.tolist()
#|          ~~~~~~~~~ <--- HERE
# test: error
def f(x: int):
  return hasattr(x, "a")
#| hasattr's first argument must be an object or NamedTuple, got int instead:
#|   File "<string>", line 2
#| def f(x: int):
#|   return hasattr(x, "a")
#|                  ~ <--- HERE
# test: error
def f(x: int):
  return getattr(x, x)
#| getattr's second argument must be a string literal:
#|   File "<string>", line 2
#| def f(x: int):
#|   return getattr(x, x)
#|          ~~~~~~~~~~~~ <--- HERE
# test: error
def f(x: int):
  return isinstance(x)
#| isinstance expected exactly 2 arguments but found 1:
#|   File "<string>", line 2
#| def f(x: int):
#|   return isinstance(x)
#|          ~~~~~~~~~~~~ <--- HERE
# test: error
def f(x: int):
  print(x, end="a")
#| print doesn't accept any keyword arguments:
#|   File "<string>", line 2
#| def f(x: int):
#|   print(x, end="a")
#|   ~~~~~ <--- HERE
# test: error
def f(x: int):
  return range(x)
#| range cannot be used as a value:
#|   File "<string>", line 2
#| def f(x: int):
#|   return range(x)
#|          ~~~~~~~ <--- HERE
# test: error
def f(x: int):
  for i in range(1.5):
    pass
#| all inputs of range must be ints, found float in argument 0:
#|   File "<string>", line 2
#| def f(x: int):
#|   for i in range(1.5):
#|            ~~~~~~~~~ <--- HERE
#|     pass
# test: error
def f(x: int):
  for i in range():
    pass
#| range expected at least 1 arguments, got 0:
#|   File "<string>", line 2
#| def f(x: int):
#|   for i in range():
#|            ~~~~~~ <--- HERE
#|     pass
# test: error
def f(x: int):
  for i in range(1, 2, 3, 4):
    pass
#| range expected at most 3 arguments, got 4:
#|   File "<string>", line 2
#| def f(x: int):
#|   for i in range(1, 2, 3, 4):
#|            ~~~~~~~~~~~~~~~~ <--- HERE
#|     pass
# test: error
def f(x: int):
  for i in enumerate():
    pass
#| enumerate expected at least 1 arguments, got 0:
#|   File "<string>", line 2
#| def f(x: int):
#|   for i in enumerate():
#|            ~~~~~~~~~~ <--- HERE
#|     pass
# test: error
def f(x: int):
  for i in zip():
    pass
#| zip expected at least 1 arguments, got 0:
#|   File "<string>", line 2
#| def f(x: int):
#|   for i in zip():
#|            ~~~~ <--- HERE
#|     pass
# test: error
def f(x: List[int]):
  for i in zip(x, (1, 2)):
    pass
#| Can not iterate over a module list or tuple with a value that does not have a statically determinable length
#| :
#|   File "<string>", line 2
#| def f(x: List[int]):
#|   for i in zip(x, (1, 2)):
#|            ~~~~~~~~~~~~ <--- HERE
#|     pass
# test: error
def f(x: List[int]):
  if x[0] > 1:
    x = ["a"]
#| Variable 'x' previously had type List[int] but is now being assigned to a value of type List[str]
#| Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list of another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)
#| :
#|   File "<string>", line 3
#| def f(x: List[int]):
#|   if x[0] > 1:
#|     x = ["a"]
#|     ~ <--- HERE
# test: error
def f(x: str):
  while x + 1:
    pass
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor:
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.
#|
#|   aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor:
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.
#|
#|   aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!):
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.
#|
#|   aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!):
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.
#|
#|   aten::add.t(t[] a, t[] b) -> t[]:
#|   Could not match type str to List[t] in argument 'a': Cannot match List[t] to str.
#|
#|   aten::add.str(str a, str b) -> str:
#|   Expected a value of type 'str' for argument 'b' but instead found type 'int'.
#|
#|   aten::add.int(int a, int b) -> int:
#|   Expected a value of type 'int' for argument 'a' but instead found type 'str'.
#|
#|   aten::add.complex(complex a, complex b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'str'.
#|
#|   aten::add.float(float a, float b) -> float:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'str'.
#|
#|   aten::add.int_complex(int a, complex b) -> complex:
#|   Expected a value of type 'int' for argument 'a' but instead found type 'str'.
#|
#|   aten::add.complex_int(complex a, int b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'str'.
#|
#|   aten::add.float_complex(float a, complex b) -> complex:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'str'.
#|
#|   aten::add.complex_float(complex a, float b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'str'.
#|
#|   aten::add.int_float(int a, float b) -> float:
#|   Expected a value of type 'int' for argument 'a' but instead found type 'str'.
#|
#|   aten::add.float_int(float a, int b) -> float:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'str'.
#|
#|   aten::add(Scalar a, Scalar b) -> Scalar:
#|   Expected a value of type 'number' for argument 'a' but instead found type 'str'.
#|
#|   add(float a, Tensor b) -> Tensor:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'str'.
#|
#|   add(int a, Tensor b) -> Tensor:
#|   Expected a value of type 'int' for argument 'a' but instead found type 'str'.
#|
#|   add(complex a, Tensor b) -> Tensor:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'str'.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x: str):
#|   while x + 1:
#|         ~~~~~ <--- HERE
#|     pass
# test: error
def f(x: Optional[int]):
  return x + 1
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor:
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'Optional[int]'.
#|
#|   aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor:
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'Optional[int]'.
#|
#|   aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!):
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'Optional[int]'.
#|
#|   aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!):
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'Optional[int]'.
#|
#|   aten::add.t(t[] a, t[] b) -> t[]:
#|   Could not match type Optional[int] to List[t] in argument 'a': Cannot match List[t] to Optional[int].
#|
#|   aten::add.str(str a, str b) -> str:
#|   Expected a value of type 'str' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.int(int a, int b) -> int:
#|   Expected a value of type 'int' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.complex(complex a, complex b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.float(float a, float b) -> float:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.int_complex(int a, complex b) -> complex:
#|   Expected a value of type 'int' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.complex_int(complex a, int b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.float_complex(float a, complex b) -> complex:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.complex_float(complex a, float b) -> complex:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.int_float(int a, float b) -> float:
#|   Expected a value of type 'int' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add.float_int(float a, int b) -> float:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   aten::add(Scalar a, Scalar b) -> Scalar:
#|   Expected a value of type 'number' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   add(float a, Tensor b) -> Tensor:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   add(int a, Tensor b) -> Tensor:
#|   Expected a value of type 'int' for argument 'a' but instead found type 'Optional[int]'.
#|
#|   add(complex a, Tensor b) -> Tensor:
#|   Expected a value of type 'complex' for argument 'a' but instead found type 'Optional[int]'.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x: Optional[int]):
#|   return x + 1
#|          ~~~~~ <--- HERE
# test: error
def f(x: int):
  with x:
    pass
#| With item expression must return an object:
#|   File "<string>", line 2
#| def f(x: int):
#|   with x:
#|        ~ <--- HERE
#|     pass
# test: error
def f(x: int):
  y: List[int] = ["a"]
#| List type annotation `List[int]` did not match the types of the given list elements, which were unified to str:
#|   File "<string>", line 2
#| def f(x: int):
#|   y: List[int] = ["a"]
#|                  ~~~~ <--- HERE
# test: error
def f(x: int):
  y: int = [1]
#| Expected an annotation of type List but got int:
#|   File "<string>", line 2
#| def f(x: int):
#|   y: int = [1]
#|            ~~ <--- HERE
# test: error
def f(x: int):
  y: Dict[str, int] = {"a": "b"}
#| Type annotation was inferred to be `Dict[str, int]`, but the type of values given by the dict literal is str:
#|   File "<string>", line 2
#| def f(x: int):
#|   y: Dict[str, int] = {"a": "b"}
#|                        ~~~~~~~~ <--- HERE
# test: error
def f(x: int):
  return {"a": 1, 2: 3}
#| Dict keys must contain only a single type. Expected: str but found int instead:
#|   File "<string>", line 2
#| def f(x: int):
#|   return {"a": 1, 2: 3}
#|                   ~ <--- HERE
# test: error
def f(x):
  return torch.zeros([2], x)
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor:
#|   Expected at most 1 arguments but found 2 positional arguments.
#|
#|   aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!):
#|   Argument out not provided.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x):
#|   return torch.zeros([2], x)
#|          ~~~~~~~~~~~ <--- HERE
# test: error
def f(x: int):
  x(1)
#| cannot call a value of type 'int':
#|   File "<string>", line 2
#| def f(x: int):
#|   x(1)
#|   ~ <--- HERE
# test: error
def f(x: int):
  y = print
  if x > 1:
    y = 1
#| Cannot re-assign 'y' because it has type value of type 'int' and y is not a first-class value.  Only reassignments to first-class values are allowed:
#|   File "<string>", line 4
#|   y = print
#|   if x > 1:
#|     y = 1
#|     ~ <--- HERE
# test: error
def f(x: int):
  y = 1
  if x > 1:
    y = print
#| Cannot re-assign 'y' to a value of type print because y is not a first-class value.  Only reassignments to first-class values are allowed:
#|   File "<string>", line 4
#|   y = 1
#|   if x > 1:
#|     y = print
#|     ~ <--- HERE
# test: error
def f(x: int):
  y = print(1)
  return y
#| None cannot be used as a value:
#|   File "<string>", line 3
#| def f(x: int):
#|   y = print(1)
#|   return y
#|          ~ <--- HERE
# test: error
def f(x: int):
  return f(x)
#|  function 'f' is called recursively. Recursive calls are not supported:
#|   File "<string>", line 2
#| def f(x: int):
#|   return f(x)
#|          ~ <--- HERE
# test: error
def f(x: int):
  x.y += 1
#| 'int' object has no attribute or method 'y'.:
#|   File "<string>", line 2
#| def f(x: int):
#|   x.y += 1
#|   ~~~ <--- HERE
# test: error
def f(x: str):
  x @ x
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::matmul(Tensor self, Tensor other) -> Tensor:
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.
#|
#|   aten::matmul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!):
#|   Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x: str):
#|   x @ x
#|   ~~~~~ <--- HERE
# test: error
def f(x: Any):
  if x:
    pass
#| Could not cast value of type Any to bool:
#|   File "<string>", line 2
#| def f(x: Any):
#|   if x:
#|      ~ <--- HERE
#|     pass
