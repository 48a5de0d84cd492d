"""Random numbers: every distribution, many sizes, dtypes and strides, and what calls leave behind."""
from typing import List, Tuple

import torch
from torch import Tensor

from registry import case

SIZES = tuple((n,) for n in (0, 1, 15, 16, 17, 33, 100))


@case(*SIZES)
def random_uniform_and_normal(n: int) -> List[Tensor]:
    found: List[Tensor] = []
    for dtype in [torch.float32, torch.float64, torch.float16, torch.bfloat16]:
        found.append(torch.rand([n], dtype=dtype))
        found.append(torch.randn([n], dtype=dtype))
        found.append(torch.zeros([n], dtype=dtype).uniform_(-3.0, 7.0))
        found.append(torch.zeros([n], dtype=dtype).normal_(1.5, 0.25))
        found.append(torch.rand([1]))
    return found


@case(*SIZES)
def random_other_distributions(n: int) -> List[Tensor]:
    found: List[Tensor] = []
    for dtype in [torch.float32, torch.float64, torch.float16, torch.bfloat16]:
        found.append(torch.zeros([n], dtype=dtype).exponential_(0.5))
        found.append(torch.zeros([n], dtype=dtype).cauchy_(1.0, 2.0))
        found.append(torch.zeros([n], dtype=dtype).log_normal_(0.5, 0.25))
        found.append(torch.zeros([n], dtype=dtype).geometric_(0.3))
        found.append(torch.zeros([n], dtype=dtype).bernoulli_(0.3))
        found.append(torch.full([n], 0.3, dtype=dtype).bernoulli())
        found.append(torch.bernoulli(torch.zeros([n], dtype=dtype), 0.6))
        found.append(torch.poisson(torch.full([n], 3.5, dtype=dtype)))
        found.append(torch.poisson(torch.full([n], 30.5, dtype=dtype)))
    return found


@case(*SIZES)
def random_gamma_dirichlet_binomial(n: int) -> List[Tensor]:
    found: List[Tensor] = []
    for dtype in [torch.float32, torch.float64]:
        places = torch.arange(n, dtype=dtype)
        found.append(torch._standard_gamma(torch.full([n], 0.3, dtype=dtype)))
        found.append(torch._standard_gamma(places * 0.25))
        found.append(torch._standard_gamma(places.view([-1, 1]).expand([n, 3]).t() + 0.5))
        found.append(torch._sample_dirichlet(torch.full([3, n], 0.7, dtype=dtype)))
        found.append(torch._sample_dirichlet(torch.full([n, 4], 0.01, dtype=dtype)))
        found.append(torch._sample_dirichlet((places.view([-1, 1]).expand([n, 3]) + 1.0).t()))
        for chance in [0.0, 0.02, 0.4, 0.5, 0.7, 0.99, 1.0]:
            found.append(torch.binomial(places * 3.0, torch.full([n], chance, dtype=dtype)))
        found.append(torch.binomial(torch.full([n], 20000.0, dtype=dtype), places / 100.0))
        found.append(torch.binomial(places.view([-1, 1]).expand([n, 3]), torch.full([3], 0.25, dtype=dtype)))
    found.append(torch.rand([1]))
    return found


@case(*SIZES)
def random_whole_numbers(n: int) -> List[Tensor]:
    found: List[Tensor] = []
    for dtype in [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool]:
        found.append(torch.zeros([n], dtype=dtype).random_())
        found.append(torch.randint(0, 2, [n], dtype=dtype))
        found.append(torch.zeros([n], dtype=dtype).bernoulli_(0.5))
    for dtype in [torch.float32, torch.float64, torch.float16, torch.bfloat16]:
        found.append(torch.zeros([n], dtype=dtype).random_())
        found.append(torch.zeros([n], dtype=dtype).random_(100))
        found.append(torch.zeros([n], dtype=dtype).random_(-100, 100))
    for high in [10, 268435455, 268435456, 4294967296, 1 << 60]:
        found.append(torch.randint(-7, high, [n]))
    found.append(torch.zeros([n], dtype=torch.int64).geometric_(0.2))
    found.append(torch.zeros([n], dtype=torch.int64).random_(5, None))
    found.append(torch.zeros([n], dtype=torch.uint8).random_(5, None))
    found.append(torch.randperm(n))
    found.append(torch.randperm(n, dtype=torch.int32))
    found.append(torch.randperm(n, dtype=torch.float64))
    return found


@case(*SIZES)
def random_complex(n: int) -> List[Tensor]:
    return [torch.rand([n], dtype=torch.complex64), torch.randn([n], dtype=torch.complex64),
            torch.rand([n], dtype=torch.complex128), torch.randn([n], dtype=torch.complex128)]


@case((2,), (5,), (9,))
def random_strides(n: int) -> List[Tensor]:
    base = torch.zeros([n, 4, 3])
    turned = base.permute(2, 0, 1)
    found = [base.t() if n < 0 else torch.zeros([n, 5]).t().uniform_(), turned.normal_()]
    found.append(base[:, 1:3].normal_())
    found.append(base[:, :, ::2].bernoulli_(torch.full([n, 4, 2], 0.5)))
    found.append(torch.rand_like(turned))
    found.append(torch.randn_like(turned, dtype=torch.float64))
    found.append(torch.randint_like(turned, 3, 9))
    found.append(torch.randn_like(base[:, ::2]))
    found.append(torch.bernoulli(torch.full([3, n], 0.4).t()))
    found.append(torch.nn.functional.dropout(turned, 0.3, True))
    found.append(base.clone())
    return found


@case((0,), (7,), (-1,), (1 << 40,))
def random_seeds(seed: int) -> List[Tensor]:
    torch.manual_seed(seed)
    first = torch.randn([3])
    second = torch.randn([4])
    torch.manual_seed(seed)
    return [first, second, torch.randn([3]), torch.rand([2]), torch.randn([1])]


@case((torch.tensor([0.1, 0.2, 0.3, 0.4]),), (torch.tensor([[1.0, 2, 3, 0], [0, 0, 5, 1]]),),
      (torch.rand(3, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(3)),),
      (torch.rand(2, 30, generator=torch.Generator().manual_seed(4)).half(),))
def random_multinomial(chances: Tensor) -> List[Tensor]:
    return [torch.multinomial(chances, 1), torch.multinomial(chances, 2),
            torch.multinomial(chances, 20, True), torch.multinomial(chances, 1, True), torch.rand([1])]


@case((torch.arange(6.0).reshape(2, 3), torch.tensor([0.5, 1, 2])), (torch.arange(40.0), torch.ones(1)))
def random_normal_around(mean: Tensor, std: Tensor) -> List[Tensor]:
    return [torch.normal(mean, std), torch.normal(mean, 0.5), torch.normal(1.5, std),
            torch.normal(1.0, 2.0, [5]), torch.normal(1.0, 2.0, [20])]


@case((torch.arange(24.0).reshape(2, 3, 4) - 9,), (torch.arange(40.0, dtype=torch.float64).reshape(4, 10) - 9,))
def random_dropouts(x: Tensor) -> List[Tensor]:
    y = x.clone()
    torch.nn.functional.dropout(y, 0.2, True, True)
    return [torch.dropout(x, 0.5, True), torch.dropout(x, 0.0, True), torch.dropout(x, 1.0, True),
            torch.dropout(x, 0.5, False), torch.feature_dropout(x, 0.4, True),
            torch.alpha_dropout(x, 0.4, True), torch.feature_alpha_dropout(x, 0.4, True), y,
            torch.rrelu(x, 0.1, 0.3, True), torch.rrelu(x, 0.1, 0.3, False),
            torch.native_dropout(x, 0.3, True)[0]]


@case((torch.ones(3), -0.5), (torch.ones(3), 1.5))
def random_refused_chance(x: Tensor, p: float) -> Tensor:
    return x.bernoulli_(p)


@case((torch.tensor([0.0, 0.0]), 1, False), (torch.tensor([0.5, 0.5]), 3, False), (torch.tensor([-0.5, 0.5]), 1, False),
      (torch.tensor([0.5, 0.5]), 0, False), (torch.ones(2, 2, 2), 1, True), (torch.tensor([1, 2]), 1, True))
def random_refused_multinomial(chances: Tensor, n: int, replace: bool) -> Tensor:
    return torch.multinomial(chances, n, replace)


@case((2.0, 1.0))
def random_refused_range(low: float, high: float) -> Tensor:
    return torch.zeros([2]).uniform_(low, high)


@case((0,), (5,), (21,))
def random_own_generators(n: int) -> List[Tensor]:
    found: List[Tensor] = []
    own = torch.Generator(device="cpu")
    for seed in [n, 7]:
        own.manual_seed(seed)
        found.append(torch.rand([n + 2], generator=own))
        found.append(torch.randn([n + 2], generator=own))
        found.append(torch.zeros([n]).uniform_(-1.0, 1.0, generator=own))
        found.append(torch.zeros([n]).normal_(0.5, 2.0, generator=own))
        found.append(torch.zeros([n]).exponential_(0.5, generator=own))
        found.append(torch.randperm(n, generator=own))
        found.append(torch.randint(3, 9, [n], generator=own))
        found.append(torch.bernoulli(torch.full([n], 0.4), generator=own))
        found.append(torch.multinomial(torch.ones([n + 3]), 2, generator=own))
        found.append(torch.rand([2]))
    found.append(torch.normal(torch.zeros([4]), torch.ones([4]), generator=own))
    found.append(torch.rand([3], generator=torch.Generator(device="cpu").manual_seed(3)))
    return found


@case((3,))
def random_generators_that_go_on(n: int) -> Tuple[Tensor, Tensor, int]:
    first = torch.Generator(device="cpu")
    first.manual_seed(11)
    a = torch.rand([n], generator=first)
    b = torch.rand([n], generator=first)
    return a, b, first.initial_seed()


@case((3,))
def random_generators_of_one_seed(n: int) -> Tuple[Tensor, Tensor, Tensor]:
    first = torch.Generator(device="cpu", seed=5)
    second = torch.Generator(device="cpu", seed=5)
    return torch.rand([n], generator=first), torch.rand([n], generator=second), torch.rand([n], generator=first)
