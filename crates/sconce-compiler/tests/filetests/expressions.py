# test: graph
def f(x: int, y: int):
  return x + y, x - y, x * y, x / y, x // y, x % y, x ** y, -x
#| graph(%x.1 : int,
#|       %y.1 : int):
#|   %4 : int = aten::add(%x.1, %y.1) # <string>:2:9
#|   %7 : int = aten::sub(%x.1, %y.1) # <string>:2:16
#|   %10 : int = aten::mul(%x.1, %y.1) # <string>:2:23
#|   %13 : float = aten::div(%x.1, %y.1) # <string>:2:30
#|   %16 : int = aten::floordiv(%x.1, %y.1) # <string>:2:37
#|   %20 : int = aten::remainder(%x.1, %y.1) # <string>:2:45
#|   %23 : float = aten::pow(%x.1, %y.1) # <string>:2:52
#|   %25 : int = aten::neg(%x.1) # <string>:2:60
#|   %26 : (int, int, int, float, int, int, float, int) = prim::TupleConstruct(%4, %7, %10, %13, %16, %20, %23, %25)
#|   return (%26)
# test: graph
def f(x: float, y: int):
  return x + y, x - y, x * y, x / y, x // y, x % y, x ** y, -x
#| graph(%x.1 : float,
#|       %y.1 : int):
#|   %4 : float = aten::add(%x.1, %y.1) # <string>:2:9
#|   %7 : float = aten::sub(%x.1, %y.1) # <string>:2:16
#|   %10 : float = aten::mul(%x.1, %y.1) # <string>:2:23
#|   %13 : float = aten::div(%x.1, %y.1) # <string>:2:30
#|   %16 : float = aten::floordiv(%x.1, %y.1) # <string>:2:37
#|   %20 : float = aten::remainder(%x.1, %y.1) # <string>:2:45
#|   %23 : float = aten::pow(%x.1, %y.1) # <string>:2:52
#|   %25 : float = aten::neg(%x.1) # <string>:2:60
#|   %26 : (float, float, float, float, float, float, float, float) = prim::TupleConstruct(%4, %7, %10, %13, %16, %20, %23, %25)
#|   return (%26)
# test: graph
def f(x, y):
  return x + y, x - y, x * y, x / y, x // y, x % y, x ** y, -x, x @ y
#| graph(%x.1 : Tensor,
#|       %y.1 : Tensor):
#|   %4 : int = prim::Constant[value=1]()
#|   %5 : Tensor = aten::add(%x.1, %y.1, %4) # <string>:2:9
#|   %9 : Tensor = aten::sub(%x.1, %y.1, %4) # <string>:2:16
#|   %12 : Tensor = aten::mul(%x.1, %y.1) # <string>:2:23
#|   %15 : Tensor = aten::div(%x.1, %y.1) # <string>:2:30
#|   %18 : Tensor = aten::floor_divide(%x.1, %y.1) # <string>:3:9
#|   %22 : Tensor = aten::remainder(%x.1, %y.1) # <string>:2:45
#|   %25 : Tensor = aten::pow(%x.1, %y.1) # <string>:2:52
#|   %27 : Tensor = aten::neg(%x.1) # <string>:2:60
#|   %30 : Tensor = aten::matmul(%x.1, %y.1) # <string>:2:64
#|   %31 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%5, %9, %12, %15, %18, %22, %25, %27, %30)
#|   return (%31)
# test: graph
def f(x):
  return x + 1, x - 1, x * 2.5, x / 2, x // 2, x % 2, x ** 2, ~x
#| graph(%x.1 : Tensor):
#|   %2 : int = prim::Constant[value=1]() # <string>:2:13
#|   %9 : float = prim::Constant[value=2.5]() # <string>:2:27
#|   %12 : int = prim::Constant[value=2]() # <string>:2:36
#|   %4 : Tensor = aten::add(%x.1, %2, %2) # <string>:2:9
#|   %7 : Tensor = aten::sub(%x.1, %2, %2) # <string>:2:16
#|   %10 : Tensor = aten::mul(%x.1, %9) # <string>:2:23
#|   %13 : Tensor = aten::div(%x.1, %12) # <string>:2:32
#|   %15 : Tensor = aten::floor_divide(%x.1, %12) # <string>:3:9
#|   %18 : Tensor = aten::remainder(%x.1, %12) # <string>:2:47
#|   %20 : Tensor = aten::pow(%x.1, %12) # <string>:2:54
#|   %22 : Tensor = aten::bitwise_not(%x.1) # <string>:2:62
#|   %23 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%4, %7, %10, %13, %15, %18, %20, %22)
#|   return (%23)
# test: graph
def f(x):
  return 1 + x, 2 - x, 2.5 * x, 2 / x, 1 == x, 1 != x, 1 < x, 1 <= x, 1 > x, 1 >= x
#| graph(%x.1 : Tensor):
#|   %1 : int = prim::Constant[value=1]() # <string>:2:9
#|   %5 : int = prim::Constant[value=2]() # <string>:2:16
#|   %10 : float = prim::Constant[value=2.5]() # <string>:2:23
#|   %4 : Tensor = aten::add(%x.1, %1, %1) # <string>:5:9
#|   %8 : Tensor = aten::neg(%x.1) # <string>:11:9
#|   %9 : Tensor = aten::add(%8, %5, %1) # <string>:11:9
#|   %12 : Tensor = aten::mul(%x.1, %10) # <string>:3:9
#|   %14 : Tensor = aten::reciprocal(%x.1) # <string>:13:9
#|   %15 : Tensor = aten::mul(%14, %5) # <string>:13:9
#|   %17 : Tensor = aten::eq(%x.1, %1) # <string>:9:9
#|   %19 : Tensor = aten::ne(%x.1, %1) # <string>:7:9
#|   %21 : Tensor = aten::gt(%x.1, %1) # <string>:3:9
#|   %23 : Tensor = aten::ge(%x.1, %1) # <string>:5:9
#|   %25 : Tensor = aten::lt(%x.1, %1) # <string>:7:9
#|   %27 : Tensor = aten::le(%x.1, %1) # <string>:9:9
#|   %28 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%4, %9, %12, %15, %17, %19, %21, %23, %25, %27)
#|   return (%28)
# test: graph
def f(x: int, y: int):
  return x == y, x != y, x < y, x <= y, x > y, x >= y
#| graph(%x.1 : int,
#|       %y.1 : int):
#|   %4 : bool = aten::eq(%x.1, %y.1) # <string>:2:9
#|   %7 : bool = aten::ne(%x.1, %y.1) # <string>:2:17
#|   %10 : bool = aten::lt(%x.1, %y.1) # <string>:2:25
#|   %13 : bool = aten::le(%x.1, %y.1) # <string>:2:32
#|   %16 : bool = aten::gt(%x.1, %y.1) # <string>:2:40
#|   %19 : bool = aten::ge(%x.1, %y.1) # <string>:2:47
#|   %20 : (bool, bool, bool, bool, bool, bool) = prim::TupleConstruct(%4, %7, %10, %13, %16, %19)
#|   return (%20)
# test: graph
def f(x: int, y: int):
  return x & y, x | y, x ^ y, x << y, x >> y
#| graph(%x.1 : int,
#|       %y.1 : int):
#|   %4 : int = aten::__and__(%x.1, %y.1) # <string>:2:9
#|   %7 : int = aten::__or__(%x.1, %y.1) # <string>:2:16
#|   %10 : int = aten::__xor__(%x.1, %y.1) # <string>:2:23
#|   %13 : int = aten::__lshift__(%x.1, %y.1) # <string>:2:30
#|   %16 : int = aten::__rshift__(%x.1, %y.1) # <string>:2:38
#|   %17 : (int, int, int, int, int) = prim::TupleConstruct(%4, %7, %10, %13, %16)
#|   return (%17)
# test: graph
def f(x, y):
  return x & y, x | y, x ^ y, x << 1, x >> 1
#| graph(%x.1 : Tensor,
#|       %y.1 : Tensor):
#|   %12 : int = prim::Constant[value=1]() # <string>:2:35
#|   %4 : Tensor = aten::__and__(%x.1, %y.1) # <string>:2:9
#|   %7 : Tensor = aten::__or__(%x.1, %y.1) # <string>:2:16
#|   %10 : Tensor = aten::__xor__(%x.1, %y.1) # <string>:2:23
#|   %13 : Tensor = aten::__lshift__(%x.1, %12) # <string>:2:30
#|   %15 : Tensor = aten::__rshift__(%x.1, %12) # <string>:2:38
#|   %16 : (Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%4, %7, %10, %13, %15)
#|   return (%16)
# test: graph
def f(x: str, y: str):
  return x + y, x == y, x in y, x % 1, x % (1, 2), x[0], x[1:]
#| graph(%x.1 : str,
#|       %y.1 : str):
#|   %29 : NoneType = prim::Constant()
#|   %41 : (int, int) = prim::Constant[value=(1, 2)]()
#|   %11 : int = prim::Constant[value=-1]() # <string>:5:44
#|   %17 : int = prim::Constant[value=1]() # <string>:2:36
#|   %25 : int = prim::Constant[value=0]() # <string>:2:53
#|   %4 : str = aten::add(%x.1, %y.1) # <string>:2:9
#|   %7 : bool = aten::eq(%x.1, %y.1) # <string>:2:16
#|   %12 : int = aten::len(%y.1) # <string>:5:29
#|   %13 : int = aten::find(%y.1, %x.1, %25, %12) # <string>:5:11
#|   %14 : bool = aten::ne(%13, %11) # <string>:5:11
#|   %18 : str = aten::percentFormat(%x.1, %17) # <string>:2:32
#|   %23 : str = aten::percentFormat(%x.1, %41) # <string>:2:39
#|   %26 : str = aten::__getitem__(%x.1, %25) # <string>:2:51
#|   %30 : str = aten::slice(%x.1, %17, %29, %17) # <string>:2:57
#|   %31 : (str, bool, bool, str, str, str, str) = prim::TupleConstruct(%4, %7, %14, %18, %23, %26, %30)
#|   return (%31)
# test: graph
def f(x: int, l: List[int], d: Dict[int, str]):
  return x in l, x not in l, x in d, not x, not l
#| graph(%x.1 : int,
#|       %l.1 : int[],
#|       %d.1 : Dict(int, str)):
#|   %19 : int = prim::Constant[value=0]()
#|   %5 : bool = aten::__contains__(%l.1, %x.1) # <string>:2:9
#|   %8 : bool = aten::__contains__(%l.1, %x.1) # <string>:2:17
#|   %10 : bool = aten::__not__(%8) # <string>:2:17
#|   %13 : bool = aten::__contains__(%d.1, %x.1) # <string>:2:29
#|   %16 : bool = aten::Bool(%x.1) # <string>:2:41
#|   %17 : bool = aten::__not__(%16) # <string>:2:37
#|   %20 : int = aten::len(%l.1) # <string>:2:48
#|   %21 : bool = aten::gt(%20, %19) # <string>:2:48
#|   %22 : bool = aten::__not__(%21) # <string>:2:44
#|   %23 : (bool, bool, bool, bool, bool) = prim::TupleConstruct(%5, %10, %13, %17, %22)
#|   return (%23)
# test: graph
def f(x: bool, y: bool):
  return x and y, x or y, not x, x and not y, x is y
#| graph(%x.1 : bool,
#|       %y.1 : bool):
#|   %10 : bool = prim::Constant[value=1]() # <string>:2:18
#|   %6 : bool = prim::Constant[value=0]() # <string>:2:9
#|   %7 : bool = prim::If(%x.1) # <string>:2:9
#|     block0():
#|       -> (%y.1)
#|     block1():
#|       -> (%6)
#|   %13 : bool = prim::If(%x.1) # <string>:2:18
#|     block0():
#|       -> (%10)
#|     block1():
#|       -> (%y.1)
#|   %16 : bool = aten::__not__(%x.1) # <string>:2:26
#|   %23 : bool = prim::If(%x.1) # <string>:2:33
#|     block0():
#|       %21 : bool = aten::__not__(%y.1) # <string>:2:39
#|       -> (%21)
#|     block1():
#|       -> (%6)
#|   %37 : bool = aten::eq(%x.1, %y.1) # <string>:2:46
#|   %27 : (bool, bool, bool, bool, bool) = prim::TupleConstruct(%7, %13, %16, %23, %37)
#|   return (%27)
# test: graph
def f(x: int, y: float, z: bool, s: str):
  return 1 if z else 2, x if x > 1 else 3, s if z else 'b'
#| graph(%x.1 : int,
#|       %y : float,
#|       %z.1 : bool,
#|       %s.1 : str):
#|   %18 : str = prim::Constant[value="b"]() # <string>:2:55
#|   %6 : int = prim::Constant[value=1]() # <string>:2:9
#|   %7 : int = prim::Constant[value=2]() # <string>:2:21
#|   %13 : int = prim::Constant[value=3]() # <string>:2:40
#|   %8 : int = prim::If(%z.1) # <string>:2:9
#|     block0():
#|       -> (%6)
#|     block1():
#|       -> (%7)
#|   %10 : bool = aten::gt(%x.1, %6) # <string>:2:29
#|   %14 : int = prim::If(%10) # <string>:2:24
#|     block0():
#|       -> (%x.1)
#|     block1():
#|       -> (%13)
#|   %19 : str = prim::If(%z.1) # <string>:2:43
#|     block0():
#|       -> (%s.1)
#|     block1():
#|       -> (%18)
#|   %20 : (int, int, str) = prim::TupleConstruct(%8, %14, %19)
#|   return (%20)
# test: graph
def f(x: Optional[int]):
  return x if x is not None else 2
#| graph(%x.1 : int?):
#|   %2 : NoneType = prim::Constant() # <string>:2:23
#|   %8 : int = prim::Constant[value=2]() # <string>:2:33
#|   %3 : bool = aten::__isnot__(%x.1, %2) # <string>:2:14
#|   %9 : int = prim::If(%3) # <string>:2:9
#|     block0():
#|       %x.7 : int = prim::unchecked_cast(%x.1)
#|       -> (%x.7)
#|     block1():
#|       -> (%8)
#|   return (%9)
# test: graph
def f(x: Tuple[int, str], y: Tuple[int]):
  return x + y, x[0], x[1:], x[-1], (1, 2, 3)[1:], (1, 2, 3)[::2]
#| graph(%x.1 : (int, str),
#|       %y.1 : (int)):
#|   %44 : (int, int) = prim::Constant[value=(1, 3)]()
#|   %43 : (int, int) = prim::Constant[value=(2, 3)]()
#|   %13 : int = prim::Constant[value=1]()
#|   %9 : int = prim::Constant[value=0]() # <string>:2:18
#|   %17 : int = prim::Constant[value=-1]() # <string>:2:32
#|   %4 : int, %5 : str = prim::TupleUnpack(%x.1)
#|   %6 : int = prim::TupleUnpack(%y.1)
#|   %7 : (int, str, int) = prim::TupleConstruct(%4, %5, %6)
#|   %10 : int = prim::TupleIndex(%x.1, %9)
#|   %14 : str = prim::TupleIndex(%x.1, %13)
#|   %15 : (str) = prim::TupleConstruct(%14)
#|   %18 : str = prim::TupleIndex(%x.1, %17)
#|   %33 : ((int, str, int), int, (str), str, (int, int), (int, int)) = prim::TupleConstruct(%7, %10, %15, %18, %43, %44)
#|   return (%33)
# test: graph
def f(x: int):
  return 1, 2.5, 3j, "a", True, False, None, 1e10, -3, -2.5
#| graph(%x : int):
#|   %21 : (int, float, complex, str, bool, bool, NoneType, float, int, float) = prim::Constant[value=(1, 2.5, 0.+3.j, "a", True, False, None, 10000000000, -3, -2.5)]()
#|   return (%21)
# test: graph
def f(x: int):
  return [1, 2], [1.0], ["a", "b"], [x, 1], [[1], [2]], [None, 1]
#| graph(%x.1 : int):
#|   %14 : NoneType = prim::Constant() # <string>:2:57
#|   %7 : str = prim::Constant[value="b"]() # <string>:2:30
#|   %6 : str = prim::Constant[value="a"]() # <string>:2:25
#|   %1 : int = prim::Constant[value=1]() # <string>:2:10
#|   %2 : int = prim::Constant[value=2]() # <string>:2:13
#|   %4 : float = prim::Constant[value=1.]() # <string>:2:18
#|   %3 : int[] = prim::ListConstruct(%1, %2)
#|   %5 : float[] = prim::ListConstruct(%4)
#|   %8 : str[] = prim::ListConstruct(%6, %7)
#|   %10 : int[] = prim::ListConstruct(%x.1, %1)
#|   %11 : int[] = prim::ListConstruct(%1)
#|   %12 : int[] = prim::ListConstruct(%2)
#|   %13 : int[][] = prim::ListConstruct(%11, %12)
#|   %15 : int?[] = prim::ListConstruct(%14, %1)
#|   %16 : (int[], float[], str[], int[], int[][], int?[]) = prim::TupleConstruct(%3, %5, %8, %10, %13, %15)
#|   return (%16)
# test: graph
def f(x: int, y):
  return {"a": 1, "b": x}, {1: "a"}, {"x": y}
#| graph(%x.1 : int,
#|       %y.1 : Tensor):
#|   %9 : str = prim::Constant[value="x"]() # <string>:2:38
#|   %4 : str = prim::Constant[value="b"]() # <string>:2:18
#|   %2 : str = prim::Constant[value="a"]() # <string>:2:10
#|   %3 : int = prim::Constant[value=1]() # <string>:2:15
#|   %6 : Dict(str, int) = prim::DictConstruct(%2, %3, %4, %x.1)
#|   %8 : Dict(int, str) = prim::DictConstruct(%3, %2)
#|   %11 : Dict(str, Tensor) = prim::DictConstruct(%9, %y.1)
#|   %12 : (Dict(str, int), Dict(int, str), Dict(str, Tensor)) = prim::TupleConstruct(%6, %8, %11)
#|   return (%12)
# test: graph
def f(x: int):
  a = []
  b = {}
  return a, b
#| graph(%x : int):
#|   %15 : Tensor[] = prim::ListConstruct()
#|   %b.1 : Dict(str, Tensor) = prim::DictConstruct()
#|   %5 : (Tensor[], Dict(str, Tensor)) = prim::TupleConstruct(%15, %b.1)
#|   return (%5)
# test: graph
def f(x):
  return [], torch.cat([]), torch.ones([])
#| graph(%x : Tensor):
#|   %8 : NoneType = prim::Constant()
#|   %4 : int = prim::Constant[value=0]()
#|   %23 : Tensor[] = prim::ListConstruct()
#|   %3 : Tensor[] = prim::ListConstruct()
#|   %5 : Tensor = aten::cat(%3, %4) # <string>:2:13
#|   %7 : int[] = prim::ListConstruct()
#|   %12 : Tensor = aten::ones(%7, %8, %8, %8, %8) # <string>:2:28
#|   %13 : (Tensor[], Tensor, Tensor) = prim::TupleConstruct(%23, %5, %12)
#|   return (%13)
# test: graph
def f(x: int):
  return [1, 2.5], [1, "a"], {"a": 1, "b": "c"}
#| graph(%x : int):
#|   %8 : str = prim::Constant[value="c"]() # <string>:2:43
#|   %7 : str = prim::Constant[value="b"]() # <string>:2:38
#|   %4 : str = prim::Constant[value="a"]() # <string>:2:23
#|   %1 : int = prim::Constant[value=1]() # <string>:2:10
#|   %2 : float = prim::Constant[value=2.5]() # <string>:2:13
#|   %3 : Union(float, int)[] = prim::ListConstruct(%1, %2)
#|   %5 : Union(int, str)[] = prim::ListConstruct(%1, %4)
#|   %9 : Dict(str, Union(int, str)) = prim::DictConstruct(%4, %1, %7, %8)
#|   %10 : (Union(float, int)[], Union(int, str)[], Dict(str, Union(int, str))) = prim::TupleConstruct(%3, %5, %9)
#|   return (%10)
# test: graph
def f(x: List[int]):
  return [i + 1 for i in x], [i for i in x], {i: i * 2 for i in x}, [str(j) for j in range(3)]
#| graph(%x.1 : int[]):
#|   %4 : bool = prim::Constant[value=1]() # <string>:2:10
#|   %8 : int = prim::Constant[value=1]() # <string>:2:14
#|   %27 : int = prim::Constant[value=2]() # <string>:2:53
#|   %31 : int = prim::Constant[value=3]() # <string>:2:91
#|   %1 : int[] = prim::ListConstruct()
#|   %3 : int = aten::len(%x.1) # <string>:2:10
#|    = prim::Loop(%3, %4) # <string>:2:10
#|     block0(%5 : int):
#|       %i.1 : int = aten::__getitem__(%x.1, %5) # <string>:2:10
#|       %9 : int = aten::add(%i.1, %8) # <string>:2:10
#|       %10 : int[] = aten::append(%1, %9) # <string>:2:10
#|       -> (%4)
#|   %11 : int[] = prim::ListConstruct()
#|   %13 : int = aten::len(%x.1) # <string>:2:30
#|    = prim::Loop(%13, %4) # <string>:2:30
#|     block0(%15 : int):
#|       %i.5 : int = aten::__getitem__(%x.1, %15) # <string>:2:30
#|       %18 : int[] = aten::append(%11, %i.5) # <string>:2:30
#|       -> (%4)
#|   %19 : Dict(int, int) = prim::DictConstruct()
#|   %21 : int = aten::len(%x.1) # <string>:2:46
#|    = prim::Loop(%21, %4) # <string>:2:46
#|     block0(%23 : int):
#|       %i.9 : int = aten::__getitem__(%x.1, %23) # <string>:2:46
#|       %28 : int = aten::mul(%i.9, %27) # <string>:2:49
#|        = aten::_set_item(%19, %i.9, %28) # <string>:2:46
#|       -> (%4)
#|   %30 : str[] = prim::ListConstruct()
#|    = prim::Loop(%31, %4) # <string>:2:69
#|     block0(%j.1 : int):
#|       %38 : str = aten::str(%j.1) # <string>:2:69
#|       %39 : str[] = aten::append(%30, %38) # <string>:2:69
#|       -> (%4)
#|   %40 : (int[], int[], Dict(int, int), str[]) = prim::TupleConstruct(%1, %11, %19, %30)
#|   return (%40)
# test: graph
def f(x: List[List[int]]):
  return [[j + 1 for j in i] for i in x]
#| graph(%x.1 : int[][]):
#|   %4 : bool = prim::Constant[value=1]() # <string>:2:11
#|   %14 : int = prim::Constant[value=1]() # <string>:2:15
#|   %1 : int[][] = prim::ListConstruct()
#|   %3 : int = aten::len(%x.1) # <string>:2:11
#|    = prim::Loop(%3, %4) # <string>:2:11
#|     block0(%5 : int):
#|       %i.1 : int[] = aten::__getitem__(%x.1, %5) # <string>:2:11
#|       %7 : int[] = prim::ListConstruct()
#|       %9 : int = aten::len(%i.1) # <string>:2:11
#|        = prim::Loop(%9, %4) # <string>:2:11
#|         block0(%11 : int):
#|           %j.1 : int = aten::__getitem__(%i.1, %11) # <string>:2:11
#|           %15 : int = aten::add(%j.1, %14) # <string>:2:11
#|           %16 : int[] = aten::append(%7, %15) # <string>:2:11
#|           -> (%4)
#|       %17 : int[][] = aten::append(%1, %7) # <string>:2:11
#|       -> (%4)
#|   return (%1)
# test: graph
def f(x: List[int]):
  a: List[Optional[int]] = [i for i in x]
  b: Dict[str, float] = {str(i): 1.0 for i in x}
  return a, b
#| graph(%x.1 : int[]):
#|   %4 : bool = prim::Constant[value=1]() # <string>:2:28
#|   %18 : float = prim::Constant[value=1.]() # <string>:3:33
#|   %a.1 : int?[] = prim::ListConstruct()
#|   %3 : int = aten::len(%x.1) # <string>:2:28
#|    = prim::Loop(%3, %4) # <string>:2:28
#|     block0(%5 : int):
#|       %i.1 : int = aten::__getitem__(%x.1, %5) # <string>:2:28
#|       %8 : int?[] = aten::append(%a.1, %i.1) # <string>:2:28
#|       -> (%4)
#|   %b.1 : Dict(str, float) = prim::DictConstruct()
#|   %11 : int = aten::len(%x.1) # <string>:3:25
#|    = prim::Loop(%11, %4) # <string>:3:25
#|     block0(%13 : int):
#|       %i.5 : int = aten::__getitem__(%x.1, %13) # <string>:3:25
#|       %17 : str = aten::str(%i.5) # <string>:3:25
#|        = aten::_set_item(%b.1, %17, %18) # <string>:3:25
#|       -> (%4)
#|   %22 : (int?[], Dict(str, float)) = prim::TupleConstruct(%a.1, %b.1)
#|   return (%22)
# test: graph
def f(x):
  return x.shape, x.dtype, x.device, x.ndim, x.T, x.is_cuda, x.requires_grad, x.data, x.grad
#| graph(%x.1 : Tensor):
#|   %2 : int[] = aten::size(%x.1) # <string>:13:9
#|   %4 : int = prim::dtype(%x.1)
#|   %6 : Device = prim::device(%x.1)
#|   %8 : int = aten::dim(%x.1) # <string>:3:9
#|   %10 : Tensor = aten::numpy_T(%x.1) # <string>:5:9
#|   %12 : bool = prim::is_cuda(%x.1)
#|   %14 : bool = prim::requires_grad(%x.1)
#|   %16 : Tensor = prim::data(%x.1)
#|   %18 : Tensor = prim::grad(%x.1)
#|   %19 : (int[], int, Device, int, Tensor, bool, bool, Tensor, Tensor) = prim::TupleConstruct(%2, %4, %6, %8, %10, %12, %14, %16, %18)
#|   return (%19)
# test: graph
def f(x):
  return x.mT, x.mH, x.H, x.real, x.imag, x.itemsize, x.nbytes, x.layout, x.is_leaf, x.name
#| graph(%x.1 : Tensor):
#|   %2 : Tensor = aten::mT(%x.1)
#|   %4 : Tensor = aten::mH(%x.1)
#|   %6 : Tensor = aten::matrix_H(%x.1) # <string>:7:9
#|   %8 : Tensor = aten::real(%x.1)
#|   %10 : Tensor = aten::imag(%x.1)
#|   %12 : int = prim::itemsize(%x.1)
#|   %14 : int = prim::nbytes(%x.1)
#|   %16 : int = prim::layout(%x.1)
#|   %18 : bool = aten::is_leaf(%x.1)
#|   %20 : str? = prim::name(%x.1)
#|   %21 : (Tensor, Tensor, Tensor, Tensor, Tensor, int, int, int, bool, str?) = prim::TupleConstruct(%2, %4, %6, %8, %10, %12, %14, %16, %18, %20)
#|   return (%21)
# test: graph
def f(x):
  return x.float(), x.long(), x.int(), x.double(), x.half(), x.byte(), x.char(), x.short()
#| graph(%x.1 : Tensor):
#|   %44 : int = prim::Constant[value=2]() # <string>:2:81
#|   %38 : int = prim::Constant[value=1]() # <string>:2:71
#|   %32 : int = prim::Constant[value=0]() # <string>:2:61
#|   %26 : int = prim::Constant[value=5]() # <string>:2:51
#|   %20 : int = prim::Constant[value=7]() # <string>:2:39
#|   %14 : int = prim::Constant[value=3]() # <string>:2:30
#|   %8 : int = prim::Constant[value=4]() # <string>:2:20
#|   %5 : NoneType = prim::Constant()
#|   %3 : bool = prim::Constant[value=0]()
#|   %2 : int = prim::Constant[value=6]() # <string>:2:9
#|   %6 : Tensor = aten::to(%x.1, %2, %3, %3, %5) # <string>:2:9
#|   %12 : Tensor = aten::to(%x.1, %8, %3, %3, %5) # <string>:2:20
#|   %18 : Tensor = aten::to(%x.1, %14, %3, %3, %5) # <string>:2:30
#|   %24 : Tensor = aten::to(%x.1, %20, %3, %3, %5) # <string>:2:39
#|   %30 : Tensor = aten::to(%x.1, %26, %3, %3, %5) # <string>:2:51
#|   %36 : Tensor = aten::to(%x.1, %32, %3, %3, %5) # <string>:2:61
#|   %42 : Tensor = aten::to(%x.1, %38, %3, %3, %5) # <string>:2:71
#|   %48 : Tensor = aten::to(%x.1, %44, %3, %3, %5) # <string>:2:81
#|   %49 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%6, %12, %18, %24, %30, %36, %42, %48)
#|   return (%49)
# test: graph
def f(x):
  return x.to(6), x.to('cpu'), x.type(3), x.to(x), x.view(1, 2), x.permute(0, 1), x.size(), x.size(0)
#| graph(%x.1 : Tensor):
#|   %64 : Device = prim::Constant[value="cpu"]()
#|   %5 : NoneType = prim::Constant()
#|   %3 : bool = prim::Constant[value=0]()
#|   %2 : int = prim::Constant[value=6]() # <string>:2:14
#|   %30 : int = prim::Constant[value=3]() # <string>:2:38
#|   %42 : int = prim::Constant[value=1]() # <string>:2:58
#|   %43 : int = prim::Constant[value=2]() # <string>:2:61
#|   %47 : int = prim::Constant[value=0]() # <string>:2:75
#|   %6 : Tensor = aten::to(%x.1, %2, %3, %3, %5) # <string>:2:9
#|   %28 : Tensor = aten::to(%x.1, %64, %5, %3, %3) # <string>:2:18
#|   %34 : Tensor = aten::to(%x.1, %30, %3, %3, %5) # <string>:2:31
#|   %40 : Tensor = aten::to(%x.1, %x.1, %3, %3, %5) # <string>:2:42
#|   %44 : int[] = prim::ListConstruct(%42, %43)
#|   %45 : Tensor = aten::view(%x.1, %44) # <string>:2:51
#|   %48 : int[] = prim::ListConstruct(%47, %42)
#|   %49 : Tensor = aten::permute(%x.1, %48) # <string>:2:65
#|   %51 : int[] = aten::size(%x.1) # <string>:2:82
#|   %53 : int = aten::size(%x.1, %47) # <string>:2:92
#|   %54 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, int[], int) = prim::TupleConstruct(%6, %28, %34, %40, %45, %49, %51, %53)
#|   return (%54)
# test: graph
def f(x):
  return x.sum(dim=0), x.sum(dim=[0, 1], keepdim=True), torch.sum(input=x), torch.sum(x, 0)
#| graph(%x.1 : Tensor):
#|   %10 : bool = prim::Constant[value=1]() # <string>:2:49
#|   %5 : NoneType = prim::Constant()
#|   %4 : bool = prim::Constant[value=0]()
#|   %2 : int = prim::Constant[value=0]() # <string>:2:19
#|   %8 : int = prim::Constant[value=1]() # <string>:2:37
#|   %3 : int[] = prim::ListConstruct(%2)
#|   %6 : Tensor = aten::sum(%x.1, %3, %4, %5) # <string>:2:9
#|   %9 : int[] = prim::ListConstruct(%2, %8)
#|   %12 : Tensor = aten::sum(%x.1, %9, %10, %5) # <string>:2:23
#|   %15 : Tensor = aten::sum(%x.1, %5) # <string>:2:56
#|   %17 : int[] = prim::ListConstruct(%2)
#|   %20 : Tensor = aten::sum(%x.1, %17, %4, %5) # <string>:2:76
#|   %21 : (Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%6, %12, %15, %20)
#|   return (%21)
# test: graph
def f(x):
  return torch.zeros(2, 3), torch.zeros([2, 3], dtype=6), torch.max_pool2d(x, 2), torch.rand(2, device='cpu')
#| graph(%x.1 : Tensor):
#|   %39 : Device = prim::Constant[value="cpu"]()
#|   %20 : bool = prim::Constant[value=0]()
#|   %19 : int[] = prim::Constant[value=[1, 1]]()
#|   %18 : int[] = prim::Constant[value=[0, 0]]()
#|   %17 : int[] = prim::Constant[value=annotate(List[int], [])]()
#|   %4 : NoneType = prim::Constant()
#|   %1 : int = prim::Constant[value=2]() # <string>:2:21
#|   %2 : int = prim::Constant[value=3]() # <string>:2:24
#|   %10 : int = prim::Constant[value=6]() # <string>:2:54
#|   %3 : int[] = prim::ListConstruct(%1, %2)
#|   %8 : Tensor = aten::zeros(%3, %4, %4, %4, %4) # <string>:2:9
#|   %9 : int[] = prim::ListConstruct(%1, %2)
#|   %14 : Tensor = aten::zeros(%9, %10, %4, %4, %4) # <string>:2:28
#|   %16 : int[] = prim::ListConstruct(%1, %1)
#|   %21 : Tensor = aten::max_pool2d(%x.1, %16, %17, %18, %19, %20) # <string>:2:58
#|   %23 : int[] = prim::ListConstruct(%1)
#|   %28 : Tensor = aten::rand(%23, %4, %4, %39, %4) # <string>:2:82
#|   %29 : (Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%8, %14, %21, %28)
#|   return (%29)
# test: graph
def f(x):
  v, i = x.max(0)
  m = torch.max(x, 0)
  return v, i, m, m.values, m.indices, m[0]
#| graph(%x.1 : Tensor):
#|   %3 : bool = prim::Constant[value=0]()
#|   %2 : int = prim::Constant[value=0]() # <string>:2:15
#|   %v.1 : Tensor, %i.1 : Tensor = aten::max(%x.1, %2, %3) # <string>:2:9
#|   %9 : Tensor, %10 : Tensor = aten::max(%x.1, %2, %3) # <string>:3:6
#|   %m.1 : NamedTuple(values : Tensor, indices : Tensor) = prim::TupleConstruct(%9, %10)
#|   %23 : (Tensor, Tensor, NamedTuple(values : Tensor, indices : Tensor), Tensor, Tensor, Tensor) = prim::TupleConstruct(%v.1, %i.1, %m.1, %9, %10, %9)
#|   return (%23)
# test: graph
def f(x):
  return torch.topk(x, 2), torch.split(x, 2), torch.unbind(x)
#| graph(%x.1 : Tensor):
#|   %10 : int = prim::Constant[value=0]()
#|   %4 : bool = prim::Constant[value=1]()
#|   %3 : int = prim::Constant[value=-1]()
#|   %2 : int = prim::Constant[value=2]() # <string>:2:23
#|   %6 : Tensor, %7 : Tensor = aten::topk(%x.1, %2, %3, %4, %4) # <string>:2:9
#|   %8 : NamedTuple(values : Tensor, indices : Tensor) = prim::TupleConstruct(%6, %7)
#|   %11 : Tensor[] = aten::split(%x.1, %2, %10) # <string>:2:27
#|   %14 : Tensor[] = aten::unbind(%x.1, %10) # <string>:2:46
#|   %15 : (NamedTuple(values : Tensor, indices : Tensor), Tensor[], Tensor[]) = prim::TupleConstruct(%8, %11, %14)
#|   return (%15)
# test: graph
def f(x, y):
  return torch.add(x, y, alpha=2), torch.addmm(x, x, y), torch.where(x > 0, x, y), torch.clamp(x, min=0)
#| graph(%x.1 : Tensor,
#|       %y.1 : Tensor):
#|   %19 : NoneType = prim::Constant()
#|   %9 : int = prim::Constant[value=1]()
#|   %4 : int = prim::Constant[value=2]() # <string>:2:31
#|   %13 : int = prim::Constant[value=0]() # <string>:2:73
#|   %5 : Tensor = aten::add(%x.1, %y.1, %4) # <string>:2:9
#|   %11 : Tensor = aten::addmm(%x.1, %x.1, %y.1, %9, %9) # <string>:2:35
#|   %14 : Tensor = aten::gt(%x.1, %13) # <string>:2:69
#|   %17 : Tensor = aten::where(%14, %x.1, %y.1) # <string>:2:57
#|   %20 : Tensor = aten::clamp(%x.1, %13, %19) # <string>:2:83
#|   %21 : (Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%5, %11, %17, %20)
#|   return (%21)
# test: graph
def f(x: int, y: float):
  return abs(x), min(x, 2), max(y, 1.0), round(y), divmod(x, 2), pow(x, 2), sum([1, 2]), min([1, 2])
#| graph(%x.1 : int,
#|       %y.1 : float):
#|   %5 : int = prim::Constant[value=2]() # <string>:2:24
#|   %8 : float = prim::Constant[value=1.]() # <string>:2:35
#|   %18 : int = prim::Constant[value=1]() # <string>:2:81
#|   %3 : int = prim::abs(%x.1) # <string>:2:9
#|   %6 : int = prim::min(%x.1, %5) # <string>:2:17
#|   %9 : float = prim::max(%y.1, %8) # <string>:2:28
#|   %11 : float = aten::round(%y.1) # <string>:2:41
#|   %13 : int, %14 : int = aten::divmod(%x.1, %5) # <string>:2:51
#|   %15 : (int, int) = prim::TupleConstruct(%13, %14)
#|   %17 : float = aten::pow(%x.1, %5) # <string>:2:65
#|   %19 : int[] = prim::ListConstruct(%18, %5)
#|   %20 : int = aten::sum(%19) # <string>:2:76
#|   %21 : int[] = prim::ListConstruct(%18, %5)
#|   %22 : int = prim::min(%21) # <string>:2:89
#|   %23 : (int, int, float, float, (int, int), float, int, int) = prim::TupleConstruct(%3, %6, %9, %11, %15, %17, %20, %22)
#|   return (%23)
# test: graph
def f(x: int, s: str, l: List[int]):
  return len(l), len(s), ord(s), chr(x), hex(x), oct(x), bin(x), hash(s), sorted(l), any(l), all(l)
#| graph(%x.1 : int,
#|       %s.1 : str,
#|       %l.1 : int[]):
#|   %4 : int = aten::len(%l.1) # <string>:2:9
#|   %6 : int = aten::len(%s.1) # <string>:2:17
#|   %8 : int = aten::ord(%s.1) # <string>:2:25
#|   %10 : str = aten::chr(%x.1) # <string>:2:33
#|   %12 : str = aten::hex(%x.1) # <string>:2:41
#|   %14 : str = aten::oct(%x.1) # <string>:2:49
#|   %16 : str = aten::bin(%x.1) # <string>:2:57
#|   %18 : int = aten::hash(%s.1) # <string>:2:65
#|   %20 : int[] = aten::sorted(%l.1) # <string>:2:74
#|   %22 : bool = aten::any(%l.1) # <string>:2:85
#|   %24 : bool = aten::all(%l.1) # <string>:2:93
#|   %25 : (int, int, int, str, str, str, str, int, int[], bool, bool) = prim::TupleConstruct(%4, %6, %8, %10, %12, %14, %16, %18, %20, %22, %24)
#|   return (%25)
# test: graph
def f(x, y: int, z: float, s: str):
  return int(x), float(x), bool(x), int(z), float(y), bool(y), str(y), int(s), float(s), complex(y, z), int(y), bool(s)
#| graph(%x.1 : Tensor,
#|       %y.1 : int,
#|       %z.1 : float,
#|       %s.1 : str):
#|   %37 : int = prim::Constant[value=0]()
#|   %6 : int = aten::Int(%x.1) # <string>:2:9
#|   %9 : float = aten::Float(%x.1) # <string>:2:17
#|   %12 : bool = aten::Bool(%x.1) # <string>:2:27
#|   %15 : int = aten::Int(%z.1) # <string>:2:36
#|   %18 : float = aten::Float(%y.1) # <string>:2:44
#|   %21 : bool = aten::Bool(%y.1) # <string>:2:54
#|   %24 : str = aten::str(%y.1) # <string>:2:63
#|   %27 : int = aten::Int(%s.1) # <string>:2:71
#|   %30 : float = aten::Float(%s.1) # <string>:2:79
#|   %33 : complex = aten::Complex(%y.1, %z.1) # <string>:2:89
#|   %38 : int = aten::len(%s.1) # <string>:2:112
#|   %39 : bool = aten::gt(%38, %37) # <string>:2:112
#|   %40 : (int, float, bool, int, float, bool, str, int, float, complex, int, bool) = prim::TupleConstruct(%6, %9, %12, %15, %18, %21, %24, %27, %30, %33, %y.1, %39)
#|   return (%40)
# test: graph
def f(l: List[int], d: Dict[str, int]):
  return bool(l), bool(d)
#| graph(%l.1 : int[],
#|       %d.1 : Dict(str, int)):
#|   %3 : int = prim::Constant[value=0]()
#|   %4 : int = aten::len(%l.1) # <string>:2:9
#|   %5 : bool = aten::gt(%4, %3) # <string>:2:9
#|   %8 : int = aten::len(%d.1) # <string>:2:18
#|   %9 : bool = aten::gt(%8, %3) # <string>:2:18
#|   %10 : (bool, bool) = prim::TupleConstruct(%5, %9)
#|   return (%10)
# test: graph
def f(l: List[int], s: str):
  l.append(1)
  l.extend([2])
  l.insert(0, 3)
  a = l.pop()
  l.reverse()
  l.sort()
  return l.index(1), l.count(2), a, l.copy(), s.upper(), s.split(","), s.join(["a"]), "{} {}".format(1, s)
#| graph(%l.1 : int[],
#|       %s.1 : str):
#|   %38 : str = prim::Constant[value="{} {}"]() # <string>:8:86
#|   %35 : str = prim::Constant[value="a"]() # <string>:8:79
#|   %31 : str = prim::Constant[value=","]() # <string>:8:65
#|   %19 : bool = prim::Constant[value=0]()
#|   %14 : int = prim::Constant[value=-1]()
#|   %3 : int = prim::Constant[value=1]() # <string>:2:11
#|   %6 : int = prim::Constant[value=2]() # <string>:3:12
#|   %10 : int = prim::Constant[value=0]() # <string>:4:11
#|   %11 : int = prim::Constant[value=3]() # <string>:4:14
#|   %4 : int[] = aten::append(%l.1, %3) # <string>:2:2
#|   %7 : int[] = prim::ListConstruct(%6)
#|    = aten::extend(%l.1, %7) # <string>:3:2
#|    = aten::insert(%l.1, %10, %11) # <string>:4:2
#|   %a.1 : int = aten::pop(%l.1, %14) # <string>:5:6
#|    = aten::reverse(%l.1) # <string>:6:2
#|    = aten::sort(%l.1, %19) # <string>:7:2
#|   %22 : int = aten::index(%l.1, %3) # <string>:8:9
#|   %24 : int = aten::count(%l.1, %6) # <string>:8:21
#|   %27 : int[] = aten::copy(%l.1) # <string>:8:36
#|   %29 : str = aten::upper(%s.1) # <string>:8:46
#|   %33 : str[] = aten::split(%s.1, %31, %14) # <string>:8:57
#|   %36 : str[] = prim::ListConstruct(%35)
#|   %37 : str = aten::join(%s.1, %36) # <string>:8:71
#|   %40 : str = aten::format(%38, %3, %s.1) # <string>:8:86
#|   %41 : (int, int, int, int[], str, str[], str, str) = prim::TupleConstruct(%22, %24, %a.1, %27, %29, %33, %37, %40)
#|   return (%41)
# test: graph
def f(d: Dict[str, int]):
  d["a"] = 1
  d["b"] += 1
  return d["a"], d.get("a"), d.get("a", 3), d.keys(), d.values(), d.items(), len(d), d.pop("a")
#| graph(%d.1 : Dict(str, int)):
#|   %6 : str = prim::Constant[value="b"]() # <string>:3:4
#|   %3 : str = prim::Constant[value="a"]() # <string>:2:4
#|   %1 : int = prim::Constant[value=1]() # <string>:2:11
#|   %18 : int = prim::Constant[value=3]() # <string>:4:40
#|    = aten::_set_item(%d.1, %3, %1) # <string>:2:2
#|   %7 : int = aten::__getitem__(%d.1, %6) # <string>:3:2
#|   %8 : int = aten::add(%7, %1) # <string>:3:2
#|    = aten::_set_item(%d.1, %6, %8) # <string>:3:2
#|   %12 : int = aten::__getitem__(%d.1, %3) # <string>:4:9
#|   %15 : int? = aten::get(%d.1, %3) # <string>:4:17
#|   %19 : int = aten::get(%d.1, %3, %18) # <string>:4:29
#|   %21 : str[] = aten::keys(%d.1) # <string>:4:44
#|   %23 : int[] = aten::values(%d.1) # <string>:4:54
#|   %25 : (str, int)[] = aten::items(%d.1) # <string>:4:66
#|   %27 : int = aten::len(%d.1) # <string>:4:77
#|   %30 : int = aten::pop(%d.1, %3) # <string>:4:85
#|   %31 : (int, int?, int, str[], int[], (str, int)[], int, int) = prim::TupleConstruct(%12, %15, %19, %21, %23, %25, %27, %30)
#|   return (%31)
# test: graph
def f(x: List[int]):
  return list(x), list("ab"), list(range(3)), dict([("a", 1)]), tuple((1, 2))
#| graph(%x.1 : int[]):
#|   %45 : (int, int) = prim::Constant[value=(1, 2)]()
#|   %44 : (str, int) = prim::Constant[value=("a", 1)]()
#|   %9 : bool = prim::Constant[value=1]() # <string>:2:30
#|   %3 : str = prim::Constant[value="ab"]() # <string>:2:23
#|   %5 : int = prim::Constant[value=3]() # <string>:2:41
#|   %2 : int[] = aten::list(%x.1) # <string>:2:9
#|   %4 : str[] = aten::list(%3) # <string>:2:18
#|   %8 : int[] = prim::ListConstruct()
#|    = prim::Loop(%5, %9) # <string>:2:30
#|     block0(%10 : int):
#|       %12 : int[] = aten::append(%8, %10) # <string>:2:30
#|       -> (%9)
#|   %19 : (str, int)[] = prim::ListConstruct(%44)
#|   %20 : Dict(str, int) = prim::DictConstruct()
#|   %22 : int = aten::len(%19) # <string>:2:46
#|    = prim::Loop(%22, %9) # <string>:2:46
#|     block0(%24 : int):
#|       %25 : (str, int) = aten::__getitem__(%19, %24) # <string>:2:46
#|       %26 : str, %27 : int = prim::TupleUnpack(%25)
#|        = aten::_set_item(%20, %26, %27) # <string>:2:46
#|       -> (%9)
#|   %34 : (int[], str[], int[], Dict(str, int), (int, int)) = prim::TupleConstruct(%2, %4, %8, %20, %45)
#|   return (%34)
# test: graph
def f(x: Dict[str, int]):
  return dict(x), dict(x, b=2), dict({"a": 1}), dict(a=1, b=2), dict(), list()
#| graph(%x.1 : Dict(str, int)):
#|   %20 : bool = prim::Constant[value=1]() # <string>:2:48
#|   %41 : (str, int) = prim::Constant[value=("b", 2)]()
#|   %40 : (str, int) = prim::Constant[value=("a", 1)]()
#|   %8 : str = prim::Constant[value="a"]() # <string>:2:38
#|   %5 : str = prim::Constant[value="b"]() # <string>:2:26
#|   %6 : int = prim::Constant[value=2]() # <string>:2:28
#|   %9 : int = prim::Constant[value=1]() # <string>:2:43
#|   %2 : Dict(str, int) = aten::dict(%x.1) # <string>:2:9
#|   %4 : Dict(str, int) = aten::dict(%x.1) # <string>:2:18
#|    = aten::_set_item(%4, %5, %6) # <string>:2:26
#|   %10 : Dict(str, int) = prim::DictConstruct(%8, %9)
#|   %11 : Dict(str, int) = aten::dict(%10) # <string>:2:32
#|   %16 : (str, int)[] = prim::ListConstruct(%40, %41)
#|   %17 : Dict(str, int) = prim::DictConstruct()
#|   %19 : int = aten::len(%16) # <string>:2:48
#|    = prim::Loop(%19, %20) # <string>:2:48
#|     block0(%21 : int):
#|       %22 : (str, int) = aten::__getitem__(%16, %21) # <string>:2:48
#|       %23 : str, %24 : int = prim::TupleUnpack(%22)
#|        = aten::_set_item(%17, %23, %24) # <string>:2:48
#|       -> (%20)
#|   %28 : Dict(str, Tensor) = prim::DictConstruct()
#|   %29 : Tensor[] = prim::ListConstruct()
#|   %30 : (Dict(str, int), Dict(str, int), Dict(str, int), Dict(str, int), Dict(str, Tensor), Tensor[]) = prim::TupleConstruct(%2, %4, %11, %17, %28, %29)
#|   return (%30)
# test: graph
def f(x):
  return torch.jit_annotate if False else 1
#| graph(%x : Tensor):
#|   %3 : int = prim::Constant[value=1]() # <string>:2:42
#|   return (%3)
# test: graph
def f(x):
  return torch.device('cpu'), torch.device(type='cpu')
#| graph(%x : Tensor):
#|   %17 : (Device, Device) = prim::Constant[value=(torch.device("cpu"), torch.device("cpu"))]()
#|   return (%17)
# test: graph
def f(x):
  return torch.floor_divide(x, 2), torch.autograd.grad([x.sum()], [x]), torch.numel(x), torch.is_floating_point(x)
#| graph(%x.1 : Tensor):
#|   %12 : bool = prim::Constant[value=0]()
#|   %5 : NoneType = prim::Constant()
#|   %2 : int = prim::Constant[value=2]() # <string>:2:31
#|   %3 : Tensor = aten::floor_divide(%x.1, %2) # <string>:2:9
#|   %6 : Tensor = aten::sum(%x.1, %5) # <string>:2:56
#|   %7 : Tensor[] = prim::ListConstruct(%6)
#|   %9 : Tensor[] = prim::ListConstruct(%x.1)
#|   %14 : Tensor?[] = aten::grad(%7, %9, %5, %5, %12, %12) # <string>:2:35
#|   %16 : int = aten::numel(%x.1) # <string>:2:72
#|   %18 : bool = aten::is_floating_point(%x.1) # <string>:2:88
#|   %19 : (Tensor, Tensor?[], int, bool) = prim::TupleConstruct(%3, %14, %16, %18)
#|   return (%19)
# test: graph
def f(x):
  a: List[List[int]] = x.tolist()
  b: float = x.tolist()
  return a, b
#| graph(%x.1 : Tensor):
#|   %9 : int = prim::Constant[value=1]()
#|   %4 : int = prim::Constant[value=0]()
#|   %3 : int = prim::Constant[value=2]()
#|   %a.1 : int[][] = prim::tolist(%x.1, %3, %4)
#|   %b.1 : float = prim::tolist(%x.1, %4, %9)
#|   %13 : (int[][], float) = prim::TupleConstruct(%a.1, %b.1)
#|   return (%13)
# test: graph
def f(x: List[Tensor]):
  return torch.cat(x, 1), torch.stack(x), torch.cat((x[0], x[1]), dim=0)
#| graph(%x.1 : Tensor[]):
#|   %2 : int = prim::Constant[value=1]() # <string>:2:22
#|   %8 : int = prim::Constant[value=0]() # <string>:2:55
#|   %3 : Tensor = aten::cat(%x.1, %2) # <string>:2:9
#|   %6 : Tensor = aten::stack(%x.1, %8) # <string>:2:26
#|   %9 : Tensor = aten::__getitem__(%x.1, %8) # <string>:2:53
#|   %11 : Tensor = aten::__getitem__(%x.1, %2) # <string>:2:59
#|   %13 : Tensor[] = prim::ListConstruct(%9, %11)
#|   %14 : Tensor = aten::cat(%13, %8) # <string>:2:42
#|   %15 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%3, %6, %14)
#|   return (%15)
# test: graph
def f(x):
  return torch.conv2d(x, x, None, 1, 0), torch.conv2d(x, x, None, [1, 1], [0, 0], [1, 1], 1), torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, True)
#| graph(%x.1 : Tensor):
#|   %23 : bool = prim::Constant[value=1]() # <string>:2:138
#|   %8 : int[] = prim::Constant[value=[1, 1]]()
#|   %3 : NoneType = prim::Constant() # <string>:2:28
#|   %4 : int = prim::Constant[value=1]() # <string>:2:34
#|   %5 : int = prim::Constant[value=0]() # <string>:2:37
#|   %24 : float = prim::Constant[value=0.10000000000000001]() # <string>:2:144
#|   %25 : float = prim::Constant[value=1.0000000000000001e-05]() # <string>:2:149
#|   %6 : int[] = prim::ListConstruct(%4, %4)
#|   %7 : int[] = prim::ListConstruct(%5, %5)
#|   %10 : Tensor = aten::conv2d(%x.1, %x.1, %3, %6, %7, %8, %4) # <string>:2:9
#|   %14 : int[] = prim::ListConstruct(%4, %4)
#|   %15 : int[] = prim::ListConstruct(%5, %5)
#|   %16 : int[] = prim::ListConstruct(%4, %4)
#|   %17 : Tensor = aten::conv2d(%x.1, %x.1, %3, %14, %15, %16, %4) # <string>:2:41
#|   %27 : Tensor = aten::batch_norm(%x.1, %3, %3, %3, %3, %23, %24, %25, %23) # <string>:2:94
#|   %28 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%10, %17, %27)
#|   return (%28)
# test: graph
def f(x) -> int:
  return x
#| graph(%x.1 : Tensor):
#|   %2 : int = aten::IntImplicit(%x.1) # <string>:2:2
#|   return (%2)
# test: graph
def f(x) -> float:
  return x
#| graph(%x.1 : Tensor):
#|   %2 : float = aten::FloatImplicit(%x.1) # <string>:2:2
#|   return (%2)
# test: graph
def f(x: number) -> int:
  return x
#| graph(%x.1 : Scalar):
#|   %2 : int = aten::Int(%x.1) # <string>:2:2
#|   return (%2)
# test: graph
def f(x: bool) -> int:
  return x
#| graph(%x.1 : bool):
#|   %2 : int = aten::Int(%x.1) # <string>:2:2
#|   return (%2)
# test: graph
def f(x: Tuple[int, int]) -> List[int]:
  return x
#| graph(%x.1 : (int, int)):
#|   %2 : int, %3 : int = prim::TupleUnpack(%x.1)
#|   %4 : int[] = prim::ListConstruct(%2, %3)
#|   return (%4)
# test: graph
def f(x: int) -> Optional[int]:
  return x
#| graph(%x.1 : int):
#|   return (%x.1)
# test: graph
def f(x: int) -> Optional[int]:
  return None
#| graph(%x : int):
#|   %1 : NoneType = prim::Constant() # <string>:2:9
#|   return (%1)
# test: graph
def f(x: Future[int]):
  return torch.wait(x)
#| graph(%x.1 : Future[int]):
#|   %2 : int = aten::wait(%x.1) # <string>:2:9
#|   return (%2)
# test: graph
def f(a: Tensor, b: List[Tensor], c: Optional[List[int]], d: Dict[str, Tuple[int, float]], e: Tuple[()], g: Any, h: Device, i: complex, j: Union[int, str, None]):
  return a
#| graph(%a.1 : Tensor,
#|       %b : Tensor[],
#|       %c : int[]?,
#|       %d : Dict(str, (int, float)),
#|       %e : (),
#|       %g : Any,
#|       %h : Device,
#|       %i : complex,
#|       %j : Union(int, NoneType, str)):
#|   return (%a.1)
# test: graph
def f(x: BroadcastingList2[int], y: Optional[BroadcastingList3[float]]):
  return x
def g(x: int):
  return f(1, 2.0), f([1, 2], None)
#| graph(%x.1 : int[],
#|       %y : float[]?):
#|   return (%x.1)
#| graph(%x : int):
#|   %9 : NoneType = prim::Constant() # <string>:4:30
#|   %5 : Function = prim::Constant[name="f"]()
#|   %1 : int = prim::Constant[value=1]() # <string>:4:11
#|   %2 : float = prim::Constant[value=2.]() # <string>:4:14
#|   %7 : int = prim::Constant[value=2]() # <string>:4:26
#|   %3 : int[] = prim::ListConstruct(%1, %1)
#|   %4 : float[] = prim::ListConstruct(%2, %2, %2)
#|   %6 : int[] = prim::CallFunction(%5, %3, %4) # <string>:4:9
#|   %8 : int[] = prim::ListConstruct(%1, %7)
#|   %11 : int[] = prim::CallFunction(%5, %8, %9) # <string>:4:20
#|   %12 : (int[], int[]) = prim::TupleConstruct(%6, %11)
#|   return (%12)
# test: graph
def f(x: float):
  return 1 * x, x * 1, 2 ** x, x == 1, x > 1, 1 + 2
#| graph(%x.1 : float):
#|   %24 : int = prim::Constant[value=3]()
#|   %1 : int = prim::Constant[value=1]() # <string>:2:9
#|   %6 : int = prim::Constant[value=2]() # <string>:2:23
#|   %3 : float = aten::mul(%1, %x.1) # <string>:2:9
#|   %5 : float = aten::mul(%x.1, %1) # <string>:2:16
#|   %8 : float = aten::pow(%6, %x.1) # <string>:2:23
#|   %10 : bool = aten::eq(%x.1, %1) # <string>:2:31
#|   %12 : bool = aten::gt(%x.1, %1) # <string>:2:39
#|   %14 : (float, float, float, bool, bool, int) = prim::TupleConstruct(%3, %5, %8, %10, %12, %24)
#|   return (%14)
# test: graph
def f(x, s: str):
  return torch._assert(bool(x), 'a'), 'a' in s
#| graph(%x.1 : Tensor,
#|       %s.1 : str):
#|   %12 : int = prim::Constant[value=-1]() # <string>:5:44
#|   %11 : int = prim::Constant[value=0]() # <string>:5:26
#|   %9 : str = prim::Constant[value="a"]() # <string>:2:38
#|   %26 : str = prim::Constant[value="AssertionError: a"]()
#|   %6 : NoneType = prim::Constant()
#|   %4 : bool = aten::Bool(%x.1) # <string>:2:23
#|    = prim::If(%4) # <string>:8:2
#|     block0():
#|       -> ()
#|     block1():
#|        = prim::RaiseException(%26, %6) # <string>:8:2
#|       -> ()
#|   %13 : int = aten::len(%s.1) # <string>:5:29
#|   %14 : int = aten::find(%s.1, %9, %11, %13) # <string>:5:11
#|   %15 : bool = aten::ne(%14, %12) # <string>:5:11
#|   %16 : (NoneType, bool) = prim::TupleConstruct(%6, %15)
#|   return (%16)
# test: graph
def f(d: Device):
  return d.index, d.type
#| graph(%d.1 : Device):
#|   %2 : int? = prim::index(%d.1)
#|   %4 : str = prim::type(%d.1)
#|   %5 : (int?, str) = prim::TupleConstruct(%2, %4)
#|   return (%5)
# test: graph
def f(x):
  return torch.relu(torch.neg(x)), torch.subtract(x, 1), torch.rsub(x, 2), torch.true_divide(x, 2), torch.clip(x, 0, 1), torch.absolute(x)
#| graph(%x.1 : Tensor):
#|   %5 : int = prim::Constant[value=1]() # <string>:2:53
#|   %9 : int = prim::Constant[value=2]() # <string>:2:71
#|   %15 : int = prim::Constant[value=0]() # <string>:2:114
#|   %2 : Tensor = aten::neg(%x.1) # <string>:2:20
#|   %3 : Tensor = aten::relu(%2) # <string>:2:9
#|   %29 : Tensor = aten::sub(%x.1, %5, %5) # <string>:2:35
#|   %11 : Tensor = aten::rsub(%x.1, %9, %5) # <string>:2:57
#|   %30 : Tensor = aten::div(%x.1, %9) # <string>:2:75
#|   %31 : Tensor = aten::clamp(%x.1, %15, %5) # <string>:2:100
#|   %32 : Tensor = aten::abs(%x.1) # <string>:2:121
#|   %19 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%3, %29, %11, %30, %31, %32)
#|   return (%19)
