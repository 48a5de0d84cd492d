"""Writes schemas.tsv, what PyTorch prints for schemas beyond those of its operators, for
tests/schemas.rs.

    python make_schemas.py > schemas.tsv

Sets of more than one name are left out: PyTorch prints them in the order of a hash table.
"""

import torch

SCHEMAS = r"""
f() -> ()
f(...) -> ...
f(int a, ...) -> (int, ...)
g(Tensor x, int y=2, int? z=None) -> ((Tensor, int))
f(Tensor(a!)[](b) x, Tensor(a)[]? y) -> ()
f(str a="\"\'\\\n\001", float b=-1., int[2] c=[1, 2], int[3] d=4) -> (int r)
f(Dict(str, int)?[] x, Future(t) y, RRef(t) z, Await(int) w) -> t
f(Union(float, int, str) x, Union(int, NoneType, str) y) -> (() x)
f(__torch__.torch.classes.quantized.LinearPackedParamsBase x) -> SymInt[]?
f(int[2]? a, bool[3] b, complex c, *, Device? d=None) -> ((str, t)[])
f(int[2]? a=1) -> ()
f(int[2] a=[1,1]) -> ()
f(int[] a=[1]) -> ()
f(float[] a=[1., 1.]) -> ()
f(float[2] a=1) -> ()
f(float[] a=[1]) -> ()
f(bool[2] a=True) -> ()
f(Device a="cpu") -> ()
f(Device? a="cpu") -> ()
f(ScalarType a=float, ScalarType? b=long, ScalarType c=int64, ScalarType? d=bfloat16, int e=Mean, MemoryFormat g=contiguous_format, Layout? h=strided) -> ()
f(SymInt[2] a=3, SymInt b=4) -> ()
f(Tensor! x) -> Tensor!
f(Tensor(a)[][] x, t(a)? y, Tensor(a)?[] z) -> ()
f(Dict(str, Tensor(a))(b) x, Future(Tensor(a)) y) -> ()
f(Tensor?[] a, Tensor[]?[] b, int?[]? c) -> ()
f(*, int x) -> ()
f(int x, *, ...) -> ()
f(str x='a"b') -> ()
f(int x=True, bool y=False, bool z=1) -> ()
f(int x, *, int y, *, int z) -> ()
f(tuple x, list y) -> ()
f(any x) -> Any
f(int x) -> (int a, str b)
f(int32 x) -> int64_t
f(AnyEnumType x, AnyClassType? y) -> NoneType
f(int[0] x=1) -> ()
f(int[1] x=[]) -> ()
f(Scalar a=1e10, float b=1e20, float c=-0.0, Scalar? g=0.1, float h=1e15) -> ()
f(Tensor(a) x, Tensor(*) y, Tensor(c! -> *)[] z) -> Tensor(c)
f(Tensor? x=None, Tensor[]? y=None, Generator? g=None, Generator h=None) -> ()
"""

for text in SCHEMAS.strip().split("\n"):
    print(text, torch._C.parse_schema(text), sep="\t")
