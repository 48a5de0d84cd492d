#!/usr/bin/env python3
"""Makes the archives that tests/programs.rs runs, and records what PyTorch makes of each call.

    generate.py FOLDER [LIBRARY]

Programs are given as text, so that no file's path gets into the archives. The program that calls torchaudio's operators
is made where LIBRARY is given, torchaudio's `lib/libtorchaudio.abi3.so`.
"""
import pathlib
import sys

import torch

# Tensors whose texts are recorded: every notation, width and layout.
TEXTS = [
    *[torch.tensor(x) for x in (0.1, 3, True, -2.5, 1e16, 1e-5, float("nan"), 1 + 2j)],
    *[torch.tensor(x, dtype=torch.float64) for x in (0.1, 1 / 3, 123456789.125)],
    *[
        torch.tensor(x)
        for x in (
            [1.5, -2.0, 3e10], [1.0, 2.0], [1.5 + 2j, 3], [True, False], [1e-5, 1.0],
            [float("nan"), float("inf"), 1.0], [float("inf"), -float("inf")], [float("nan"), 1.5],
            [99999.5, 1.0], [100000.5], [123456.789], [1e6, 7.0], [999999.0], [1e10], [0.05], [0.5],
            [0.00123, 0.00456], [1.0, 1e-3], [-1000, 5], [2**62], [[1, 2], [3, 4]],
            [[1.5e5, 2.0], [3.0, 4.0]], [[1e6, 1.5e6], [2.5e6, 3e6]], [[0.001, 0.002]],
        )
    ],
    torch.tensor([1e100, 1.5], dtype=torch.float64),
    torch.tensor([1.5], dtype=torch.bfloat16),
    torch.zeros(0),
    torch.zeros(2, 0, 3),
    torch.arange(60).view(2, 30),
    torch.arange(60).view(2, 30) * 0.001,
    torch.arange(120).view(2, 2, 30) * 0.001,
    torch.arange(60).view(2, 1, 30) * 1000000.5,
    torch.arange(16, dtype=torch.uint8).view(2, 2, 2, 2),
    torch.arange(6.0).view(3, 2).half().t(),
]

PROGRAMS = {
    "texts": ("""
def forward(self, x: Tensor):
    return str(x), "{}".format([x, x]), "%s" % x
""", [(x,) for x in TEXTS]),
    "forks": ("""
def check(self, x: int) -> int:
    if x < 0:
        raise ValueError("negative")
    return x

def forward(self, x: int, waits: bool) -> int:
    future = torch.jit.fork(self.check, x)
    y = 1
    if waits:
        y = torch.jit.wait(future)
    return y
""", [(3, True), (-1, False), (-1, True)]),
    "reshapes": ("""
def forward(self, x: Tensor):
    same = x
    row = x[0]
    x.unsqueeze_(0)
    x.transpose_(1, 2)
    x.mul_(2)
    turned = same.squeeze(0)
    turned.t_()
    sum = torch.zeros([0])
    torch.add(turned, 1, out=sum)
    double = torch.zeros([7], dtype=torch.float64)
    torch.add(turned, turned, out=double)
    part = torch.zeros([10])
    torch.add(row, row, out=part[2:4])
    shorter = torch.arange(6)
    shorter.resize_([2, 2])
    other = torch.ones([1])
    other.set_(row)
    row += 1
    return same, same.stride(), row, turned, sum, double, part, shorter, other, x.dim()
""", [(torch.arange(6.0).view(2, 3),)]),
    "unreached": ("""
def forward(self, x: Tensor, reach: bool) -> Tensor:
    if reach:
        x = x.to_mkldnn()
    return x + 1
""", [(torch.ones(2), False)]),
    "gradients": ("""
def forward(self, x: Tensor, ask: bool) -> Tuple[Tensor, bool]:
    before = x.requires_grad
    y = x.detach().clone()
    y.requires_grad_(True)
    if ask:
        return y * 2, y.requires_grad
    return (y * 2).detach(), before
""", [(torch.ones(2), False)]),
    "derives": ("""
def forward(self, x: Tensor, how: str) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = (x * x).t()
    if how == "views":
        # What is written through a view reaches the base and its other views.
        first, flat = y[0], y.reshape(-1)
        y.mul_(3)
        flat[1:3] += x[0]
        y = y + torch.zeros_like(y).index_add(0, torch.tensor([1]), first[None])
        return torch.autograd.grad([(y * y).sum() + first.sum()], [x])
    if how == "second order":
        first = torch.autograd.grad([(x * y.t()).sum()], [x], create_graph=True)
        gradient = first[0]
        assert gradient is not None
        return [gradient.detach(), torch.autograd.grad([gradient.pow(2).sum()], [x])[0]]
    if how == "accumulated":
        y.sum().backward()
        (y.detach() * x.t()).sum().backward()
        return [x.grad, y.grad]
    if how == "detached":
        return torch.autograd.grad([(y.detach() * x.t() + y).sum()], [x, y])
    if how == "unused":
        return torch.autograd.grad([x.sum()], [y], allow_unused=True)
    if how == "a leaf in place":
        x.mul_(2)
    if how == "no scalar":
        return torch.autograd.grad([y], [x])
    if how == "no gradient":
        return torch.autograd.grad([y.detach().sum()], [x])
    if how == "freed":
        total = y.sum()
        return torch.autograd.grad([total], [x]) + torch.autograd.grad([total], [x])
    if how == "modified":
        z = x.exp()
        w = z * z
        z.mul_(2)
        return torch.autograd.grad([w.sum() + z.sum() + y.sum()], [x])
    return torch.autograd.grad([y.sum()], [x])
""", [(torch.arange(4.0).view(2, 2), how) for how in (
    "views", "second order", "accumulated", "detached", "unused", "a leaf in place", "no scalar", "no gradient",
    "freed", "",
)]),
    # Operators that are expressions of the table of derivatives, and others that are no table's own.
    "expressions": ("""
def forward(self, x: Tensor, how: str) -> List[Optional[Tensor]]:
    if how == "backward":
        return [torch.ops.aten.slice_backward(x, [2, 5], 1, 1, 5, 2), torch.ops.aten.threshold_backward(x, x, 1)]
    if how == "masked":
        _, weight, _ = torch.ops.aten.convolution_backward(
            x[None, None], x[None, None], torch.ones([1, 1, 1, 1]), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
            [False, True, False])
        return [weight]
    if how == "derived":
        x = x.detach().requires_grad_(True)
        y = torch.ops.aten.select_backward((x * x)[1], [3, 2], 0, 2)
        return torch.autograd.grad([(y * y).sum()], [x])
    if how == "made":
        return [torch.arange(4, out=torch.empty([4])), torch.zeros([2, 1], out=x), x]
    return [torch.einsum("btc,tf->bfc", x[None], x).view(1, -1)]
""", [(torch.arange(4.0).view(2, 2), how) for how in ("backward", "masked", "derived", "made", "")]),
    "reads_files": ("""
def forward(self, read: bool) -> Tensor:
    if read:
        return torch.from_file("data", False, 4)
    return torch.zeros([1])
""", []),
    "loops": ("""
def forward(self, n: int):
    found: List[int] = []
    for i in range(2, n):
        prime = True
        for j in range(2, i):
            if i % j == 0:
                prime = False
                break
        if prime:
            found.append(i)
    while len(found) > 5:
        found.pop(0)
    return found, -n // 2, -n % 3, n / 2
""", [(30,), (0,)]),
    "words": ("""
def forward(self, text: str, by: Optional[str]):
    counts: Dict[str, int] = {}
    for word in text.split(by):
        counts[word] = counts.get(word, 0) + 1
    keys = [k for k in counts.keys()]
    keys.sort(reverse=True)
    return counts, keys, ", ".join(keys).title(), "{} {}".format(len(text), [1.5, 2.0])
""", [("b a  b c", None), ("x,y,,x", ","), ("a", "")]),
    "raises": ("""
def pick(self, x: int) -> int:
    return [10, 20][x]

def forward(self, x: int) -> int:
    if x < 0:
        raise ValueError("negative: " + str(x))
    return self.pick(x) + 1
""", [(1,), (2,), (-1,)]),
    "raises_in_call": ("""
def check(self, x: int) -> int:
    if x < 0:
        raise ValueError("negative")
    return x

def choose(self, x: int) -> int:
    y = 1
    if x < 5:
        y = 2
        if x < 3:
            raise ValueError("small")
    return self.check(y - x)

def forward(self, x: int) -> int:
    return self.choose(x)
""", [(1,), (4,), (9,)]),
    "aliases": ("""
def forward(self, x: Tensor):
    row = x[0]
    row += 1
    both = [x, x.t()]
    both[1].mul_(2)
    return x.sum(), both[0], (x > 3).any()
""", [(torch.arange(4.0).reshape(2, 2),)]),
    "weights": ("""
def forward(self, by: float):
    self.weight.mul_(by)
    return self.weight.sum(), self.other.sum()
""", [(2.0,)]),
    "grows": ("""
def forward(self, kind: int) -> int:
    tensors: List[Tensor] = []
    numbers: List[int] = []
    while len(tensors) + len(numbers) >= 0:
        if kind == 0:
            tensors.append(torch.zeros(1000))
        elif kind == 1:
            numbers.append(1)
        else:
            kind += torch.zeros(kind).size(0)
    return len(tensors)
""", []),
    "options": ("""
def forward(self, x: Tensor, what: str, how: str) -> Tensor:
    if what == "lengths":
        return torch.segment_reduce(x, how, lengths=torch.tensor([2, 0, 3, 1]))
    elif what == "offsets":
        return torch.segment_reduce(x, how, offsets=torch.tensor([0, 2, 2, 5, 6]), initial=0.5)
    elif what == "div":
        return torch.div(x, 2, rounding_mode=how)
    elif what == "pad":
        return torch.ops.aten.pad(x.reshape(1, 6), [1, 1], how, 1.0)
    elif what == "index_reduce":
        return torch.index_reduce(x, 0, torch.tensor([0, 0]), x[:2], how)
    elif what == "gelu_backward":
        return torch.ops.aten.gelu_backward(x, x, approximate=how)
    elif what == "interpolate":
        return torch.ops.aten.__interpolate(x.reshape(1, 2, 3), None, 1.5, how, None, None, False)
    else:
        return torch.stft(x, 4, 2, 4, torch.ones(4), center=False, pad_mode=how, return_complex=True)
""", [
        (torch.tensor([1.0, -2.0, 3.0, 0.5, float("nan"), 4.0]), what, how)
        for what, options in {
            "lengths": "amax amin max mean prod bogus", "offsets": "amax amin sum", "div": "trunc bogus",
            "pad": "constant circular bogus", "index_reduce": "amin sum bogus", "interpolate": "area nearest bogus",
            "gelu_backward": "bogus", "stft": "reflect bogus",
        }.items() for how in options.split()
    ]),
    "constants": ("", [
        (torch.tensor([0, 1, 1]).to(dtype),)
        for dtype in (torch.int64, torch.uint8, torch.float32, torch.float64, torch.complex64)
    ]),
    "endless": ("""
def forward(self, n: int) -> int:
    while True:
        n = n + 1
    return n
""", []),
}


# torchaudio's operators. Losses and gradients are sums of exponentials, of which the last bits are nobody's.
OF_TORCHAUDIO = """
def forward(self, x: Tensor, a: Tensor, labels: Tensor, blank: int):
    filtered = torch.zeros(x.size(0), x.size(1), x.size(2) + a.size(1) - 1, dtype=x.dtype)
    torch.ops.torchaudio._lfilter_core_loop(x, a, filtered)
    rows = x[0]
    last_in, last_out = torch.zeros(rows.size(0), dtype=x.dtype), torch.ones(rows.size(0), dtype=x.dtype)
    driven = torch.zeros_like(rows)
    torch.ops.torchaudio._overdrive_core_loop(rows, torch.tanh(rows) * 0 + 0.25, last_in, last_out, driven)
    frames = torch.tensor([x.size(1)])
    said = torch.tensor([labels.size(1)])
    paths, scores = torch.ops.torchaudio.forced_align(x[:1], labels, frames, said, blank)
    logits = x.to(torch.float32).view(x.size(0), 2, -1, x.size(2))
    places = logits.size(2)
    to_say = torch.ones(x.size(0), places - 1, dtype=torch.int32)
    lengths = torch.full([x.size(0)], 2, dtype=torch.int32)
    lengths[-1] = 1
    counts = torch.full([x.size(0)], places - 1, dtype=torch.int32)
    counts[-1] -= 1
    lengths[0], counts[0] = 2, places - 1
    results = [filtered, last_in, last_out, driven, paths, scores]
    for fused in [True, False]:
        for clamp in [-1.0, 0.05]:
            loss, gradient = torch.ops.torchaudio.rnnt_loss_forward(logits, to_say, lengths, counts, blank, clamp, fused)
            results += [torch.round(loss * 1000).to(torch.int32), torch.round(gradient * 1000).to(torch.int32)]
    return results
"""


def torchaudio_calls():
    """Calls, and some that are refused."""
    torch.manual_seed(0)
    calls = []
    for dtype in (torch.float32, torch.float64):
        for labels in ([[1, 2]], [[3, 3]], [[1, 2, 3]], [[2]]):
            x, a = torch.randn(2, 6, 5, dtype=dtype), torch.randn(6, 3, dtype=dtype) * 0.5
            calls.append((x, a, torch.tensor(labels), 0))
    calls.append((x, a, torch.tensor([[1, 0]], dtype=torch.int32), 4))
    return calls


def call(path, arguments):
    try:
        return "result", torch.jit.load(str(path))(*arguments)
    except Exception as error:  # whatever it is, it is the answer
        return "error", str(error)


# What a trace makes of numbers of Python beside a tensor: constants without dimensions, in double precision.
OF_CONSTANTS = """
def forward(self, x: Tensor):
    i, fraction, two, one = self.i, self.fraction, self.two, self.one
    sums = x + i, x - fraction, two + x, torch.add(x, i, alpha=2)
    return x * i, i * x, x / i, x * fraction, x * two, x * one, (x * i).sum() * i, sums
"""


def frozen():
    """A module whose constants are in its code."""
    module = torch.nn.Module()
    module.register_buffer("i", torch.tensor(1j, dtype=torch.complex128))
    module.register_buffer("fraction", torch.tensor(2.5, dtype=torch.float64))
    module.register_buffer("two", torch.tensor(2))
    module.register_buffer("one", torch.tensor(1.0, dtype=torch.float16))
    module = torch.jit.script(module.eval())
    module.define(OF_CONSTANTS)
    return torch.jit.freeze(module)


def main():
    out = pathlib.Path(sys.argv[1])
    if len(sys.argv) > 2:
        torch.ops.load_library(sys.argv[2])
        PROGRAMS["torchaudio"] = (OF_TORCHAUDIO, torchaudio_calls())
    for name, (source, calls) in PROGRAMS.items():
        module = type(name.title(), (torch.jit.ScriptModule,), {})()
        if name == "weights":
            module = torch.nn.Module()
            module.register_buffer("weight", torch.arange(1000.0))
            module.register_buffer("other", torch.arange(3.0))
            module = torch.jit.script(module)
        if name == "constants":
            module = frozen()
        else:
            module.define(source)
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        torch.jit.save(module, str(folder / "model.pt"))
        said = []
        for arguments in calls:
            kept = tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in arguments)
            kind, value = call(folder / "model.pt", arguments)
            said.append({"arguments": kept, kind: value})
        torch.save(said, folder / "calls.pt")


if __name__ == "__main__":
    main()
