# test: graph
def f(x, y: int):
  a = x
  b = y
  return a
#| graph(%x.1 : Tensor,
#|       %y.1 : int):
#|   return (%x.1)
# test: graph
def f(x, y: int):
  if y > 1:
    z = x
    a = 1
  else:
    a = 2
    z = x + 1
  return z, a
#| graph(%x.1 : Tensor,
#|       %y.1 : int):
#|   %3 : int = prim::Constant[value=1]() # <string>:2:9
#|   %7 : int = prim::Constant[value=2]() # <string>:6:8
#|   %4 : bool = aten::gt(%y.1, %3) # <string>:2:5
#|   %z : Tensor, %a : int = prim::If(%4) # <string>:2:2
#|     block0():
#|       -> (%x.1, %3)
#|     block1():
#|       %z.1 : Tensor = aten::add(%x.1, %3, %3) # <string>:7:8
#|       -> (%z.1, %7)
#|   %21 : (Tensor, int) = prim::TupleConstruct(%z, %a)
#|   return (%21)
# test: graph
def f(x: int):
  if x > 1:
    y = 1
  elif x > 2:
    y = 2
  else:
    return 1
  z = y
  return z
#| graph(%x.1 : int):
#|   %2 : int = prim::Constant[value=1]() # <string>:2:9
#|   %6 : int = prim::Constant[value=2]() # <string>:4:11
#|   %29 : bool = prim::Constant[value=0]()
#|   %28 : bool = prim::Constant[value=1]()
#|   %31 : int = prim::Uninitialized()
#|   %3 : bool = aten::gt(%x.1, %2) # <string>:2:5
#|   %34 : bool, %35 : int, %y : int = prim::If(%3) # <string>:2:2
#|     block0():
#|       -> (%29, %31, %2)
#|     block1():
#|       %7 : bool = aten::gt(%x.1, %6) # <string>:4:7
#|       %32 : bool, %33 : int, %y.13 : int = prim::If(%7) # <string>:4:7
#|         block0():
#|           -> (%29, %31, %6)
#|         block1():
#|           -> (%28, %2, %31)
#|       -> (%32, %33, %y.13)
#|   %37 : int = prim::If(%34)
#|     block0():
#|       -> (%35)
#|     block1():
#|       -> (%y)
#|   return (%37)
# test: graph
def f(x, y: int):
  b = y
  a = x
  c = 1
  for i in range(y):
    c = c + i
    a = a + c
    b = b * 2
  return a, b, c
#| graph(%x.1 : Tensor,
#|       %y.1 : int):
#|   %8 : bool = prim::Constant[value=1]() # <string>:5:2
#|   %c.1 : int = prim::Constant[value=1]() # <string>:4:6
#|   %20 : int = prim::Constant[value=2]() # <string>:8:12
#|   %a : Tensor, %b : int, %c : int = prim::Loop(%y.1, %8, %x.1, %y.1, %c.1) # <string>:5:2
#|     block0(%i.1 : int, %a.9 : Tensor, %b.9 : int, %c.13 : int):
#|       %c.5 : int = aten::add(%c.13, %i.1) # <string>:6:8
#|       %a.3 : Tensor = aten::add(%a.9, %c.5, %c.1) # <string>:7:8
#|       %b.3 : int = aten::mul(%b.9, %20) # <string>:8:8
#|       -> (%8, %a.3, %b.3, %c.5)
#|   %26 : (Tensor, int, int) = prim::TupleConstruct(%a, %b, %c)
#|   return (%26)
# test: graph
def f(x):
  while True:
    x = x + 1
    if bool(x.sum() > 3):
      break
  return x
#| graph(%x.1 : Tensor):
#|   %11 : NoneType = prim::Constant()
#|   %26 : bool = prim::Constant[value=1]() # <string>:2:8
#|   %1 : int = prim::Constant[value=9223372036854775807]() # <string>:2:2
#|   %6 : int = prim::Constant[value=1]() # <string>:3:12
#|   %13 : int = prim::Constant[value=3]() # <string>:4:22
#|   %24 : bool = prim::Constant[value=0]()
#|   %x : Tensor = prim::Loop(%1, %26, %x.1) # <string>:2:2
#|     block0(%4 : int, %x.13 : Tensor):
#|       %x.5 : Tensor = aten::add(%x.13, %6, %6) # <string>:3:8
#|       %12 : Tensor = aten::sum(%x.5, %11) # <string>:4:12
#|       %14 : Tensor = aten::gt(%12, %13) # <string>:4:12
#|       %16 : bool = aten::Bool(%14) # <string>:4:7
#|       %53 : bool = prim::If(%16) # <string>:4:4
#|         block0():
#|           -> (%24)
#|         block1():
#|           -> (%26)
#|       -> (%53, %x.5)
#|   return (%x)
# test: graph
def f(n: int):
  s = 0
  for i in range(n):
    if i > 3:
      continue
    s = s + i
    if s > 10:
      return s
  return s
#| graph(%n.1 : int):
#|   %77 : int = prim::Constant[value=9223372036854775807]()
#|   %75 : int = prim::Constant[value=1]()
#|   %s.1 : int = prim::Constant[value=0]() # <string>:2:6
#|   %8 : int = prim::Constant[value=3]() # <string>:4:11
#|   %16 : int = prim::Constant[value=10]() # <string>:7:11
#|   %43 : bool = prim::Constant[value=0]()
#|   %42 : bool = prim::Constant[value=1]()
#|   %45 : int = prim::Uninitialized()
#|   %31 : int = prim::Uninitialized()
#|   %30 : bool = prim::Uninitialized()
#|   %76 : bool = aten::gt(%n.1, %s.1)
#|   %56 : bool, %57 : int, %s : int, %78 : int = prim::Loop(%77, %76, %43, %45, %s.1, %s.1) # <string>:3:2
#|     block0(%6 : int, %55 : bool, %58 : int, %s.15 : int, %79 : int):
#|       %9 : bool = aten::gt(%79, %8) # <string>:4:7
#|       %71 : bool, %72 : int, %68 : bool, %69 : bool, %70 : int, %66 : bool, %67 : int = prim::If(%9) # <string>:4:4
#|         block0():
#|           -> (%43, %45, %42, %42, %s.15, %30, %31)
#|         block1():
#|           %s.17 : int = aten::add(%s.15, %79) # <string>:6:8
#|           %62 : bool = aten::gt(%s.17, %16) # <string>:7:7
#|           %64 : bool, %65 : int = prim::If(%62) # <string>:7:4
#|             block0():
#|               -> (%42, %s.17)
#|             block1():
#|               -> (%43, %45)
#|           -> (%64, %65, %43, %30, %31, %42, %s.17)
#|       %73 : bool, %52 : bool, %53 : int, %51 : int = prim::If(%71)
#|         block0():
#|           -> (%43, %42, %72, %45)
#|         block1():
#|           %40 : bool, %41 : int = prim::If(%68)
#|             block0():
#|               -> (%69, %70)
#|             block1():
#|               -> (%66, %67)
#|           -> (%40, %43, %45, %41)
#|       %80 : int = aten::add(%79, %75)
#|       %81 : bool = aten::lt(%80, %n.1)
#|       %82 : bool = aten::__and__(%81, %73)
#|       -> (%82, %52, %53, %51, %80)
#|   %60 : int = prim::If(%56)
#|     block0():
#|       -> (%57)
#|     block1():
#|       -> (%s)
#|   return (%60)
# test: graph
def f(n: int):
  s = 0
  for i in range(1, n, 2):
    for j in range(i):
      if j == 2:
        break
      s += j
  return s
#| graph(%n.1 : int):
#|   %62 : int = prim::Constant[value=9223372036854775807]()
#|   %6 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %s.1 : int = prim::Constant[value=0]() # <string>:2:6
#|   %2 : int = prim::Constant[value=1]() # <string>:3:17
#|   %4 : int = prim::Constant[value=2]() # <string>:3:23
#|   %31 : bool = prim::Constant[value=0]()
#|   %5 : int = aten::__range_length(%2, %n.1, %4) # <string>:3:2
#|   %s : int = prim::Loop(%5, %6, %s.1) # <string>:3:2
#|     block0(%7 : int, %s.15 : int):
#|       %i.1 : int = aten::__derive_index(%7, %2, %4) # <string>:3:2
#|       %61 : bool = aten::gt(%i.1, %s.1)
#|       %s.13 : int, %63 : int = prim::Loop(%62, %61, %s.15, %s.1) # <string>:4:4
#|         block0(%13 : int, %s.11 : int, %64 : int):
#|           %15 : bool = aten::eq(%64, %4) # <string>:5:9
#|           %57 : bool, %58 : int = prim::If(%15) # <string>:5:6
#|             block0():
#|               -> (%31, %s.11)
#|             block1():
#|               %s.17 : int = aten::add(%s.11, %64) # <string>:7:6
#|               -> (%6, %s.17)
#|           %65 : int = aten::add(%64, %2)
#|           %66 : bool = aten::lt(%65, %i.1)
#|           %67 : bool = aten::__and__(%66, %57)
#|           -> (%67, %58, %65)
#|       -> (%6, %s.13)
#|   return (%s)
# test: graph
def f(x: Optional[int]):
  if x is None:
    return 1
  return x + 1
#| graph(%x.1 : int?):
#|   %2 : NoneType = prim::Constant() # <string>:2:10
#|   %4 : int = prim::Constant[value=1]() # <string>:3:11
#|   %3 : bool = aten::__is__(%x.1, %2) # <string>:2:5
#|   %32 : int = prim::If(%3) # <string>:2:2
#|     block0():
#|       -> (%4)
#|     block1():
#|       %x.7 : int = prim::unchecked_cast(%x.1)
#|       %30 : int = aten::add(%x.7, %4) # <string>:4:9
#|       -> (%30)
#|   return (%32)
# test: graph
def f(x: Optional[int]):
  if x is not None and x > 3:
    return x
  return 1
#| graph(%x.1 : int?):
#|   %11 : bool = prim::Constant[value=0]() # <string>:2:5
#|   %2 : NoneType = prim::Constant() # <string>:2:14
#|   %8 : int = prim::Constant[value=3]() # <string>:2:27
#|   %21 : int = prim::Constant[value=1]() # <string>:4:9
#|   %3 : bool = aten::__isnot__(%x.1, %2) # <string>:2:5
#|   %12 : bool, %x.27 : int? = prim::If(%3) # <string>:2:5
#|     block0():
#|       %x.7 : int = prim::unchecked_cast(%x.1)
#|       %9 : bool = aten::gt(%x.7, %8) # <string>:2:23
#|       -> (%9, %x.7)
#|     block1():
#|       -> (%11, %x.1)
#|   %43 : int = prim::If(%12) # <string>:2:2
#|     block0():
#|       %x.15 : int = prim::unchecked_cast(%x.27)
#|       -> (%x.15)
#|     block1():
#|       -> (%21)
#|   return (%43)
# test: graph
def f(x: Optional[int], y: Optional[int]):
  if x is None or y is None:
    return 0
  else:
    return x + y
#| graph(%x.1 : int?,
#|       %y.1 : int?):
#|   %5 : bool = prim::Constant[value=1]() # <string>:2:5
#|   %3 : NoneType = prim::Constant() # <string>:2:10
#|   %13 : int = prim::Constant[value=0]() # <string>:3:11
#|   %4 : bool = aten::__is__(%x.1, %3) # <string>:2:5
#|   %12 : bool, %x.21 : int? = prim::If(%4) # <string>:2:5
#|     block0():
#|       -> (%5, %x.1)
#|     block1():
#|       %x.7 : int = prim::unchecked_cast(%x.1)
#|       %11 : bool = aten::__is__(%y.1, %3) # <string>:2:18
#|       -> (%11, %x.7)
#|   %42 : int = prim::If(%12) # <string>:2:2
#|     block0():
#|       -> (%13)
#|     block1():
#|       %x.13 : int = prim::unchecked_cast(%x.21)
#|       %y.7 : int = prim::unchecked_cast(%y.1)
#|       %22 : int = aten::add(%x.13, %y.7) # <string>:5:11
#|       -> (%22)
#|   return (%42)
# test: graph
def f(x: Optional[int]):
  assert x is not None
  return x + 1
#| graph(%x.1 : int?):
#|   %32 : str = prim::Constant[value="AssertionError: "]()
#|   %2 : NoneType = prim::Constant() # <string>:2:18
#|   %17 : int = prim::Constant[value=1]() # <string>:3:13
#|   %27 : int = prim::Uninitialized()
#|   %3 : bool = aten::__isnot__(%x.1, %2) # <string>:2:9
#|   %x : int = prim::If(%3) # <string>:2:2
#|     block0():
#|       %x.7 : int = prim::unchecked_cast(%x.1)
#|       -> (%x.7)
#|     block1():
#|        = prim::RaiseException(%32, %2) # <string>:2:2
#|       -> (%27)
#|   %18 : int = aten::add(%x, %17) # <string>:3:9
#|   return (%18)
# test: graph
def f(x: int):
  assert x > 1, "too small"
  return x
#| graph(%x.1 : int):
#|   %8 : NoneType = prim::Constant()
#|   %20 : str = prim::Constant[value="AssertionError: too small"]()
#|   %2 : int = prim::Constant[value=1]() # <string>:2:13
#|   %3 : bool = aten::gt(%x.1, %2) # <string>:2:9
#|    = prim::If(%3) # <string>:2:2
#|     block0():
#|       -> ()
#|     block1():
#|        = prim::RaiseException(%20, %8) # <string>:2:2
#|       -> ()
#|   return (%x.1)
# test: graph
def f(x: int):
  assert x > 1
  assert x < 5, x
  return x
#| graph(%x.1 : int):
#|   %8 : NoneType = prim::Constant()
#|   %30 : str = prim::Constant[value="AssertionError: "]()
#|   %2 : int = prim::Constant[value=1]() # <string>:2:13
#|   %11 : int = prim::Constant[value=5]() # <string>:3:13
#|   %3 : bool = aten::gt(%x.1, %2) # <string>:2:9
#|    = prim::If(%3) # <string>:2:2
#|     block0():
#|       -> ()
#|     block1():
#|        = prim::RaiseException(%30, %8) # <string>:2:2
#|       -> ()
#|   %12 : bool = aten::lt(%x.1, %11) # <string>:3:9
#|    = prim::If(%12) # <string>:3:2
#|     block0():
#|       -> ()
#|     block1():
#|       %16 : str = aten::str(%x.1) # <string>:3:2
#|       %17 : str = aten::add(%30, %16) # <string>:3:2
#|        = prim::RaiseException(%17, %8) # <string>:3:2
#|       -> ()
#|   return (%x.1)
# test: graph
def f(x: int):
  pass
#| graph(%x : int):
#|   %1 : NoneType = prim::Constant() # <string>:1:4
#|   return (%1)
# test: graph
def f(x: int):
  return
#| graph(%x : int):
#|   %1 : NoneType = prim::Constant() # <string>:2:2
#|   return (%1)
# test: graph
def f(x: int) -> None:
  print(x, "a")
#| graph(%x.1 : int):
#|   %3 : NoneType = prim::Constant() # <string>:1:4
#|   %2 : str = prim::Constant[value="a"]() # <string>:2:11
#|    = prim::Print(%x.1, %2) # <string>:2:2
#|   return (%3)
# test: graph
def f(d: Dict[str, int], l: List[int], k: int):
  del d['a']
  del l[0]
  del k
  return d
#| graph(%d.1 : Dict(str, int),
#|       %l.1 : int[],
#|       %k : int):
#|   %4 : str = prim::Constant[value="a"]() # <string>:2:8
#|   %6 : int = prim::Constant[value=0]() # <string>:3:8
#|    = aten::Delete(%d.1, %4) # <string>:2:6
#|    = aten::Delete(%l.1, %6) # <string>:3:6
#|   return (%d.1)
# test: graph
def f(x: int):
  a = b = x
  a += 1
  return a, b
#| graph(%x.1 : int):
#|   %5 : int = prim::Constant[value=1]() # <string>:3:7
#|   %a.5 : int = aten::add(%x.1, %5) # <string>:3:2
#|   %9 : (int, int) = prim::TupleConstruct(%a.5, %x.1)
#|   return (%9)
# test: graph
def f(x, y: Tuple[int, Tuple[str, float]]):
  a, (b, c) = y
  d, e = 1, 2
  d, e = e, d
  return a, b, c, d, e
#| graph(%x : Tensor,
#|       %y.1 : (int, (str, float))):
#|   %d.1 : int = prim::Constant[value=1]() # <string>:3:9
#|   %e.1 : int = prim::Constant[value=2]() # <string>:3:12
#|   %a.1 : int, %4 : (str, float) = prim::TupleUnpack(%y.1)
#|   %b.1 : str, %c.1 : float = prim::TupleUnpack(%4)
#|   %18 : (int, str, float, int, int) = prim::TupleConstruct(%a.1, %b.1, %c.1, %e.1, %d.1)
#|   return (%18)
# test: graph
def f(l: List[int]):
  a, *b, c = (1, 2, 3, 4)
  e, g = l
  return e, b, a, c
#| graph(%l.1 : int[]):
#|   %24 : (int, int) = prim::Constant[value=(2, 3)]()
#|   %a.1 : int = prim::Constant[value=1]() # <string>:2:14
#|   %c.1 : int = prim::Constant[value=4]() # <string>:2:23
#|   %e.1 : int, %g : int = prim::ListUnpack(%l.1)
#|   %14 : (int, (int, int), int, int) = prim::TupleConstruct(%e.1, %24, %a.1, %c.1)
#|   return (%14)
# test: graph
def f(x):
  a: Optional[int] = None
  b: List[int] = []
  c: Dict[str, int] = {}
  d: Tuple[int, float] = (1, 2.0)
  e: float = 1.5
  return a, b, c, d, e
#| graph(%x : Tensor):
#|   %23 : (int, float) = prim::Constant[value=(1, 2.)]()
#|   %a.1 : NoneType = prim::Constant() # <string>:2:21
#|   %e.1 : float = prim::Constant[value=1.5]() # <string>:6:13
#|   %b.1 : int[] = prim::ListConstruct()
#|   %c.1 : Dict(str, int) = prim::DictConstruct()
#|   %13 : (int?, int[], Dict(str, int), (int, float), float) = prim::TupleConstruct(%a.1, %b.1, %c.1, %23, %e.1)
#|   return (%13)
# test: graph
def f(x: int) -> Any:
  y: Any = 1
  if x > 1:
    return y
  return "a"
#| graph(%x.1 : int):
#|   %22 : str = prim::Constant[value="a"]() # <string>:5:9
#|   %y.1 : int = prim::Constant[value=1]() # <string>:2:11
#|   %3 : bool = aten::gt(%x.1, %y.1) # <string>:3:5
#|   %25 : Any = prim::If(%3) # <string>:3:2
#|     block0():
#|       -> (%y.1)
#|     block1():
#|       %23 : Any = prim::unchecked_cast(%22)
#|       -> (%23)
#|   return (%25)
# test: graph
def f(l: List[int], d: Dict[str, int], s: str, x, t: Tuple[int, str]):
  r = 0
  for i in l:
    r += i
  for k in d:
    r += len(k)
  for c in s:
    r += ord(c)
  for row in x:
    r += int(row)
  for u in t:
    print(u)
  return r
#| graph(%l.1 : int[],
#|       %d.1 : Dict(str, int),
#|       %s.1 : str,
#|       %x.1 : Tensor,
#|       %t.1 : (int, str)):
#|   %8 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %r.1 : int = prim::Constant[value=0]() # <string>:2:6
#|   %7 : int = aten::len(%l.1) # <string>:3:2
#|   %r.31 : int = prim::Loop(%7, %8, %r.1) # <string>:3:2
#|     block0(%9 : int, %r.29 : int):
#|       %i.1 : int = aten::__getitem__(%l.1, %9) # <string>:3:2
#|       %r.5 : int = aten::add(%r.29, %i.1) # <string>:4:4
#|       -> (%8, %r.5)
#|   %16 : str[] = aten::keys(%d.1) # <string>:5:2
#|   %17 : int = aten::len(%16) # <string>:5:2
#|   %r.35 : int = prim::Loop(%17, %8, %r.31) # <string>:5:2
#|     block0(%19 : int, %r.33 : int):
#|       %k.1 : str = aten::__getitem__(%16, %19) # <string>:5:2
#|       %23 : int = aten::len(%k.1) # <string>:6:9
#|       %r.11 : int = aten::add(%r.33, %23) # <string>:6:4
#|       -> (%8, %r.11)
#|   %27 : int = aten::len(%s.1) # <string>:7:2
#|   %r.39 : int = prim::Loop(%27, %8, %r.35) # <string>:7:2
#|     block0(%29 : int, %r.37 : int):
#|       %c.1 : str = aten::__getitem__(%s.1, %29) # <string>:7:2
#|       %33 : int = aten::ord(%c.1) # <string>:8:9
#|       %r.17 : int = aten::add(%r.37, %33) # <string>:8:4
#|       -> (%8, %r.17)
#|   %37 : int = aten::len(%x.1) # <string>:9:2
#|   %r : int = prim::Loop(%37, %8, %r.39) # <string>:9:2
#|     block0(%39 : int, %r.41 : int):
#|       %row.1 : Tensor = aten::select(%x.1, %r.1, %39) # <string>:9:2
#|       %45 : int = aten::Int(%row.1) # <string>:10:9
#|       %r.23 : int = aten::add(%r.41, %45) # <string>:10:4
#|       -> (%8, %r.23)
#|   %u.1 : int, %u.5 : str = prim::TupleUnpack(%t.1)
#|    = prim::Print(%u.1) # <string>:12:4
#|    = prim::Print(%u.5) # <string>:12:4
#|   return (%r)
# test: graph
def f(l: List[int], m: List[str]):
  r = 0
  for i, v in enumerate(l):
    r += i * v
  for a, b in zip(l, m):
    r += a + len(b)
  for i, (a, b) in enumerate(zip(l, m), 1):
    r += i
  return r
#| graph(%l.1 : int[],
#|       %m.1 : str[]):
#|   %80 : int = prim::Constant[value=9223372036854775806]()
#|   %10 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %r.1 : int = prim::Constant[value=0]() # <string>:2:6
#|   %3 : int = prim::Constant[value=9223372036854775807]() # <string>:3:14
#|   %38 : int = prim::Constant[value=1]() # <string>:7:40
#|   %7 : int = aten::len(%l.1) # <string>:3:2
#|   %8 : int[] = prim::ListConstruct(%3, %7)
#|   %9 : int = prim::min(%8) # <string>:3:2
#|   %r.25 : int = prim::Loop(%9, %10, %r.1) # <string>:3:2
#|     block0(%i.1 : int, %r.23 : int):
#|       %v.1 : int = aten::__getitem__(%l.1, %i.1) # <string>:3:2
#|       %17 : int = aten::mul(%i.1, %v.1) # <string>:4:9
#|       %r.5 : int = aten::add(%r.23, %17) # <string>:4:4
#|       -> (%10, %r.5)
#|   %22 : int = aten::len(%l.1) # <string>:5:2
#|   %23 : int = aten::len(%m.1) # <string>:5:2
#|   %24 : int[] = prim::ListConstruct(%22, %23)
#|   %25 : int = prim::min(%24) # <string>:5:2
#|   %r.29 : int = prim::Loop(%25, %10, %r.25) # <string>:5:2
#|     block0(%27 : int, %r.27 : int):
#|       %a.1 : int = aten::__getitem__(%l.1, %27) # <string>:5:2
#|       %b.1 : str = aten::__getitem__(%m.1, %27) # <string>:5:2
#|       %34 : int = aten::len(%b.1) # <string>:6:13
#|       %35 : int = aten::add(%a.1, %34) # <string>:6:9
#|       %r.11 : int = aten::add(%r.27, %35) # <string>:6:4
#|       -> (%10, %r.11)
#|   %43 : int = aten::len(%l.1) # <string>:7:2
#|   %44 : int = aten::len(%m.1) # <string>:7:2
#|   %45 : int[] = prim::ListConstruct(%80, %43, %44)
#|   %46 : int = prim::min(%45) # <string>:7:2
#|   %r : int = prim::Loop(%46, %10, %r.29) # <string>:7:2
#|     block0(%48 : int, %r.31 : int):
#|       %i.5 : int = aten::__derive_index(%48, %38, %38) # <string>:7:2
#|       %r.17 : int = aten::add(%r.31, %i.5) # <string>:8:4
#|       -> (%10, %r.17)
#|   return (%r)
# test: graph
def f(d: Dict[str, int]):
  r = 0
  for k, v in d.items():
    r += v
  for v in d.values():
    r += v
  return r
#| graph(%d.1 : Dict(str, int)):
#|   %5 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %r.1 : int = prim::Constant[value=0]() # <string>:2:6
#|   %3 : (str, int)[] = aten::items(%d.1) # <string>:3:14
#|   %4 : int = aten::len(%3) # <string>:3:2
#|   %r.19 : int = prim::Loop(%4, %5, %r.1) # <string>:3:2
#|     block0(%6 : int, %r.17 : int):
#|       %7 : (str, int) = aten::__getitem__(%3, %6) # <string>:3:2
#|       %k : str, %v.1 : int = prim::TupleUnpack(%7)
#|       %r.5 : int = aten::add(%r.17, %v.1) # <string>:4:4
#|       -> (%5, %r.5)
#|   %15 : int[] = aten::values(%d.1) # <string>:5:11
#|   %16 : int = aten::len(%15) # <string>:5:2
#|   %r : int = prim::Loop(%16, %5, %r.19) # <string>:5:2
#|     block0(%18 : int, %r.21 : int):
#|       %v.5 : int = aten::__getitem__(%15, %18) # <string>:5:2
#|       %r.11 : int = aten::add(%r.21, %v.5) # <string>:6:4
#|       -> (%5, %r.11)
#|   return (%r)
# test: graph
def f(x: int):
  while x > 0 and x != 5:
    x -= 1
  return x
#| graph(%x.1 : int):
#|   %32 : bool = prim::Constant[value=0]() # <string>:2:8
#|   %1 : int = prim::Constant[value=9223372036854775807]() # <string>:2:2
#|   %3 : int = prim::Constant[value=0]() # <string>:2:12
#|   %7 : int = prim::Constant[value=5]() # <string>:2:23
#|   %15 : int = prim::Constant[value=1]() # <string>:3:9
#|   %26 : bool = aten::gt(%x.1, %3) # <string>:2:8
#|   %28 : bool = prim::If(%26) # <string>:2:8
#|     block0():
#|       %30 : bool = aten::ne(%x.1, %7) # <string>:2:18
#|       -> (%30)
#|     block1():
#|       -> (%32)
#|   %x : int = prim::Loop(%1, %28, %x.1) # <string>:2:2
#|     block0(%13 : int, %x.15 : int):
#|       %x.9 : int = aten::sub(%x.15, %15) # <string>:3:4
#|       %4 : bool = aten::gt(%x.9, %3) # <string>:2:8
#|       %11 : bool = prim::If(%4) # <string>:2:8
#|         block0():
#|           %8 : bool = aten::ne(%x.9, %7) # <string>:2:18
#|           -> (%8)
#|         block1():
#|           -> (%32)
#|       -> (%11, %x.9)
#|   return (%x)
# test: graph
def f(x: int):
  i = 0
  while i < x:
    j = 0
    while j < i:
      j += 1
      if j == 3:
        continue
      if j == 4:
        break
    i += 1
  return i
#| graph(%x.1 : int):
#|   %i.1 : int = prim::Constant[value=0]() # <string>:2:6
#|   %2 : int = prim::Constant[value=9223372036854775807]() # <string>:3:2
#|   %14 : int = prim::Constant[value=1]() # <string>:6:11
#|   %18 : int = prim::Constant[value=3]() # <string>:7:14
#|   %22 : int = prim::Constant[value=4]() # <string>:9:14
#|   %54 : bool = prim::Constant[value=0]()
#|   %53 : bool = prim::Constant[value=1]()
#|   %56 : int = prim::Uninitialized()
#|   %55 : bool = prim::Uninitialized()
#|   %51 : bool = aten::lt(%i.1, %x.1) # <string>:3:8
#|   %i : int = prim::Loop(%2, %51, %i.1) # <string>:3:2
#|     block0(%7 : int, %i.15 : int):
#|       %47 : bool = aten::lt(%i.1, %i.15) # <string>:5:10
#|       %j : int = prim::Loop(%2, %47, %i.1) # <string>:5:4
#|         block0(%12 : int, %j.13 : int):
#|           %j.5 : int = aten::add(%j.13, %14) # <string>:6:6
#|           %19 : bool = aten::eq(%j.5, %18) # <string>:7:9
#|           %93 : bool, %94 : bool, %95 : int, %91 : bool, %92 : int = prim::If(%19) # <string>:7:6
#|             block0():
#|               %41 : bool = aten::lt(%j.5, %i.15) # <string>:5:10
#|               -> (%53, %41, %j.5, %55, %56)
#|             block1():
#|               %79 : bool = aten::eq(%j.5, %22) # <string>:9:9
#|               %100 : bool, %101 : bool, %102 : int, %98 : bool, %99 : int = prim::If(%79) # <string>:9:6
#|                 block0():
#|                   -> (%53, %54, %j.5, %55, %56)
#|                 block1():
#|                   %96 : bool = aten::lt(%j.5, %i.15) # <string>:5:10
#|                   -> (%54, %55, %56, %96, %j.5)
#|               -> (%100, %101, %102, %98, %99)
#|           %73 : bool, %74 : int = prim::If(%93)
#|             block0():
#|               -> (%94, %95)
#|             block1():
#|               -> (%91, %92)
#|           -> (%73, %74)
#|       %i.9 : int = aten::add(%i.15, %14) # <string>:11:4
#|       %5 : bool = aten::lt(%i.9, %x.1) # <string>:3:8
#|       -> (%5, %i.9)
#|   return (%i)
# test: graph
def f(x: bool, y: int):
  if x:
    z = y
  else:
    z = 2
    if y > 3:
      z = 4
  return z
#| graph(%x.1 : bool,
#|       %y.1 : int):
#|   %5 : int = prim::Constant[value=2]() # <string>:5:8
#|   %7 : int = prim::Constant[value=3]() # <string>:6:11
#|   %10 : int = prim::Constant[value=4]() # <string>:7:10
#|   %z : int = prim::If(%x.1) # <string>:2:2
#|     block0():
#|       -> (%y.1)
#|     block1():
#|       %8 : bool = aten::gt(%y.1, %7) # <string>:6:7
#|       %z.21 : int = prim::If(%8) # <string>:6:4
#|         block0():
#|           -> (%10)
#|         block1():
#|           -> (%5)
#|       -> (%z.21)
#|   return (%z)
# test: graph
def f(x: bool):
  if x:
    y = torch.ones([2])
  else:
    y = torch.zeros([2])
  y += 1
  return y
#| graph(%x.1 : bool):
#|   %5 : NoneType = prim::Constant()
#|   %3 : int = prim::Constant[value=2]() # <string>:3:20
#|   %21 : int = prim::Constant[value=1]() # <string>:6:7
#|   %y : Tensor = prim::If(%x.1) # <string>:2:2
#|     block0():
#|       %4 : int[] = prim::ListConstruct(%3)
#|       %y.1 : Tensor = aten::ones(%4, %5, %5, %5, %5) # <string>:3:8
#|       -> (%y.1)
#|     block1():
#|       %10 : int[] = prim::ListConstruct(%3)
#|       %y.3 : Tensor = aten::zeros(%10, %5, %5, %5, %5) # <string>:5:8
#|       -> (%y.3)
#|   %y.15 : Tensor = aten::add_(%y, %21, %21) # <string>:6:2
#|   return (%y.15)
# test: graph
def f(x):
  if True:
    y = 1
  else:
    y = "a"
  if False:
    z = 1
  else:
    z = "a"
  return y, z
#| graph(%x : Tensor):
#|   %19 : (int, str) = prim::Constant[value=(1, "a")]()
#|   return (%19)
# test: graph
def f(x: Union[int, str]):
  if isinstance(x, int):
    return x + 1
  else:
    return len(x)
#| graph(%x.1 : Union(int, str)):
#|   %7 : int = prim::Constant[value=1]() # <string>:3:15
#|   %2 : bool = prim::isinstance[types=[int]](%x.1)
#|   %27 : int = prim::If(%2) # <string>:2:2
#|     block0():
#|       %x.7 : int = prim::unchecked_cast(%x.1)
#|       %8 : int = aten::add(%x.7, %7) # <string>:3:11
#|       -> (%8)
#|     block1():
#|       %x.15 : str = prim::unchecked_cast(%x.1)
#|       %13 : int = aten::len(%x.15) # <string>:5:11
#|       -> (%13)
#|   return (%27)
# test: graph
def f(x: Any):
  if isinstance(x, (int, str)):
    return 2
  return 1
#| graph(%x.1 : Any):
#|   %6 : int = prim::Constant[value=2]() # <string>:3:11
#|   %15 : int = prim::Constant[value=1]() # <string>:4:9
#|   %2 : bool = prim::isinstance[types=[int, str]](%x.1)
#|   %34 : int = prim::If(%2) # <string>:2:2
#|     block0():
#|       -> (%6)
#|     block1():
#|       -> (%15)
#|   return (%34)
# test: graph
def f(x: Any):
  if isinstance(x, int):
    return x + 1
  elif isinstance(x, List[int]):
    return x[0]
  return 1
#| graph(%x.1 : Any):
#|   %7 : int = prim::Constant[value=1]() # <string>:3:15
#|   %18 : int = prim::Constant[value=0]() # <string>:5:13
#|   %45 : bool = prim::Constant[value=0]()
#|   %44 : bool = prim::Constant[value=1]()
#|   %48 : int = prim::Uninitialized()
#|   %2 : bool = prim::isinstance[types=[int]](%x.1)
#|   %51 : bool, %52 : int = prim::If(%2) # <string>:2:2
#|     block0():
#|       %x.7 : int = prim::unchecked_cast(%x.1)
#|       %8 : int = aten::add(%x.7, %7) # <string>:3:11
#|       -> (%44, %8)
#|     block1():
#|       %x.15 : Any = prim::unchecked_cast(%x.1)
#|       %13 : bool = prim::isinstance[types=[int[]]](%x.15)
#|       %49 : bool, %50 : int = prim::If(%13) # <string>:4:7
#|         block0():
#|           %x.23 : int[] = prim::unchecked_cast(%x.15)
#|           %19 : int = aten::__getitem__(%x.23, %18) # <string>:5:11
#|           -> (%44, %19)
#|         block1():
#|           -> (%45, %48)
#|       -> (%49, %50)
#|   %54 : int = prim::If(%51)
#|     block0():
#|       -> (%52)
#|     block1():
#|       -> (%7)
#|   return (%54)
# test: graph
def f(x: int, y: List[int]):
  return isinstance(x, int), isinstance(y, str), isinstance(y, list), isinstance(x, (float, str))
#| graph(%x.1 : int,
#|       %y.1 : int[]):
#|   %20 : (bool, bool, bool, bool) = prim::Constant[value=(True, False, True, False)]()
#|   return (%20)
# test: graph
def f(x: int):
  y: Optional[int] = None
  if x > 1:
    y = x
  return y
#| graph(%x.1 : int):
#|   %y.1 : NoneType = prim::Constant() # <string>:2:21
#|   %3 : int = prim::Constant[value=1]() # <string>:3:9
#|   %4 : bool = aten::gt(%x.1, %3) # <string>:3:5
#|   %y : int? = prim::If(%4) # <string>:3:2
#|     block0():
#|       -> (%x.1)
#|     block1():
#|       -> (%y.1)
#|   return (%y)
# test: graph
def f(x: int) -> int:
  if x > 1:
    return 2
  else:
    return 3
#| graph(%x.1 : int):
#|   %2 : int = prim::Constant[value=1]() # <string>:2:9
#|   %5 : int = prim::Constant[value=2]() # <string>:3:11
#|   %6 : int = prim::Constant[value=3]() # <string>:5:11
#|   %3 : bool = aten::gt(%x.1, %2) # <string>:2:5
#|   %15 : int = prim::If(%3) # <string>:2:2
#|     block0():
#|       -> (%5)
#|     block1():
#|       -> (%6)
#|   return (%15)
# test: graph
def g(x: int):
  return x + 1
def f(x: int):
  return g(x) + g(x=2)
#| graph(%x.1 : int):
#|   %2 : int = prim::Constant[value=1]() # <string>:2:13
#|   %3 : int = aten::add(%x.1, %2) # <string>:2:9
#|   return (%3)
#| graph(%x.1 : int):
#|   %2 : Function = prim::Constant[name="g"]()
#|   %4 : int = prim::Constant[value=2]() # <string>:4:20
#|   %3 : int = prim::CallFunction(%2, %x.1) # <string>:4:9
#|   %6 : int = prim::CallFunction(%2, %4) # <string>:4:16
#|   %7 : int = aten::add(%3, %6) # <string>:4:9
#|   return (%7)
# test: graph
def f(x: int, y: str = 'a', z: List[int] = [1, 2], *, w: float = -1.5, v: Optional[int] = None):
  return x
def g(x: int):
  return f(x), f(2, w=1.0, z=[x]), f(2, 'b', [x], v=3)
#| graph(%x.1 : int,
#|       %y : str,
#|       %z : int[],
#|       %w : float,
#|       %v : int?):
#|   return (%x.1)
#| graph(%x.1 : int):
#|   %16 : str = prim::Constant[value="b"]() # <string>:4:40
#|   %6 : Function = prim::Constant[name="f"]()
#|   %5 : NoneType = prim::Constant()
#|   %4 : float = prim::Constant[value=-1.5]()
#|   %3 : int[] = prim::Constant[value=[1, 2]]()
#|   %2 : str = prim::Constant[value="a"]()
#|   %8 : int = prim::Constant[value=2]() # <string>:4:17
#|   %9 : float = prim::Constant[value=1.]() # <string>:4:22
#|   %19 : int = prim::Constant[value=3]() # <string>:4:52
#|   %7 : int = prim::CallFunction(%6, %x.1, %2, %3, %4, %5) # <string>:4:9
#|   %11 : int[] = prim::ListConstruct(%x.1)
#|   %15 : int = prim::CallFunction(%6, %8, %2, %11, %9, %5) # <string>:4:15
#|   %18 : int[] = prim::ListConstruct(%x.1)
#|   %22 : int = prim::CallFunction(%6, %8, %16, %18, %4, %19) # <string>:4:35
#|   %23 : (int, int, int) = prim::TupleConstruct(%7, %15, %22)
#|   return (%23)
# test: graph
def f(x: Optional[Tensor], n: int):
  y = torch.jit_none if False else n
  for i in range(n):
    if x is not None:
      n += x.size(0)
  return n
#| graph(%x.1 : Tensor?,
#|       %n.1 : int):
#|   %11 : NoneType = prim::Constant() # <string>:4:16
#|   %8 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %18 : int = prim::Constant[value=0]() # <string>:5:18
#|   %n : int, %x : Tensor? = prim::Loop(%n.1, %8, %n.1, %x.1) # <string>:3:2
#|     block0(%i : int, %n.25 : int, %x.23 : Tensor?):
#|       %12 : bool = aten::__isnot__(%x.23, %11) # <string>:4:7
#|       %n.23 : int, %x.21 : Tensor? = prim::If(%12) # <string>:4:4
#|         block0():
#|           %x.7 : Tensor = prim::unchecked_cast(%x.23)
#|           %19 : int = aten::size(%x.7, %18) # <string>:5:11
#|           %n.9 : int = aten::add(%n.25, %19) # <string>:5:6
#|           -> (%n.9, %x.7)
#|         block1():
#|           -> (%n.25, %x.23)
#|       -> (%8, %n.23, %x.21)
#|   return (%n)
# test: graph
def f(x, n: int):
  s = torch.zeros([1])
  for i in range(n):
    s = s + x[i]
  else_ = s
  return else_
#| graph(%x.1 : Tensor,
#|       %n.1 : int):
#|   %19 : int = prim::Constant[value=0]() # <string>:4:12
#|   %12 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %4 : NoneType = prim::Constant()
#|   %2 : int = prim::Constant[value=1]() # <string>:2:19
#|   %3 : int[] = prim::ListConstruct(%2)
#|   %s.1 : Tensor = aten::zeros(%3, %4, %4, %4, %4) # <string>:2:6
#|   %s : Tensor = prim::Loop(%n.1, %12, %s.1) # <string>:3:2
#|     block0(%i.1 : int, %s.11 : Tensor):
#|       %20 : Tensor = aten::select(%x.1, %19, %i.1) # <string>:4:12
#|       %s.5 : Tensor = aten::add(%s.11, %20, %2) # <string>:4:8
#|       -> (%12, %s.5)
#|   return (%s)
# test: graph
def f(x: int):
  _0 = x + 1
  _1 = _0 + 1
  _x = _1 + 1
  __a = _x + 2
  return __a
#| graph(%x.1 : int):
#|   %2 : int = prim::Constant[value=1]() # <string>:2:11
#|   %9 : int = prim::Constant[value=2]() # <string>:5:13
#|   %3 : int = aten::add(%x.1, %2) # <string>:2:7
#|   %5 : int = aten::add(%3, %2) # <string>:3:7
#|   %_x.1 : int = aten::add(%5, %2) # <string>:4:7
#|   %__a.1 : int = aten::add(%_x.1, %9) # <string>:5:8
#|   return (%__a.1)
# test: graph
def f(x: int):
  x = x + 1
  x = x + 2
  y = x
  x = y
  return x
#| graph(%x.1 : int):
#|   %2 : int = prim::Constant[value=1]() # <string>:2:10
#|   %5 : int = prim::Constant[value=2]() # <string>:3:10
#|   %x.5 : int = aten::add(%x.1, %2) # <string>:2:6
#|   %x.9 : int = aten::add(%x.5, %5) # <string>:3:6
#|   return (%x.9)
# test: graph
def f(x, b: bool):
  if b:
    raise_ = 1
    x = x + 1
  return x
#| graph(%x.1 : Tensor,
#|       %b.1 : bool):
#|   %4 : int = prim::Constant[value=1]() # <string>:3:13
#|   %x : Tensor = prim::If(%b.1) # <string>:2:2
#|     block0():
#|       %x.5 : Tensor = aten::add(%x.1, %4, %4) # <string>:4:8
#|       -> (%x.5)
#|     block1():
#|       -> (%x.1)
#|   return (%x)
# test: graph
def f(x):
  def inner():
    return x + 1
  return x
#| graph(%x.1 : Tensor):
#|   return (%x.1)
# test: graph
def f(x, n: int):
  r = [x]
  while n > 0:
    for t in r:
      if n == 3:
        return t
    n -= 1
  return x
#| graph(%x.1 : Tensor,
#|       %n.1 : int):
#|   %4 : int = prim::Constant[value=9223372036854775807]() # <string>:3:2
#|   %6 : int = prim::Constant[value=0]() # <string>:3:12
#|   %16 : int = prim::Constant[value=3]() # <string>:5:14
#|   %21 : int = prim::Constant[value=1]() # <string>:7:9
#|   %38 : bool = prim::Constant[value=0]()
#|   %37 : bool = prim::Constant[value=1]()
#|   %48 : int = prim::Uninitialized()
#|   %40 : Tensor = prim::Uninitialized()
#|   %r.1 : Tensor[] = prim::ListConstruct(%x.1)
#|   %32 : bool = aten::gt(%n.1, %6) # <string>:3:8
#|   %55 : bool, %56 : Tensor, %n : int = prim::Loop(%4, %32, %38, %40, %n.1) # <string>:3:2
#|     block0(%9 : int, %54 : bool, %57 : Tensor, %n.13 : int):
#|       %11 : int = aten::len(%r.1) # <string>:4:4
#|       %64 : bool = aten::gt(%11, %6)
#|       %45 : bool, %46 : Tensor, %66 : int = prim::Loop(%4, %64, %38, %40, %6) # <string>:4:4
#|         block0(%13 : int, %44 : bool, %47 : Tensor, %67 : int):
#|           %t.1 : Tensor = aten::__getitem__(%r.1, %67) # <string>:4:4
#|           %17 : bool = aten::eq(%n.13, %16) # <string>:5:9
#|           %60 : bool, %41 : bool, %42 : Tensor = prim::If(%17) # <string>:5:6
#|             block0():
#|               -> (%38, %37, %t.1)
#|             block1():
#|               -> (%37, %38, %40)
#|           %68 : int = aten::add(%67, %21)
#|           %69 : bool = aten::lt(%68, %11)
#|           %70 : bool = aten::__and__(%69, %60)
#|           -> (%70, %41, %42, %68)
#|       %61 : bool, %51 : bool, %52 : Tensor, %50 : int = prim::If(%45)
#|         block0():
#|           -> (%38, %37, %46, %48)
#|         block1():
#|           %n.9 : int = aten::sub(%n.13, %21) # <string>:7:4
#|           %7 : bool = aten::gt(%n.9, %6) # <string>:3:8
#|           -> (%7, %38, %40, %n.9)
#|       -> (%61, %51, %52, %50)
#|   %59 : Tensor = prim::If(%55)
#|     block0():
#|       -> (%56)
#|     block1():
#|       -> (%x.1)
#|   return (%59)
# test: graph
def f(x: Optional[Tensor], y: Optional[Tensor]):
  if x is not None:
    if y is not None:
      z = x + y
    else:
      z = x
  else:
    assert y is not None
    z = y
  return z
#| graph(%x.1 : Tensor?,
#|       %y.1 : Tensor?):
#|   %85 : str = prim::Constant[value="AssertionError: "]()
#|   %16 : int = prim::Constant[value=1]()
#|   %3 : NoneType = prim::Constant() # <string>:2:14
#|   %80 : Tensor = prim::Uninitialized()
#|   %4 : bool = aten::__isnot__(%x.1, %3) # <string>:2:5
#|   %z : Tensor = prim::If(%4) # <string>:2:2
#|     block0():
#|       %x.7 : Tensor = prim::unchecked_cast(%x.1)
#|       %10 : bool = aten::__isnot__(%y.1, %3) # <string>:3:7
#|       %z.21 : Tensor = prim::If(%10) # <string>:3:4
#|         block0():
#|           %y.7 : Tensor = prim::unchecked_cast(%y.1)
#|           %z.1 : Tensor = aten::add(%x.7, %y.7, %16) # <string>:4:10
#|           -> (%z.1)
#|         block1():
#|           -> (%x.7)
#|       -> (%z.21)
#|     block1():
#|       %29 : bool = aten::__isnot__(%y.1, %3) # <string>:8:11
#|       %y.49 : Tensor = prim::If(%29) # <string>:8:4
#|         block0():
#|           %y.25 : Tensor = prim::unchecked_cast(%y.1)
#|           -> (%y.25)
#|         block1():
#|            = prim::RaiseException(%85, %3) # <string>:8:4
#|           -> (%80)
#|       -> (%y.49)
#|   return (%z)
# test: graph
def f(x: Union[int, str, List[int]]):
  if isinstance(x, str):
    return 1
  if isinstance(x, int):
    return x
  return x[0]
#| graph(%x.1 : Union(int[], int, str)):
#|   %6 : int = prim::Constant[value=1]() # <string>:3:11
#|   %30 : int = prim::Constant[value=0]() # <string>:6:11
#|   %2 : bool = prim::isinstance[types=[str]](%x.1)
#|   %67 : int = prim::If(%2) # <string>:2:2
#|     block0():
#|       -> (%6)
#|     block1():
#|       %x.13 : Union(int[], int) = prim::unchecked_cast(%x.1)
#|       %57 : bool = prim::isinstance[types=[int]](%x.13)
#|       %70 : int = prim::If(%57) # <string>:4:2
#|         block0():
#|           %x.55 : int = prim::unchecked_cast(%x.13)
#|           -> (%x.55)
#|         block1():
#|           %x.59 : int[] = prim::unchecked_cast(%x.13)
#|           %68 : int = aten::__getitem__(%x.59, %30) # <string>:6:9
#|           -> (%68)
#|       -> (%70)
#|   return (%67)
# test: graph
def f(x: Optional[List[int]], n: int):
  l: List[int] = []
  if x is not None:
    l = x
  for i in l:
    n += i
  return n
#| graph(%x.1 : int[]?,
#|       %n.1 : int):
#|   %21 : bool = prim::Constant[value=1]() # <string>:5:2
#|   %4 : NoneType = prim::Constant() # <string>:3:14
#|   %l.1 : int[] = prim::ListConstruct()
#|   %5 : bool = aten::__isnot__(%x.1, %4) # <string>:3:5
#|   %l : int[] = prim::If(%5) # <string>:3:2
#|     block0():
#|       %x.7 : int[] = prim::unchecked_cast(%x.1)
#|       -> (%x.7)
#|     block1():
#|       -> (%l.1)
#|   %20 : int = aten::len(%l) # <string>:5:2
#|   %n : int = prim::Loop(%20, %21, %n.1) # <string>:5:2
#|     block0(%22 : int, %n.11 : int):
#|       %i.1 : int = aten::__getitem__(%l, %22) # <string>:5:2
#|       %n.5 : int = aten::add(%n.11, %i.1) # <string>:6:4
#|       -> (%21, %n.5)
#|   return (%n)
# test: graph
def f(n: int):
  x = torch.zeros([1])
  for i in range(n):
    if i % 2 == 0:
      y = x + i
    else:
      y = x - i
    x = y
  return x
#| graph(%n.1 : int):
#|   %11 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %3 : NoneType = prim::Constant()
#|   %1 : int = prim::Constant[value=1]() # <string>:2:19
#|   %15 : int = prim::Constant[value=2]() # <string>:4:11
#|   %17 : int = prim::Constant[value=0]() # <string>:4:16
#|   %2 : int[] = prim::ListConstruct(%1)
#|   %x.1 : Tensor = aten::zeros(%2, %3, %3, %3, %3) # <string>:2:6
#|   %x : Tensor = prim::Loop(%n.1, %11, %x.1) # <string>:3:2
#|     block0(%i.1 : int, %x.11 : Tensor):
#|       %16 : int = aten::remainder(%i.1, %15) # <string>:4:7
#|       %18 : bool = aten::eq(%16, %17) # <string>:4:7
#|       %y : Tensor = prim::If(%18) # <string>:4:4
#|         block0():
#|           %y.1 : Tensor = aten::add(%x.11, %i.1, %1) # <string>:5:10
#|           -> (%y.1)
#|         block1():
#|           %y.3 : Tensor = aten::sub(%x.11, %i.1, %1) # <string>:7:10
#|           -> (%y.3)
#|       -> (%11, %y)
#|   return (%x)
# test: graph
def f(x: List[Tuple[int, str]]):
  r = 0
  for a, b in x:
    r += a
  for i, (a, b) in enumerate(x):
    r += a + i
  return r
#| graph(%x.1 : (int, str)[]):
#|   %4 : bool = prim::Constant[value=1]() # <string>:3:2
#|   %r.1 : int = prim::Constant[value=0]() # <string>:2:6
#|   %13 : int = prim::Constant[value=9223372036854775807]() # <string>:5:19
#|   %3 : int = aten::len(%x.1) # <string>:3:2
#|   %r.19 : int = prim::Loop(%3, %4, %r.1) # <string>:3:2
#|     block0(%5 : int, %r.17 : int):
#|       %6 : (int, str) = aten::__getitem__(%x.1, %5) # <string>:3:2
#|       %a.1 : int, %b.1 : str = prim::TupleUnpack(%6)
#|       %r.5 : int = aten::add(%r.17, %a.1) # <string>:4:4
#|       -> (%4, %r.5)
#|   %17 : int = aten::len(%x.1) # <string>:5:2
#|   %18 : int[] = prim::ListConstruct(%13, %17)
#|   %19 : int = prim::min(%18) # <string>:5:2
#|   %r : int = prim::Loop(%19, %4, %r.19) # <string>:5:2
#|     block0(%i.1 : int, %r.21 : int):
#|       %22 : (int, str) = aten::__getitem__(%x.1, %i.1) # <string>:5:2
#|       %a.5 : int, %b : str = prim::TupleUnpack(%22)
#|       %29 : int = aten::add(%a.5, %i.1) # <string>:6:9
#|       %r.11 : int = aten::add(%r.21, %29) # <string>:6:4
#|       -> (%4, %r.11)
#|   return (%r)
