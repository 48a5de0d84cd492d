# test: graph
def f(x):
  return x[0], x[-1], x[1:2], x[:], x[::2], x[1:], x[:1]
#| graph(%x.1 : Tensor):
#|   %18 : NoneType = prim::Constant()
#|   %2 : int = prim::Constant[value=0]() # <string>:2:11
#|   %6 : int = prim::Constant[value=-1]() # <string>:2:18
#|   %11 : int = prim::Constant[value=1]() # <string>:2:24
#|   %12 : int = prim::Constant[value=2]() # <string>:2:26
#|   %4 : Tensor = aten::select(%x.1, %2, %2) # <string>:2:9
#|   %8 : Tensor = aten::select(%x.1, %2, %6) # <string>:2:15
#|   %14 : Tensor = aten::slice(%x.1, %2, %11, %12, %11) # <string>:2:22
#|   %20 : Tensor = aten::slice(%x.1, %2, %18, %18, %11) # <string>:2:30
#|   %25 : Tensor = aten::slice(%x.1, %2, %18, %18, %12) # <string>:2:36
#|   %30 : Tensor = aten::slice(%x.1, %2, %11, %18, %11) # <string>:2:44
#|   %35 : Tensor = aten::slice(%x.1, %2, %18, %11, %11) # <string>:2:51
#|   %36 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%4, %8, %14, %20, %25, %30, %35)
#|   return (%36)
# test: graph
def f(x):
  return x[0, 1], x[:, 1], x[1:3, 2], x[..., 1], x[0, ..., 1], x[..., 1:], x[None], x[None, :, 0]
#| graph(%x.1 : Tensor):
#|   %25 : int = prim::Constant[value=-1]() # <string>:2:38
#|   %11 : NoneType = prim::Constant()
#|   %2 : int = prim::Constant[value=0]() # <string>:2:11
#|   %3 : int = prim::Constant[value=1]() # <string>:2:14
#|   %17 : int = prim::Constant[value=2]() # <string>:2:34
#|   %19 : int = prim::Constant[value=3]() # <string>:2:31
#|   %5 : Tensor = aten::select(%x.1, %2, %2) # <string>:2:9
#|   %7 : Tensor = aten::select(%5, %2, %3) # <string>:2:9
#|   %13 : Tensor = aten::slice(%x.1, %2, %11, %11, %3) # <string>:2:18
#|   %15 : Tensor = aten::select(%13, %3, %3) # <string>:2:18
#|   %21 : Tensor = aten::slice(%x.1, %2, %3, %19, %3) # <string>:2:27
#|   %23 : Tensor = aten::select(%21, %3, %17) # <string>:2:27
#|   %26 : Tensor = aten::select(%x.1, %25, %3) # <string>:2:38
#|   %29 : Tensor = aten::select(%x.1, %2, %2) # <string>:2:49
#|   %31 : Tensor = aten::select(%29, %25, %3) # <string>:2:49
#|   %36 : Tensor = aten::slice(%x.1, %25, %3, %11, %3) # <string>:2:63
#|   %42 : Tensor = aten::unsqueeze(%x.1, %2) # <string>:2:75
#|   %47 : Tensor = aten::unsqueeze(%x.1, %2) # <string>:2:84
#|   %52 : Tensor = aten::slice(%47, %3, %11, %11, %3) # <string>:2:84
#|   %54 : Tensor = aten::select(%52, %17, %2) # <string>:2:84
#|   %55 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%7, %15, %23, %26, %31, %36, %42, %54)
#|   return (%55)
# test: graph
def f(x, y, z):
  return x[y], x[y, z], x[:, y], x[y, :, z], x[0, y], x[x > 1], x[y, 0]
#| graph(%x.1 : Tensor,
#|       %y.1 : Tensor,
#|       %z.1 : Tensor):
#|   %21 : NoneType = prim::Constant()
#|   %41 : int = prim::Constant[value=0]() # <string>:2:47
#|   %50 : int = prim::Constant[value=1]() # <string>:2:60
#|   %7 : Tensor?[] = prim::ListConstruct(%y.1)
#|   %8 : Tensor = aten::index(%x.1, %7) # <string>:2:9
#|   %14 : Tensor?[] = prim::ListConstruct(%y.1, %z.1)
#|   %15 : Tensor = aten::index(%x.1, %14) # <string>:2:15
#|   %23 : Tensor = aten::slice(%x.1, %41, %21, %21, %50) # <string>:2:24
#|   %25 : Tensor?[] = prim::ListConstruct(%21, %y.1)
#|   %26 : Tensor = aten::index(%23, %25) # <string>:2:24
#|   %36 : Tensor = aten::slice(%x.1, %50, %21, %21, %50) # <string>:2:33
#|   %38 : Tensor?[] = prim::ListConstruct(%y.1, %21, %z.1)
#|   %39 : Tensor = aten::index(%36, %38) # <string>:2:33
#|   %45 : Tensor = aten::select(%x.1, %41, %41) # <string>:2:45
#|   %46 : Tensor?[] = prim::ListConstruct(%y.1)
#|   %47 : Tensor = aten::index(%45, %46) # <string>:2:45
#|   %55 : Tensor = aten::gt(%x.1, %50) # <string>:2:56
#|   %56 : Tensor?[] = prim::ListConstruct(%55)
#|   %57 : Tensor = aten::index(%x.1, %56) # <string>:2:54
#|   %62 : Tensor = aten::select(%x.1, %50, %41) # <string>:2:64
#|   %63 : Tensor?[] = prim::ListConstruct(%y.1)
#|   %64 : Tensor = aten::index(%62, %63) # <string>:2:64
#|   %65 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%8, %15, %26, %39, %47, %57, %64)
#|   return (%65)
# test: graph
def f(x):
  return x[[0, 1]], x[[True, False]], x[[0], [1]]
#| graph(%x.1 : Tensor):
#|   %20 : bool = prim::Constant[value=1]() # <string>:2:23
#|   %9 : bool = prim::Constant[value=0]()
#|   %8 : NoneType = prim::Constant()
#|   %7 : int = prim::Constant[value=4]()
#|   %2 : int = prim::Constant[value=0]() # <string>:2:12
#|   %3 : int = prim::Constant[value=1]() # <string>:2:15
#|   %6 : int[] = prim::ListConstruct(%2, %3)
#|   %10 : Tensor = aten::tensor(%6, %7, %8, %9)
#|   %11 : Tensor?[] = prim::ListConstruct(%10)
#|   %12 : Tensor = aten::index(%x.1, %11) # <string>:2:9
#|   %22 : bool[] = prim::ListConstruct(%20, %9)
#|   %26 : Tensor = aten::tensor(%22, %7, %8, %9)
#|   %27 : Tensor?[] = prim::ListConstruct(%26)
#|   %28 : Tensor = aten::index(%x.1, %27) # <string>:2:20
#|   %31 : int[] = prim::ListConstruct(%2)
#|   %35 : Tensor = aten::tensor(%31, %7, %8, %9)
#|   %37 : int[] = prim::ListConstruct(%3)
#|   %41 : Tensor = aten::tensor(%37, %7, %8, %9)
#|   %42 : Tensor?[] = prim::ListConstruct(%35, %41)
#|   %43 : Tensor = aten::index(%x.1, %42) # <string>:2:38
#|   %44 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%12, %28, %43)
#|   return (%44)
# test: graph
def f(x, i: int, o: Optional[Tensor]):
  return x[i], x[i + 1], x[i:i + 2], x[i, None, i]
#| graph(%x.1 : Tensor,
#|       %i.1 : int,
#|       %o : Tensor?):
#|   %7 : int = prim::Constant[value=0]() # <string>:2:9
#|   %11 : int = prim::Constant[value=1]() # <string>:2:21
#|   %23 : int = prim::Constant[value=2]() # <string>:2:33
#|   %8 : Tensor = aten::select(%x.1, %7, %i.1) # <string>:2:9
#|   %16 : int = aten::add(%i.1, %11) # <string>:2:17
#|   %18 : Tensor = aten::select(%x.1, %7, %16) # <string>:2:15
#|   %24 : int = aten::add(%i.1, %23) # <string>:2:29
#|   %26 : Tensor = aten::slice(%x.1, %7, %i.1, %24, %11) # <string>:2:25
#|   %35 : Tensor = aten::select(%x.1, %7, %i.1) # <string>:2:37
#|   %37 : Tensor = aten::unsqueeze(%35, %7) # <string>:2:37
#|   %39 : Tensor = aten::select(%37, %11, %i.1) # <string>:2:37
#|   %40 : (Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%8, %18, %26, %39)
#|   return (%40)
# test: graph
def f(x):
  x[0] = 1
  x[0, 1] = 2.5
  x[:, 1] = x[0]
  x[x > 1] = 0
  x[1:] = True
  return x
#| graph(%x.1 : Tensor):
#|   %49 : bool = prim::Constant[value=1]() # <string>:6:10
#|   %30 : NoneType = prim::Constant()
#|   %8 : bool = prim::Constant[value=0]()
#|   %1 : int = prim::Constant[value=1]() # <string>:2:9
#|   %3 : int = prim::Constant[value=0]() # <string>:2:4
#|   %12 : float = prim::Constant[value=2.5]() # <string>:3:12
#|   %5 : Tensor = aten::select(%x.1, %3, %3) # <string>:2:2
#|   %6 : int = prim::dtype(%5)
#|   %7 : Device = prim::device(%5)
#|   %9 : Tensor = aten::tensor(%1, %6, %7, %8)
#|   %11 : Tensor = aten::copy_(%5, %9, %8) # <string>:2:2
#|   %15 : Tensor = aten::select(%x.1, %3, %3) # <string>:3:2
#|   %17 : Tensor = aten::select(%15, %3, %1) # <string>:3:2
#|   %18 : int = prim::dtype(%17)
#|   %19 : Device = prim::device(%17)
#|   %21 : Tensor = aten::tensor(%12, %18, %19, %8)
#|   %23 : Tensor = aten::copy_(%17, %21, %8) # <string>:3:2
#|   %26 : Tensor = aten::select(%x.1, %3, %3) # <string>:4:12
#|   %32 : Tensor = aten::slice(%x.1, %3, %30, %30, %1) # <string>:4:2
#|   %34 : Tensor = aten::select(%32, %1, %1) # <string>:4:2
#|   %36 : Tensor = aten::copy_(%34, %26, %8) # <string>:4:2
#|   %41 : Tensor = aten::gt(%x.1, %1) # <string>:5:4
#|   %42 : int = prim::dtype(%x.1)
#|   %43 : Device = prim::device(%x.1)
#|   %45 : Tensor = aten::tensor(%3, %42, %43, %8)
#|   %46 : Tensor?[] = prim::ListConstruct(%41)
#|   %48 : Tensor = aten::index_put_(%x.1, %46, %45, %8) # <string>:5:2
#|   %54 : Tensor = aten::slice(%x.1, %3, %1, %30, %1) # <string>:6:2
#|   %55 : int = prim::dtype(%54)
#|   %56 : Device = prim::device(%54)
#|   %58 : Tensor = aten::tensor(%49, %55, %56, %8)
#|   %60 : Tensor = aten::copy_(%54, %58, %8) # <string>:6:2
#|   return (%x.1)
# test: graph
def f(x, y):
  x[y] = y
  x[:, y] = 1
  x[..., 0] = y
  x[None] = y
  return x
#| graph(%x.1 : Tensor,
#|       %y.1 : Tensor):
#|   %29 : int = prim::Constant[value=-1]() # <string>:4:2
#|   %15 : NoneType = prim::Constant()
#|   %7 : bool = prim::Constant[value=0]()
#|   %9 : int = prim::Constant[value=1]() # <string>:3:12
#|   %28 : int = prim::Constant[value=0]() # <string>:4:9
#|   %6 : Tensor?[] = prim::ListConstruct(%y.1)
#|   %8 : Tensor = aten::index_put_(%x.1, %6, %y.1, %7) # <string>:2:2
#|   %17 : Tensor = aten::slice(%x.1, %28, %15, %15, %9) # <string>:3:2
#|   %19 : int = prim::dtype(%17)
#|   %20 : Device = prim::device(%17)
#|   %22 : Tensor = aten::tensor(%9, %19, %20, %7)
#|   %23 : Tensor?[] = prim::ListConstruct(%15, %y.1)
#|   %25 : Tensor = aten::index_put_(%17, %23, %22, %7) # <string>:3:2
#|   %30 : Tensor = aten::select(%x.1, %29, %28) # <string>:4:2
#|   %32 : Tensor = aten::copy_(%30, %y.1, %7) # <string>:4:2
#|   %38 : Tensor = aten::unsqueeze(%x.1, %28) # <string>:5:2
#|   %40 : Tensor = aten::copy_(%38, %y.1, %7) # <string>:5:2
#|   return (%x.1)
# test: graph
def f(x):
  x += 1
  x[0] -= 2
  x[:, 1:3] *= 2
  x[x > 1] /= 2
  x[0] %= 2
  x &= 1
  x |= 1
  x ^= 1
  x <<= 1
  x >>= 1
  x **= 2
  return x
#| graph(%x.1 : Tensor):
#|   %31 : bool = prim::Constant[value=0]()
#|   %15 : NoneType = prim::Constant()
#|   %2 : int = prim::Constant[value=1]() # <string>:2:7
#|   %6 : int = prim::Constant[value=0]() # <string>:3:4
#|   %9 : int = prim::Constant[value=2]() # <string>:3:10
#|   %19 : int = prim::Constant[value=3]() # <string>:4:9
#|   %x.5 : Tensor = aten::add_(%x.1, %2, %2) # <string>:2:2
#|   %8 : Tensor = aten::select(%x.5, %6, %6) # <string>:3:2
#|   %11 : Tensor = aten::sub_(%8, %9, %2) # <string>:3:2
#|   %17 : Tensor = aten::slice(%x.5, %6, %15, %15, %2) # <string>:4:2
#|   %21 : Tensor = aten::slice(%17, %2, %2, %19, %2) # <string>:4:2
#|   %22 : Tensor = aten::mul_(%21, %9) # <string>:4:2
#|   %27 : Tensor = aten::gt(%x.5, %2) # <string>:5:4
#|   %28 : Tensor?[] = prim::ListConstruct(%27)
#|   %29 : Tensor = aten::index(%x.5, %28) # <string>:5:2
#|   %30 : Tensor = aten::div_(%29, %9) # <string>:5:2
#|   %32 : Tensor = aten::index_put_(%x.5, %28, %30, %31) # <string>:5:2
#|   %35 : Tensor = aten::select(%x.5, %6, %6) # <string>:6:2
#|   %36 : Tensor = aten::fmod_(%35, %9) # <string>:6:2
#|   %x.21 : Tensor = aten::bitwise_and(%x.5, %2) # <string>:7:2
#|   %x.25 : Tensor = aten::bitwise_or(%x.21, %2) # <string>:8:2
#|   %x.29 : Tensor = aten::bitwise_xor(%x.25, %2) # <string>:9:2
#|   %x.33 : Tensor = aten::__ilshift__(%x.29, %2) # <string>:10:2
#|   %x.37 : Tensor = aten::__irshift__(%x.33, %2) # <string>:11:2
#|   %x.41 : Tensor = aten::pow(%x.37, %9) # <string>:12:2
#|   return (%x.41)
# test: graph
def f(x: int, y: float, l: List[int]):
  x += 1
  x -= 1
  x *= 2
  x |= 1
  x &= 1
  x ^= 1
  y /= 2
  y **= 2.0
  l += [1]
  l *= 2
  return x, y, l
#| graph(%x.1 : int,
#|       %y.1 : float,
#|       %l.1 : int[]):
#|   %4 : int = prim::Constant[value=1]() # <string>:2:7
#|   %9 : int = prim::Constant[value=2]() # <string>:4:7
#|   %20 : float = prim::Constant[value=2.]() # <string>:9:8
#|   %x.5 : int = aten::add(%x.1, %4) # <string>:2:2
#|   %x.9 : int = aten::sub(%x.5, %4) # <string>:3:2
#|   %x.13 : int = aten::mul(%x.9, %9) # <string>:4:2
#|   %x.17 : int = aten::__or__(%x.13, %4) # <string>:5:2
#|   %x.21 : int = aten::__and__(%x.17, %4) # <string>:6:2
#|   %x.25 : int = aten::__xor__(%x.21, %4) # <string>:7:2
#|   %y.5 : float = aten::div(%y.1, %9) # <string>:8:2
#|   %y.9 : float = aten::pow(%y.5, %20) # <string>:9:2
#|   %23 : int[] = prim::ListConstruct(%4)
#|   %l.5 : int[] = aten::add_(%l.1, %23) # <string>:10:2
#|   %l.9 : int[] = aten::mul_(%l.5, %9) # <string>:11:2
#|   %30 : (int, float, int[]) = prim::TupleConstruct(%x.25, %y.9, %l.9)
#|   return (%30)
# test: graph
def f(l: List[int], d: Dict[str, int], m: List[List[int]]):
  l[0] = 1
  l[1] += 2
  d["a"] = 3
  d["a"] -= 4
  m[0][1] = 5
  return l[0], l[0:1], l[::2], d["a"], m[0][1]
#| graph(%l.1 : int[],
#|       %d.1 : Dict(str, int),
#|       %m.1 : int[][]):
#|   %32 : NoneType = prim::Constant()
#|   %14 : str = prim::Constant[value="a"]() # <string>:4:4
#|   %3 : int = prim::Constant[value=1]() # <string>:2:9
#|   %5 : int = prim::Constant[value=0]() # <string>:2:4
#|   %8 : int = prim::Constant[value=2]() # <string>:3:10
#|   %12 : int = prim::Constant[value=3]() # <string>:4:11
#|   %18 : int = prim::Constant[value=4]() # <string>:5:12
#|   %22 : int = prim::Constant[value=5]() # <string>:6:12
#|   %6 : int[] = aten::_set_item(%l.1, %5, %3) # <string>:2:2
#|   %9 : int = aten::__getitem__(%l.1, %3) # <string>:3:2
#|   %10 : int = aten::add(%9, %8) # <string>:3:2
#|   %11 : int[] = aten::_set_item(%l.1, %3, %10) # <string>:3:2
#|    = aten::_set_item(%d.1, %14, %12) # <string>:4:2
#|   %19 : int = aten::__getitem__(%d.1, %14) # <string>:5:2
#|   %20 : int = aten::sub(%19, %18) # <string>:5:2
#|    = aten::_set_item(%d.1, %14, %20) # <string>:5:2
#|   %24 : int[] = aten::__getitem__(%m.1, %5) # <string>:6:2
#|   %25 : int[] = aten::_set_item(%24, %3, %22) # <string>:6:2
#|   %27 : int = aten::__getitem__(%l.1, %5) # <string>:7:9
#|   %30 : int[] = aten::slice(%l.1, %5, %3, %3) # <string>:7:15
#|   %34 : int[] = aten::slice(%l.1, %32, %32, %8) # <string>:7:23
#|   %37 : int = aten::__getitem__(%d.1, %14) # <string>:7:31
#|   %39 : int[] = aten::__getitem__(%m.1, %5) # <string>:7:39
#|   %40 : int = aten::__getitem__(%39, %3) # <string>:7:39
#|   %41 : (int, int[], int[], int, int) = prim::TupleConstruct(%27, %30, %34, %37, %40)
#|   return (%41)
# test: graph
def f(x: Tuple[int, int], i: int):
  return x[i]
#| graph(%x.1 : (int, int),
#|       %i.1 : int):
#|   %4 : int = prim::TupleIndex(%x.1, %i.1)
#|   return (%4)
# test: graph
def f(x):
  a = x[0][1][2]
  b = x.view(2, -1)[:, 0].sum()
  return a, b
#| graph(%x.1 : Tensor):
#|   %17 : NoneType = prim::Constant()
#|   %2 : int = prim::Constant[value=0]() # <string>:2:8
#|   %5 : int = prim::Constant[value=1]() # <string>:2:11
#|   %8 : int = prim::Constant[value=2]() # <string>:2:14
#|   %12 : int = prim::Constant[value=-1]() # <string>:3:17
#|   %4 : Tensor = aten::select(%x.1, %2, %2) # <string>:2:6
#|   %7 : Tensor = aten::select(%4, %2, %5) # <string>:2:6
#|   %a.1 : Tensor = aten::select(%7, %2, %8) # <string>:2:6
#|   %13 : int[] = prim::ListConstruct(%8, %12)
#|   %14 : Tensor = aten::view(%x.1, %13) # <string>:3:6
#|   %19 : Tensor = aten::slice(%14, %2, %17, %17, %5) # <string>:3:6
#|   %21 : Tensor = aten::select(%19, %5, %2) # <string>:3:6
#|   %b.1 : Tensor = aten::sum(%21, %17) # <string>:3:6
#|   %26 : (Tensor, Tensor) = prim::TupleConstruct(%a.1, %b.1)
#|   return (%26)
# test: graph
def f(x, l: List[Tensor]):
  l[0][1] = 3
  l[0] += 1
  l[0][0] += x
  return l
#| graph(%x.1 : Tensor,
#|       %l.1 : Tensor[]):
#|   %11 : bool = prim::Constant[value=0]()
#|   %2 : int = prim::Constant[value=3]() # <string>:2:12
#|   %4 : int = prim::Constant[value=0]() # <string>:2:4
#|   %6 : int = prim::Constant[value=1]() # <string>:2:7
#|   %5 : Tensor = aten::__getitem__(%l.1, %4) # <string>:2:2
#|   %8 : Tensor = aten::select(%5, %4, %6) # <string>:2:2
#|   %9 : int = prim::dtype(%8)
#|   %10 : Device = prim::device(%8)
#|   %12 : Tensor = aten::tensor(%2, %9, %10, %11)
#|   %14 : Tensor = aten::copy_(%8, %12, %11) # <string>:2:2
#|   %16 : Tensor = aten::__getitem__(%l.1, %4) # <string>:3:2
#|   %18 : Tensor = aten::add_(%16, %6, %6) # <string>:3:2
#|   %19 : Tensor[] = aten::_set_item(%l.1, %4, %18) # <string>:3:2
#|   %21 : Tensor = aten::__getitem__(%l.1, %4) # <string>:4:2
#|   %23 : Tensor = aten::select(%21, %4, %4) # <string>:4:2
#|   %26 : Tensor = aten::add_(%23, %x.1, %6) # <string>:4:2
#|   return (%l.1)
# test: graph
def f(x):
  x[0], x[1] = 1, 2
  (x[0], y) = x, 3
  return x, y
#| graph(%x.1 : Tensor):
#|   %10 : bool = prim::Constant[value=0]()
#|   %1 : int = prim::Constant[value=1]() # <string>:2:15
#|   %2 : int = prim::Constant[value=2]() # <string>:2:18
#|   %5 : int = prim::Constant[value=0]() # <string>:2:4
#|   %y.1 : int = prim::Constant[value=3]() # <string>:3:17
#|   %7 : Tensor = aten::select(%x.1, %5, %5) # <string>:2:2
#|   %8 : int = prim::dtype(%7)
#|   %9 : Device = prim::device(%7)
#|   %11 : Tensor = aten::tensor(%1, %8, %9, %10)
#|   %13 : Tensor = aten::copy_(%7, %11, %10) # <string>:2:15
#|   %16 : Tensor = aten::select(%x.1, %5, %1) # <string>:2:8
#|   %17 : int = prim::dtype(%16)
#|   %18 : Device = prim::device(%16)
#|   %20 : Tensor = aten::tensor(%2, %17, %18, %10)
#|   %22 : Tensor = aten::copy_(%16, %20, %10) # <string>:2:15
#|   %28 : Tensor = aten::select(%x.1, %5, %5) # <string>:3:3
#|   %30 : Tensor = aten::copy_(%28, %x.1, %10) # <string>:3:14
#|   %33 : (Tensor, int) = prim::TupleConstruct(%x.1, %y.1)
#|   return (%33)
# test: graph
def f(x):
  return x[torch.tensor([1, 2])], x[1:2][0], x[0][1:]
#| graph(%x.1 : Tensor):
#|   %17 : bool = prim::Constant[value=0]()
#|   %15 : NoneType = prim::Constant()
#|   %2 : int = prim::Constant[value=1]() # <string>:2:25
#|   %3 : int = prim::Constant[value=2]() # <string>:2:28
#|   %25 : int = prim::Constant[value=0]() # <string>:2:41
#|   %14 : int[] = prim::ListConstruct(%2, %3)
#|   %18 : Tensor = aten::tensor(%14, %15, %15, %17) # <string>:2:11
#|   %19 : Tensor?[] = prim::ListConstruct(%18)
#|   %20 : Tensor = aten::index(%x.1, %19) # <string>:2:9
#|   %24 : Tensor = aten::slice(%x.1, %25, %2, %3, %2) # <string>:2:34
#|   %27 : Tensor = aten::select(%24, %25, %25) # <string>:2:34
#|   %30 : Tensor = aten::select(%x.1, %25, %25) # <string>:2:45
#|   %34 : Tensor = aten::slice(%30, %25, %2, %15, %2) # <string>:2:45
#|   %35 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%20, %27, %34)
#|   return (%35)
