"""Programs that hold, print or nest without end.

`hostile_programs.rs` runs each with `--max-memory 64MiB`, and asks that none ends by a signal, none
holds more than its limit and a little, and each ends as the comment before it says: `ok` with what it
gives, `limit` where a limit must stop it, `any` where only the bounds are asked for.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F


class Pair(NamedTuple):
    left: Any
    right: Any


class Chain:
    def __init__(self, inner: Any):
        self.inner = inner


def recurse(n: int) -> int:
    if n < 0:
        return 0
    return recurse(n + 1)


def nested_lists(depth: int) -> List[Any]:
    outer: List[Any] = [1]
    for i in range(depth):
        more: List[Any] = [outer]
        outer = more
    return outer


def laughs(levels: int) -> List[Any]:
    outer: List[Any] = ["ha".ljust(1000)]
    for i in range(levels):
        more: List[Any] = [outer, outer]
        outer = more
    return outer


# ok: '[[...]]'
def list_of_itself() -> str:
    own: List[Any] = []
    own.append(own)
    print(own)
    assert str(own) == "[[...]]"
    assert "{}".format(own) == "[[...]]"
    assert "%s" % own == "[[...]]"
    assert f"{own}" == "[[...]]"
    return str(own)


# ok: "{'a': {...}}"
def dict_of_itself() -> str:
    own: Dict[str, Any] = {}
    own["a"] = own
    print(own)
    assert str(own) == "{a: {...}}"
    return "{'a': {...}}"


# any
def list_of_itself_given_back() -> List[Any]:
    own: List[Any] = []
    own.append(own)
    return own


# ok: 400003
def text_of_deep_lists() -> int:
    return len(str(nested_lists(200000)))


# ok: 0
def prints_deep_lists() -> int:
    print(nested_lists(30000))
    return 0


# any
def deep_lists_given_back() -> List[Any]:
    return nested_lists(200000)


# ok: 1
def deep_lists_dropped() -> int:
    outer = nested_lists(200000)
    outer = [1]
    return len(outer)


# ok: 1
def deep_tuples_dropped() -> int:
    outer: Any = 1
    for i in range(200000):
        outer = (outer, i)
    outer = 1
    return 1


# ok: 1
def deep_dicts_dropped() -> int:
    outer: Any = 1
    for i in range(50000):
        more: Dict[str, Any] = {"inner": outer}
        outer = more
    outer = 1
    return 1


# ok: 1
def deep_objects_dropped() -> int:
    outer: Any = 1
    for i in range(100000):
        outer = Chain(outer)
    outer = 1
    return 1


# ok: 1
def deep_futures_dropped() -> int:
    outer: Any = 1
    for i in range(1000):
        outer = torch.jit._fork(identity, outer)
    outer = 1
    return 1


def identity(x: Any) -> Any:
    return x


# any
def text_of_deep_tuples() -> int:
    outer: Any = 1
    for i in range(100000):
        outer = (outer, i)
    return len(str(outer))


# any
def text_of_named_tuples() -> int:
    outer: Any = 1
    for i in range(100000):
        outer = Pair(outer, i)
    return len(str(outer))


# any
def type_of_deep_tuples() -> bool:
    outer: Any = 1
    for i in range(100000):
        outer = (outer, i)
    return isinstance(outer, int)


# limit --max-seconds=1
def prints_laughs() -> int:
    print(laughs(60))
    return 0


# limit
def text_of_laughs() -> int:
    return len(str(laughs(60)))


# limit
def format_of_laughs() -> int:
    return len("{} and {}".format(laughs(60), 1))


# limit
def percent_of_laughs() -> int:
    return len("%s" % laughs(60))


# any
def laughs_given_back() -> List[Any]:
    return laughs(60)


# limit
def dict_of_ints() -> int:
    d: Dict[int, int] = {}
    i = 0
    while i >= 0:
        d[i] = i
        i += 1
    return len(d)


# limit
def dict_of_strings() -> int:
    d: Dict[str, str] = {}
    key = "k".ljust(1000)
    i = 0
    while i >= 0:
        d[key + str(i)] = key
        i += 1
    return len(d)


# limit
def dict_of_tensors() -> int:
    d: Dict[int, torch.Tensor] = {}
    i = 0
    while i >= 0:
        d[i] = torch.zeros(100)
        i += 1
    return len(d)


# limit
def dict_copies() -> int:
    d = {i: i for i in range(1000)}
    all: List[Dict[int, int]] = []
    while len(all) >= 0:
        all.append(d.copy())
    return len(all)


# limit
def dict_items() -> int:
    d = {i: i for i in range(200000)}
    all: List[List[Tuple[int, int]]] = []
    while len(all) >= 0:
        all.append(list(d.items()))
    return len(all)


# limit
def list_of_ints() -> int:
    all: List[int] = []
    while len(all) >= 0:
        all.append(1)
    return len(all)


# limit
def list_of_strings() -> int:
    all: List[str] = []
    while len(all) >= 0:
        all.append(str(len(all)))
    return len(all)


# limit
def list_of_lists() -> int:
    all: List[List[int]] = []
    while len(all) >= 0:
        all.append([1])
    return len(all)


# limit
def list_of_tuples() -> int:
    all: List[Tuple[int, int]] = []
    while len(all) >= 0:
        all.append((len(all), 2))
    return len(all)


# limit
def list_of_objects() -> int:
    all: List[Chain] = []
    while len(all) >= 0:
        all.append(Chain(1))
    return len(all)


# limit
def list_of_tensors() -> int:
    all: List[torch.Tensor] = []
    while len(all) >= 0:
        all.append(torch.zeros(1))
    return len(all)


# limit
def list_of_views() -> int:
    x = torch.zeros(4, 4)
    all: List[torch.Tensor] = []
    while len(all) >= 0:
        all.append(x[1:, :2].t())
    return len(all)


# limit
def doubled_strings() -> int:
    s = "ab"
    while len(s) > 0:
        s = s + s
    return len(s)


# limit
def doubled_lists() -> int:
    s = [1]
    while len(s) > 0:
        s = s + s
    return len(s)


# limit
def extended_by_itself() -> int:
    s = [1]
    while len(s) > 0:
        s.extend(s)
    return len(s)


# limit
def list_times() -> int:
    return len([1, 2] * 100000000)


# limit
def list_of_a_range() -> int:
    return len([i for i in range(1000000000)])


# limit
def range_list() -> int:
    return len(list(range(1000000000)))


# limit
def list_of_characters() -> int:
    return len(list("a".ljust(20000000)))


# limit
def slices() -> int:
    s = [1] * 1000000
    all: List[List[int]] = []
    while len(all) >= 0:
        all.append(s[::-1])
    return len(all)


# limit
def padded() -> int:
    return len("a".ljust(1000000000)) + len("a".rjust(1000000000))


# limit
def centred() -> int:
    return len("a".center(1000000000))


# limit
def filled() -> int:
    return len("1".zfill(1000000000))


# limit
def tabs() -> int:
    return len("\t\t\t\t\t\t\t\t".expandtabs(100000000))


# limit
def replaced() -> int:
    s = "a".ljust(10000, "a")
    return len(s.replace("a", s))


# limit
def joined() -> int:
    s = "a".ljust(100000, "a")
    return len(s.join([s] * 10000))


# limit
def split_up() -> int:
    s = "a".ljust(5000000, ",")
    return len(s.split(","))


# limit
def upper_cased() -> int:
    all: List[str] = []
    s = "a".ljust(5000000)
    while len(all) >= 0:
        all.append(s.upper())
    return len(all)


# limit
def formatted() -> int:
    s = "a".ljust(10000000)
    return len("{}{}{}{}{}{}{}{}{}{}".format(s, s, s, s, s, s, s, s, s, s))


# limit
def sorted_ints() -> int:
    s = [i for i in range(1500000)]
    s.sort()
    return len(s)


# any
def sorted_strings() -> int:
    s = [str(-i) for i in range(200000)]
    return len(sorted(s))


# ok: 1
def compared() -> int:
    assert [i for i in range(100000)] == [i for i in range(100000)]
    return 1


# any
def raises_much() -> int:
    s = "a".ljust(10000000)
    raise ValueError(s)


# any
def asserts_much() -> int:
    text = "a".ljust(3000000)
    assert len(text) < 0, text
    return 0


# any
def calls_itself() -> int:
    return recurse(0)


# limit
def tensor_of_a_list() -> int:
    return torch.tensor([float(i) for i in range(1500000)]).size(0)


# limit
def list_of_a_tensor() -> int:
    x: List[int] = torch.arange(4000000).tolist()
    return len(x)


# limit
def large_zeros() -> int:
    return torch.zeros(1 << 40).size(0)


# limit
def stacked() -> int:
    return torch.stack([torch.zeros(1000000)] * 100).size(0)


# limit
def concatenated() -> int:
    x = torch.zeros(1000)
    while x.size(0) > 0:
        x = torch.cat([x, x])
    return x.size(0)


# limit
def repeated() -> int:
    return torch.zeros(10).repeat(100000000).size(0)


# limit
def expanded() -> int:
    return torch.zeros(1).expand(1 << 40).contiguous().size(0)


# limit
def contracted() -> int:
    x = torch.zeros(300)
    return torch.einsum("a,b,c->abc", x, x, x).size(0)


# limit
def singular_values() -> int:
    return torch.svd(torch.eye(1500))[0].size(0)


# limit
def eigenvalues() -> int:
    return torch.linalg.eigvals(torch.eye(2000)).size(0)


# limit
def inverted() -> int:
    return torch.inverse(torch.eye(2500)).size(0)


# limit
def solved() -> int:
    return torch.linalg.solve(torch.eye(2500), torch.eye(2500)).size(0)


# limit
def decomposed() -> int:
    return torch.linalg.qr(torch.ones(2500, 2500))[0].size(0)


# limit
def transformed() -> int:
    return torch.fft.fft(torch.zeros(5000000)).size(0)


# any
def convolved() -> int:
    return F.conv2d(torch.zeros(1, 16, 100, 100), torch.zeros(4, 16, 7, 7)).size(1)


# limit
def unfolded() -> int:
    return F.unfold(torch.zeros(1, 16, 200, 200), [11, 11]).size(1)


# any
def unique() -> int:
    return torch.unique(torch.arange(2500000)).size(0)


# limit
def places() -> int:
    return torch.nonzero(torch.ones(2000, 3000)).size(0)


# limit
def one_hot() -> int:
    return F.one_hot(torch.arange(100000)).size(0)


# limit
def meshed() -> int:
    x = torch.arange(5000)
    a, b = torch.meshgrid([x, x])
    return (a + b).size(0)


# limit
def product() -> int:
    x = torch.arange(3000)
    return torch.cartesian_prod([x, x]).size(0)


# limit
def combined() -> int:
    return torch.combinations(torch.arange(500), 3).size(0)


# limit
def embedded() -> int:
    return F.embedding(torch.zeros(1000000, dtype=torch.long), torch.zeros(2, 100)).size(0)


# limit
def distances() -> int:
    return torch.cdist(torch.zeros(5000, 2), torch.zeros(5000, 2)).size(0)


# limit
def multiplied() -> int:
    return torch.mm(torch.zeros(5000, 1), torch.zeros(1, 5000)).size(0)


# limit
def padded_tensor() -> int:
    return F.pad(torch.zeros(10), [0, 100000000]).size(0)


# limit
def histogram() -> int:
    return torch.bincount(torch.tensor([100000000])).size(0)


# limit
def interpolated() -> int:
    return F.interpolate(torch.zeros(1, 1, 10, 10), [10000, 10000]).size(2)


# any
def sorted_tensor() -> int:
    return torch.sort(torch.arange(2000000))[0].size(0)


# limit
def recorded() -> int:
    x = torch.zeros(1000).requires_grad_()
    y = x * 2
    n = 0
    while n >= 0:
        y = torch.exp(y)
        n += 1
    y.sum().backward()
    return n


# any
def differentiated() -> int:
    x = torch.zeros(1).requires_grad_()
    y = x * 2
    for i in range(20000):
        y = y + x
    y.sum().backward()
    return 1
