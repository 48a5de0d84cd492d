# test: graph
def f(x: List[str]):
  r: List[int] = []
  for i, v in enumerate(x, start=3):
    r.append(i)
  return r
#| graph(%x.1 : str[]):
#|   %10 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %28 : int = prim::Constant[value=9223372036854775804]()
#|   %5 : int = prim::Constant[value=1]() # <string>:3:14
#|   %2 : int = prim::Constant[value=3]() # <string>:3:33
#|   %r.1 : int[] = prim::ListConstruct()
#|   %7 : int = aten::len(%x.1) # <string>:3:2
#|   %8 : int[] = prim::ListConstruct(%28, %7)
#|   %9 : int = prim::min(%8) # <string>:3:2
#|    = prim::Loop(%9, %10) # <string>:3:2
#|     block0(%11 : int):
#|       %i.1 : int = aten::__derive_index(%11, %2, %5) # <string>:3:2
#|       %17 : int[] = aten::append(%r.1, %i.1) # <string>:4:4
#|       -> (%10)
#|   return (%r.1)
# test: error
def f(x: List[str]):
  for i, v in enumerate(x, first=3):
    print(i)
#| enumerate expected kwarg name 'start', got 'first':
#|   File "<string>", line 2
#| def f(x: List[str]):
#|   for i, v in enumerate(x, first=3):
#|               ~~~~~~~~~~~~~~~~~~~~ <--- HERE
#|     print(i)
# test: error
def f(x: List[str]):
  for i, v in enumerate(x, 1, start=3):
    print(i)
#| enumerate expected at most 2 arguments, got 3:
#|   File "<string>", line 2
#| def f(x: List[str]):
#|   for i, v in enumerate(x, 1, start=3):
#|               ~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#|     print(i)
# test: error
def f(x: List[str]):
  for i, v in enumerate(start=3):
    print(i)
#| enumerate expected at least 1 arguments, got 0:
#|   File "<string>", line 2
#| def f(x: List[str]):
#|   for i, v in enumerate(start=3):
#|               ~~~~~~~~~~~~~~~~~ <--- HERE
#|     print(i)
# test: graph
def f(x: List[int], y: List[int]):
  r: List[int] = []
  for a, b in zip(x, y, strict=True):
    r.append(a * b)
  return r
#| graph(%x.1 : int[],
#|       %y.1 : int[]):
#|   %9 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %r.1 : int[] = prim::ListConstruct()
#|   %5 : int = aten::len(%x.1) # <string>:3:2
#|   %6 : int = aten::len(%y.1) # <string>:3:2
#|   %7 : int[] = prim::ListConstruct(%5, %6)
#|   %8 : int = prim::min(%7) # <string>:3:2
#|    = prim::Loop(%8, %9) # <string>:3:2
#|     block0(%10 : int):
#|       %a.1 : int = aten::__getitem__(%x.1, %10) # <string>:3:2
#|       %b.1 : int = aten::__getitem__(%y.1, %10) # <string>:3:2
#|       %17 : int = aten::mul(%a.1, %b.1) # <string>:4:13
#|       %18 : int[] = aten::append(%r.1, %17) # <string>:4:4
#|       -> (%9)
#|   return (%r.1)
# test: graph
def f(x, c):
  return x.repeat_interleave(c)
#| graph(%x.1 : Tensor,
#|       %c.1 : Tensor):
#|   %5 : NoneType = prim::Constant()
#|   %7 : Tensor = aten::repeat_interleave(%x.1, %c.1, %5, %5) # <string>:2:9
#|   return (%7)
# test: graph
def f(c):
  return torch.repeat_interleave(c)
#| graph(%c.1 : Tensor):
#|   %2 : NoneType = prim::Constant()
#|   %3 : Tensor = aten::repeat_interleave(%c.1, %2) # <string>:2:9
#|   return (%3)
# test: error
def f(c):
  return c.repeat_interleave(output_size=3)
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor:
#|   Argument repeats not provided.
#|
#|   aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor:
#|   Argument repeats not provided.
#|
#|   aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor:
#|   Argument repeats not provided.
#|
#|   aten::repeat_interleave.Tensor_out(Tensor repeats, *, SymInt? output_size=None, Tensor(a!) out) -> Tensor(a!):
#|   Argument repeats not provided.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(c):
#|   return c.repeat_interleave(output_size=3)
#|          ~~~~~~~~~~~~~~~~~~~ <--- HERE
# test: error
def f(x):
  return x.add(other=x, self=x)
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor:
#|   Keyword argument self specified twice.
#|
#|   aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor:
#|   Keyword argument self specified twice.
#|
#|   aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!):
#|   Argument out not provided.
#|
#|   aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!):
#|   Argument out not provided.
#|
#|   aten::add.t(t[] a, t[] b) -> t[]:
#|   Argument a not provided.
#|
#|   aten::add.str(str a, str b) -> str:
#|   Argument a not provided.
#|
#|   aten::add.int(int a, int b) -> int:
#|   Argument a not provided.
#|
#|   aten::add.complex(complex a, complex b) -> complex:
#|   Argument a not provided.
#|
#|   aten::add.float(float a, float b) -> float:
#|   Argument a not provided.
#|
#|   aten::add.int_complex(int a, complex b) -> complex:
#|   Argument a not provided.
#|
#|   aten::add.complex_int(complex a, int b) -> complex:
#|   Argument a not provided.
#|
#|   aten::add.float_complex(float a, complex b) -> complex:
#|   Argument a not provided.
#|
#|   aten::add.complex_float(complex a, float b) -> complex:
#|   Argument a not provided.
#|
#|   aten::add.int_float(int a, float b) -> float:
#|   Argument a not provided.
#|
#|   aten::add.float_int(float a, int b) -> float:
#|   Argument a not provided.
#|
#|   aten::add(Scalar a, Scalar b) -> Scalar:
#|   Argument a not provided.
#|
#|   add(float a, Tensor b) -> Tensor:
#|   Argument a not provided.
#|
#|   add(int a, Tensor b) -> Tensor:
#|   Argument a not provided.
#|
#|   add(complex a, Tensor b) -> Tensor:
#|   Argument a not provided.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x):
#|   return x.add(other=x, self=x)
#|          ~~~~~ <--- HERE
# test: error
def f(x):
  return x.stack([x])
#| 'Tensor (inferred)' object has no attribute or method 'stack'.:
#|   File "<string>", line 2
#| def f(x):
#|   return x.stack([x])
#|          ~~~~~~~ <--- HERE
# test: graph
def f(x):
  return torch.add(other=1, self=x) + torch.add(input=x, other=1)
#| graph(%x.1 : Tensor):
#|   %1 : int = prim::Constant[value=1]() # <string>:2:25
#|   %4 : Tensor = aten::add(%x.1, %1, %1) # <string>:2:9
#|   %7 : Tensor = aten::add(%x.1, %1, %1) # <string>:2:38
#|   %9 : Tensor = aten::add(%4, %7, %1) # <string>:2:9
#|   return (%9)
# test: error
def f(x: List[int]):
  return sorted(x, reverse=True)
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::sorted.int(int[](a) input) -> int[]:
#|   Keyword argument reverse unknown.
#|
#|   aten::sorted.float(float[](a) input) -> float[]:
#|   Expected a value of type 'List[float]' for argument 'input' but instead found type 'List[int]'.
#|
#|   aten::sorted.Tensor(Tensor[](a) input) -> Tensor[]:
#|   Expected a value of type 'List[Tensor]' for argument 'input' but instead found type 'List[int]'.
#|
#|   aten::sorted.bool(bool[](a) input) -> bool[]:
#|   Expected a value of type 'List[bool]' for argument 'input' but instead found type 'List[int]'.
#|
#|   aten::sorted.str(str[](a) input) -> str[]:
#|   Expected a value of type 'List[str]' for argument 'input' but instead found type 'List[int]'.
#|
#|   aten::sorted.any(t[](a) self) -> t[]:
#|   Keyword argument reverse unknown.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x: List[int]):
#|   return sorted(x, reverse=True)
#|          ~~~~~~ <--- HERE
# test: error
def f(x: str):
  return int(x, base=16)
#| Arguments for call are not valid.
#| The following variants are available:
#|
#|   aten::Int.Tensor(Tensor a) -> int:
#|   Expected a value of type 'Tensor' for argument 'a' but instead found type 'str'.
#|
#|   aten::Int.bool(bool a) -> int:
#|   Expected a value of type 'bool' for argument 'a' but instead found type 'str'.
#|
#|   aten::Int.float(float a) -> int:
#|   Expected a value of type 'float' for argument 'a' but instead found type 'str'.
#|
#|   aten::Int.Scalar(Scalar a) -> int:
#|   Expected a value of type 'number' for argument 'a' but instead found type 'str'.
#|
#|   aten::Int.str(str a) -> int:
#|   Keyword argument base unknown.
#|
#| The original call is:
#|   File "<string>", line 2
#| def f(x: str):
#|   return int(x, base=16)
#|          ~~~ <--- HERE
# test: error
def f(x: int):
  print(x, sep="")
#| print doesn't accept any keyword arguments:
#|   File "<string>", line 2
#| def f(x: int):
#|   print(x, sep="")
#|   ~~~~~ <--- HERE
