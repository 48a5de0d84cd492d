# Where nodes stand: the token that made them, merged with their children.

# test: ranges exp
f(a, *b, c=1, ).d[0:1, ..., :]
#| subscript	0	30
#| .	0	17
#| apply	0	12
#| variable	0	1
#| ident	0	1
#| list	1	7
#| variable	2	3
#| ident	2	3
#| starred	5	7
#| variable	6	7
#| ident	6	7
#| list	1	12
#| attribute	9	12
#| ident	9	10
#| const	11	12
#| ident	16	17
#| list	17	29
#| slice expr	18	21
#| option	18	19
#| const	18	19
#| option	18	21
#| const	20	21
#| option	18	19
#| dots	23	26
#| slice expr	28	29
#| option	28	29
#| option	28	29
#| option	28	29

# test: ranges exp
(a + (b * c)) if not d else -e
#| if	1	30
#| not	17	22
#| variable	21	22
#| ident	21	22
#| +	1	11
#| variable	1	2
#| ident	1	2
#| *	6	11
#| variable	6	7
#| ident	6	7
#| variable	10	11
#| ident	10	11
#| unary minus	28	30
#| variable	29	30
#| ident	29	30

# test: ranges exp
[(a), (b, c), [], {}, ()]
#| list-literal	0	25
#| list	0	25
#| variable	2	3
#| ident	2	3
#| tuple-literal	7	11
#| list	7	11
#| variable	7	8
#| ident	7	8
#| variable	10	11
#| ident	10	11
#| list-literal	14	15
#| list	14	15
#| dict-literal	19	20
#| list	19	20
#| list	19	20
#| tuple-literal	24	25
#| list	24	25

# test: ranges exp
{a: b for (c, d) in e}
#| dict comprehension	1	21
#| variable	1	2
#| ident	1	2
#| variable	4	5
#| ident	4	5
#| tuple-literal	11	15
#| list	11	15
#| variable	11	12
#| ident	11	12
#| variable	14	15
#| ident	14	15
#| variable	20	21
#| ident	20	21

# test: ranges exp
a not in b
#| not	0	10
#| in	0	10
#| variable	0	1
#| ident	0	1
#| variable	9	10
#| ident	9	10

# test: ranges exp
'a' 'b'
#| string_literal	0	3

# test: ranges exp
-1 - -a ** 2
#| -	1	12
#| const	1	2
#| unary minus	5	12
#| pow operator	6	12
#| variable	6	7
#| ident	6	7
#| const	11	12

# test: ranges exp
a[
  1 :
  2
]
#| subscript	0	13
#| variable	0	1
#| ident	0	1
#| list	1	12
#| slice expr	5	12
#| option	5	6
#| const	5	6
#| option	5	12
#| const	11	12
#| option	5	6

# test: ranges def
def f(x, y: int, *, z: int=1, ) -> Tensor:
  x = y, z = 1, 2
  if x:
    pass
  return
#| def	4	86
#| ident	4	5
#| decl	5	41
#| list	5	28
#| param	6	8
#| ident	6	7
#| option	7	8
#| option	7	8
#| False	7	8
#| param	9	16
#| ident	9	10
#| option	12	15
#| variable	12	15
#| ident	12	15
#| option	15	16
#| False	12	15
#| param	20	28
#| ident	20	21
#| option	23	26
#| variable	23	26
#| ident	23	26
#| option	27	28
#| const	27	28
#| True	23	26
#| option	35	41
#| variable	35	41
#| ident	35	41
#| list	45	86
#| assign	45	60
#| list	45	53
#| variable	45	46
#| ident	45	46
#| tuple-literal	49	53
#| list	49	53
#| variable	49	50
#| ident	49	50
#| variable	52	53
#| ident	52	53
#| option	56	60
#| tuple-literal	56	60
#| list	56	60
#| const	56	57
#| const	59	60
#| option	47	48
#| if	63	86
#| variable	66	67
#| ident	66	67
#| list	69	77
#| pass	73	77
#| list	80	86
#| return	80	86
#| None	80	86

# test: ranges def
def f(x):
  if x:
    pass
  elif y:
    pass
  elif z:
    pass
  else:
    pass
  x : int = 2
  x : int
  x += 2, 3
#| def	4	117
#| ident	4	5
#| decl	5	9
#| list	5	8
#| param	6	8
#| ident	6	7
#| option	7	8
#| option	7	8
#| False	7	8
#| option	8	9
#| list	12	117
#| if	12	81
#| variable	15	16
#| ident	15	16
#| list	18	26
#| pass	22	26
#| list	34	81
#| if	34	81
#| variable	34	35
#| ident	34	35
#| list	37	45
#| pass	41	45
#| list	53	81
#| if	53	81
#| variable	53	54
#| ident	53	54
#| list	56	64
#| pass	60	64
#| list	73	81
#| pass	77	81
#| assign	84	95
#| list	84	85
#| variable	84	85
#| ident	84	85
#| option	94	95
#| const	94	95
#| option	88	91
#| variable	88	91
#| ident	88	91
#| assign	98	105
#| list	98	99
#| variable	98	99
#| ident	98	99
#| option	98	99
#| option	102	105
#| variable	102	105
#| ident	102	105
#| aug_assign	108	117
#| variable	108	109
#| ident	108	109
#| +	110	112
#| tuple-literal	113	117
#| list	113	117
#| const	113	114
#| const	116	117

# test: ranges def
def f():
  for i, j in x, y:
    while i:
      break
  with a as b, c:
    continue
  assert a, b
  assert a
  raise a
  del a, b
  global a, b
#| def	4	144
#| ident	4	5
#| decl	5	8
#| list	5	6
#| option	7	8
#| list	11	144
#| for	11	53
#| list	15	19
#| variable	15	16
#| ident	15	16
#| variable	18	19
#| ident	18	19
#| list	23	27
#| variable	23	24
#| ident	23	24
#| variable	26	27
#| ident	26	27
#| list	29	53
#| while	33	53
#| variable	39	40
#| ident	39	40
#| list	42	53
#| break	48	53
#| with	56	84
#| list	61	70
#| withitem	61	67
#| variable	61	62
#| ident	61	62
#| option	66	67
#| variable	66	67
#| ident	66	67
#| withitem	69	70
#| variable	69	70
#| ident	69	70
#| option	69	70
#| list	72	84
#| continue	76	84
#| assert	87	98
#| variable	94	95
#| ident	94	95
#| option	87	98
#| variable	97	98
#| ident	97	98
#| assert	101	109
#| variable	108	109
#| ident	108	109
#| option	101	107
#| raise	112	119
#| variable	118	119
#| ident	118	119
#| del	122	130
#| list	126	130
#| variable	126	127
#| ident	126	127
#| variable	129	130
#| ident	129	130
#| global	133	144
#| list	140	144
#| ident	140	141
#| ident	143	144

# test: ranges def
def f(x): return x
#| def	4	19
#| ident	4	5
#| decl	5	9
#| list	5	8
#| param	6	8
#| ident	6	7
#| option	7	8
#| option	7	8
#| False	7	8
#| option	8	9
#| list	10	19
#| return	10	18
#| variable	17	18
#| ident	17	18

# test: ranges def
def f(x, y=1):
  # type: (int, int)
  return x
#| def	4	46
#| ident	4	5
#| decl	5	38
#| list	5	34
#| param	6	29
#| ident	6	7
#| option	26	29
#| variable	26	29
#| ident	26	29
#| option	7	8
#| False	6	8
#| param	9	34
#| ident	9	10
#| option	31	34
#| variable	31	34
#| ident	31	34
#| option	11	12
#| const	11	12
#| False	9	12
#| option	36	38
#| list	38	46
#| return	38	46
#| variable	45	46
#| ident	45	46

# test: ranges method
def f(self, x):
  # type: (int) -> int
  return x
#| def	4	49
#| ident	4	5
#| decl	5	38
#| list	5	30
#| param	6	11
#| ident	6	10
#| option	10	11
#| option	10	11
#| False	10	11
#| param	12	30
#| ident	12	13
#| option	27	30
#| variable	27	30
#| ident	27	30
#| option	13	14
#| False	12	14
#| option	35	38
#| variable	35	38
#| ident	35	38
#| list	41	49
#| return	41	49
#| variable	48	49
#| ident	48	49

# test: ranges class
class A(Module):
  a : int
  def f(self): return 1
  def g(self):
    pass
#| class	6	74
#| ident	6	7
#| option	8	14
#| variable	8	14
#| ident	8	14
#| list	17	74
#| assign	19	26
#| list	19	20
#| variable	19	20
#| ident	19	20
#| option	19	20
#| option	23	26
#| variable	23	26
#| ident	23	26
#| def	33	56
#| ident	33	34
#| decl	34	41
#| list	34	40
#| param	35	40
#| ident	35	39
#| option	39	40
#| option	39	40
#| False	39	40
#| option	40	41
#| list	42	56
#| return	42	50
#| const	49	50
#| def	57	74
#| ident	57	58
#| decl	58	65
#| list	58	64
#| param	59	64
#| ident	59	63
#| option	63	64
#| option	63	64
#| False	63	64
#| option	64	65
#| list	70	74
#| pass	70	74
#| option	6	7
#| option	6	7

# test: ranges module
class A:
  pass
def f(x):
  if x:
    pass
def g(): pass
def h(): pass
#| class	6	15
#| ident	6	7
#| option	6	7
#| list	9	15
#| pass	11	15
#| option	6	7
#| option	6	7
#| def	20	43
#| ident	20	21
#| decl	21	25
#| list	21	24
#| param	22	24
#| ident	22	23
#| option	23	24
#| option	23	24
#| False	23	24
#| option	24	25
#| list	28	43
#| if	28	43
#| variable	31	32
#| ident	31	32
#| list	34	42
#| pass	38	42
#| list	43	43
#| def	47	60
#| ident	47	48
#| decl	48	51
#| list	48	49
#| option	50	51
#| list	52	60
#| pass	52	56
#| def	61	71
#| ident	61	62
#| decl	62	65
#| list	62	63
#| option	64	65
#| list	66	71
#| pass	66	70

# test: ranges type
# type: (int, Tensor) -> List[int]
#| decl	0	34
#| list	8	20
#| param	9	12
#| ident	9	12
#| option	9	12
#| variable	9	12
#| ident	9	12
#| option	9	12
#| False	9	12
#| param	14	20
#| ident	14	20
#| option	14	20
#| variable	14	20
#| ident	14	20
#| option	14	20
#| False	14	20
#| option	25	34
#| subscript	25	34
#| variable	25	29
#| ident	25	29
#| list	29	33
#| variable	30	33
#| ident	30	33
