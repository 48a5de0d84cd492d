"""Calls: of other functions, with keywords and stars, closures, overloads, ignored ones, forks."""
import math
from math import sqrt
from typing import Dict, List, Optional, Tuple

import torch
import torch as th
import torch.nn.functional
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import relu as rectified


def _double(x: Tensor) -> Tensor:
    return x * 2


def _scaled(x: Tensor, by: float = 2.0, plus: int = 1) -> Tensor:
    return x * by + plus


def _pair(x: int) -> Tuple[int, str]:
    return x, str(x)


def _calls_double(x: Tensor) -> Tensor:
    return _double(_double(x))


def calls_one(x: Tensor) -> Tensor:
    return _double(x) + 1


def calls_chain(x: Tensor) -> Tensor:
    return _calls_double(x) - _double(x)


def calls_with_defaults(x: Tensor):
    return _scaled(x), _scaled(x, 3.0), _scaled(x, plus=4), _scaled(x=x, by=0.5), _scaled(x, plus=2, by=1.5)


def calls_unpack(x: int) -> str:
    n, s = _pair(x)
    return s + str(n) + _pair(n + 1)[1]


def calls_starred(x: Tensor, rest: Tuple[float, int]) -> Tensor:
    return _scaled(x, *rest)


def calls_in_loop(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = _double(x)
    return x


def calls_in_branches(x: Tensor, flag: bool) -> Tensor:
    return _double(x) if flag else _scaled(x)


def calls_in_comprehension(xs: List[Tensor]) -> List[Tensor]:
    return [_double(x) for x in xs]


def calls_later_function(x: Tensor) -> Tensor:
    return _defined_later(x)


def _defined_later(x: Tensor) -> Tensor:
    return x - 1


@torch.jit.script
def _scripted(x: Tensor) -> Tensor:
    return x + 10


def calls_scripted(x: Tensor) -> Tensor:
    return _scripted(x) * 2


@torch.jit.script
def already_scripted(x: Tensor, n: int = 2) -> Tensor:
    return x + n


@torch.jit.unused
def _unused(x: Tensor) -> Tensor:
    return x.numpy() + 1


def calls_unused(x: Tensor, flag: bool) -> Tensor:
    if flag:
        return _unused(x)
    return x


@torch.jit.ignore(drop=True)
def _dropped(x: Tensor) -> None:
    print(x.numpy(), file=open("nowhere"))


def calls_dropped(x: Tensor) -> Tensor:
    if x.dim() > 5:
        _dropped(x)
    return x


def aliases(x: Tensor) -> Tensor:
    return th.sin(x) + torch.cos(x)


def imported_name(x: float) -> float:
    return sqrt(x) + math.sqrt(x)


def functional_spellings(x: Tensor):
    return F.relu(x), functional.relu(x), torch.nn.functional.relu(x), nn.functional.relu(x), rectified(x)


def builtins_of_torch(x: Tensor):
    return torch.relu(x), torch.sigmoid(x), torch.softmax(x, dim=0), torch.sum(x), torch.clamp(x, 0, 1)


def torch_keywords(x: Tensor):
    return torch.sum(x, dim=1, keepdim=True), torch.sum(input=x), torch.clamp(x, min=0.5), torch.add(x, x, alpha=2)


def torch_spelling_of_lists(x: Tensor):
    return x.view(-1), x.view(3, 2), x.reshape([6]), x.permute(1, 0), torch.zeros(2, 3), x.expand(2, -1), x.repeat(2, 1)


def torch_outputs(x: Tensor):
    values, indices = torch.max(x, dim=1)
    named = torch.sort(x, dim=1, descending=True)
    return values, indices, named[0], named.indices, x.topk(1).values


def torch_creation(n: int):
    return (torch.zeros(n), torch.ones(n, 2), torch.full((n,), 1.5), torch.eye(n), torch.arange(n), torch.arange(0, n, 2),
            torch.linspace(0, 1, n), torch.empty(0), torch.zeros([n, n], dtype=torch.int64))


def torch_like(x: Tensor):
    return torch.zeros_like(x), torch.ones_like(x, dtype=torch.float64), torch.full_like(x, 3), x.new_zeros(2), x.new_ones([1, 2])


def torch_combining(xs: List[Tensor]):
    return torch.cat(xs, dim=0), torch.stack(xs), torch.cat([xs[0], xs[0]]), torch.cat((xs[0], xs[0]), 0)


def torch_splitting(x: Tensor):
    a, b, c = x.unbind(1)
    first, second = torch.chunk(x, 2, dim=0)
    parts = torch.split(x, 1, dim=1)
    return a, b, c, first, second, parts, x.split([1, 2], 1)


def tensor_methods(x: Tensor):
    return (x.abs().sum().item(), x.mean(dim=0), x.transpose(0, 1), x.t(), x.contiguous(), x.unsqueeze(-1).squeeze(-1), x.float(),
            x.long(), x.double(), x.int(), x.type_as(x), x.clone().detach(), x.max(), x.argmax(dim=1), x.norm(), x.std())


def tensor_in_place(x: Tensor) -> Tensor:
    x.add_(1).mul_(2)
    x.relu_()
    x.zero_()
    x.fill_(4)
    return x


def tensor_properties(x: Tensor):
    return (x.shape, x.dtype, x.device, x.requires_grad, x.is_cuda, x.ndim, x.T, x.is_sparse, x.layout, x.itemsize, x.nbytes,
            x.is_quantized, x.data)


def device_and_dtypes(x: Tensor):
    a = x.to(torch.float64)
    b = x.to(dtype=torch.int32, device=torch.device("cpu"))
    c = x.to("cpu")
    d = torch.zeros(2, dtype=torch.bool, device="cpu")
    return a, b, c, d, x.dtype == torch.float32, x.device == torch.device("cpu"), x.device.type, torch.device("cpu", 0).index


def memory_formats(x: Tensor) -> Tensor:
    y = x.view(1, 1, 2, -1).contiguous(memory_format=torch.channels_last)
    return y.contiguous(memory_format=torch.contiguous_format)


def random_numbers(x: Tensor):
    return torch.rand(2), torch.randn(2, 3), torch.rand_like(x), torch.randint(0, 5, (3,)), torch.dropout(x, 0.5, True)


def no_grad(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 2
    return y


def fork_and_wait(x: Tensor) -> Tensor:
    future = torch.jit.fork(_double, x)
    y = x + 1
    return torch.jit.wait(future) + y


def fork_several(xs: List[Tensor]) -> List[Tensor]:
    futures: List[torch.jit.Future[Tensor]] = []
    for x in xs:
        futures.append(torch.jit._fork(_scaled, x, 3.0, plus=2))
    return [torch.jit._wait(future) for future in futures]


def hides_global(x: int) -> int:
    math = x + 1
    return math


def is_scripting_branch(x: Tensor) -> Tensor:
    if not torch.jit.is_scripting():
        return _python_only(x)
    return x + 1


def _python_only(x):
    return [y for y in x if y > 0]


def annotate(n: int):
    xs = torch.jit.annotate(List[int], [])
    d = torch.jit.annotate(Dict[str, Tensor], {})
    o = torch.jit.annotate(Optional[int], n)
    return xs, d, o


def print_values(x: int, y: List[str]) -> int:
    print("x:", x, y)
    return x


def warn(x: int) -> int:
    import_free = x + 1
    torch._assert(import_free > 0, "positive")
    return import_free


def recursive_types(x: List[Dict[str, Tuple[int, Optional[Tensor]]]]) -> int:
    total = 0
    for table in x:
        for key, (number, tensor) in table.items():
            if tensor is not None:
                total += number * tensor.numel() + len(key)
    return total


def _made(by: int):
    def inner(x: Tensor) -> Tensor:
        return _double(x) * 3

    return inner


closure = _made(2)


def calls_closure(x: Tensor) -> Tensor:
    return closure(x)


def getattr_of_tensor(x: Tensor) -> int:
    y = getattr(x, "shape")
    return y[0]


CALLS = {
    "recursive_types": [([{"a": (2, t(3)), "b": (1, None)}],)],
    "imported_name": [(2.25,)],
    "torch_combining": [([t(2, 2), t(2, 2)],)],
    "calls_unused": [(t(2), False), (t(2), True)],
}
