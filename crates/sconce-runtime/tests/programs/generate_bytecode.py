#!/usr/bin/env python3
"""Makes the mobile modules in `bytecode/` that tests/bytecode.rs runs, and records what PyTorch makes of each call.

    generate_bytecode.py FOLDER

Each is a flatbuffer without source. PyTorch's lite interpreter runs it; `NAME.pt` holds the calls.
"""
import io
import pathlib
import sys
import warnings
from typing import Dict, List, Optional, Tuple

import torch
from torch.jit.mobile import _load_for_lite_interpreter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "fixtures" / "mobile"))

from bare import bare, of_operator_version  # noqa: E402

warnings.simplefilter("ignore")


class Arithmetic(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int, f: float):
        y = x * n + f
        y -= 0.5
        z = torch.add(x, y, alpha=2).clamp(min=-1.0).to(torch.float64)
        values, places = torch.max(y, 0)
        return y, z, values, places, n // 3, n % 3, -n, n / 4, f ** 2, int(f), float(n), x.dtype, x.dim(), x.is_cuda, x.device


class Branches(torch.nn.Module):
    def forward(self, x: torch.Tensor, flag: bool, other: Optional[torch.Tensor] = None):
        if flag:
            y, k = x + 1, 1
        elif other is not None:
            y, k = x + other, 2
        else:
            return x, 0, "early"
        if not flag and k == 2:
            z: Optional[int] = None
        else:
            z = 3
        return y, k if z is None else k + z, "late"


class Loops(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int):
        found: List[int] = []
        best: Optional[torch.Tensor] = None
        for i in range(n):
            if i == 1:
                continue
            if i > 5:
                break
            found.append(i * i)
            row = x * i
            if best is None or bool(row.sum() > best.sum()):
                best = row
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        grid = [[a * b for a in range(3)] for b in range(2)]
        for word in ["a", "b"]:
            for item in found:
                if item > 3:
                    return found, best, word, item, grid
        return found, best, "none", steps, grid


class Containers(torch.nn.Module):
    def forward(self, x: torch.Tensor, words: List[str]):
        counts: Dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        pair = (x, words[0])
        a, b = pair
        first, second = torch.split(x, 2, 0)
        rows = [first, second]
        rows.extend([a])
        nested = {1: [1, 2], 2: [3]}
        nested[1].append(4)
        triple = (1, 2.5, "three")
        return counts, counts["a"], sorted(words), b.upper(), torch.cat(rows), nested[1][-1], triple[1:], len(rows), 2 in nested, words[::-1]


class Texts(torch.nn.Module):
    def forward(self, name: str, n: int, x: torch.Tensor):
        text = "{} has {}".format(name, n)
        text += f" and {n * 2}"
        if isinstance(x, torch.Tensor) and "b" in name:
            text = ",".join(text.split(" "))
        numbers: List[int] = x.tolist()
        return text, text.find("has"), numbers, name[0], str(n), int("12"), name == "ab", torch.tensor(n), torch.tensor([n, 2])


class Raises(torch.nn.Module):
    def forward(self, n: int) -> int:
        if n < 0:
            raise ValueError("negative: {}".format(n))
        assert n != 3, "three"
        return n


class Counter(torch.nn.Module):
    last: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.count = 0
        self.last = None
        self.register_buffer("total", torch.zeros(2))
        self.names: List[str] = ["first"]

    def forward(self, x: torch.Tensor):
        self.count += 1
        last = self.last
        step = x if last is None else x - last
        self.last = x
        self.total += step
        self.names.append(str(self.count))
        return step


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.counter = Counter()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, bias=False)])
        self.scale = (2, "two")
        for weight in self.parameters():
            weight.data = (weight.data * 8).round()

    @torch.jit.export
    def twice(self, x: torch.Tensor, n: int = 2) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x * n

    def forward(self, x: torch.Tensor):
        first = self.counter(x)
        again = self.counter(x * 3)
        scale, name = self.scale
        return first, again, self.counter.total, self.counter.count, self.counter.names, self.twice(x, 3) * scale, name


class Outs(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        out = torch.empty_like(x)
        torch.add(x, x, out=out)
        y = torch.mul(out, 2)
        return torch.full([2], 1.5), torch.nn.functional.gelu(x), torch.sum(y, [0], keepdim=True), torch.linspace(0., 1., 3), y.flatten()


class Divides(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        return x / y, torch.div(x, 2), x.div(y, rounding_mode="floor"), torch.full([2], 3.5)


class Pictures(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 2, 1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
        self.second = torch.nn.Sequential(torch.nn.Conv2d(8, 8, 3, 1, 1, groups=2), torch.nn.BatchNorm2d(8))
        self.pool = torch.nn.AdaptiveAvgPool2d(1)
        self.last = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor):
        x = self.first(x)
        x = torch.relu(self.second(x) + x)
        x = torch.nn.functional.max_pool2d(x, 2)
        return self.last(torch.flatten(self.pool(x), 1))


def quantized():
    class Quantized(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.quant = torch.ao.quantization.QuantStub()
            self.conv = torch.nn.Conv2d(2, 3, 3)
            self.linear = torch.nn.Linear(3, 4)
            self.dequant = torch.ao.quantization.DeQuantStub()

        def forward(self, x: torch.Tensor):
            y = torch.relu(self.conv(self.quant(x)))
            return self.dequant(self.linear(y.mean([2, 3])))

    torch.manual_seed(0)
    module = Quantized().eval()
    module.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    torch.ao.quantization.prepare(module, inplace=True)
    module(torch.randn(2, 2, 5, 5))
    return torch.ao.quantization.convert(module)


def cases():
    x = torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]])
    yield "arithmetic", Arithmetic(), [(x, 7, 1.5), (x.long(), -7, 2.5)]
    yield "branches", Branches(), [(x, True), (x, False), (x, False, x)]
    yield "loops", Loops(), [(x, 0), (x, 2), (x, 9)]
    yield "containers", Containers(), [(torch.arange(4.0), ["b", "a", "b"])]
    yield "texts", Texts(), [("ab", 3, torch.arange(3)), ("cd", -1, torch.arange(2))]
    yield "raises", Raises(), [(1,), (-2,), (3,)]
    yield "modules", Net(), [(torch.tensor([1.0, 2.0]),)]
    yield "outs", Outs(), [(x,)]
    yield "pictures", Pictures().eval(), [(torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(1)),)]
    yield "quantized", quantized(), [(torch.randn(2, 2, 5, 5, generator=torch.Generator().manual_seed(1)),)]
    yield "frozen", torch.jit.freeze(torch.jit.script(Pictures().eval())), [(torch.ones(1, 3, 16, 16),)]


def write(folder, name, data, calls):
    (folder / f"{name}.ptl").write_bytes(data)
    recorded = []
    for arguments in calls:
        try:
            result = _load_for_lite_interpreter(io.BytesIO(data))(*arguments)
            recorded.append({"arguments": arguments, "result": result})
        except Exception as error:
            recorded.append({"arguments": arguments, "error": str(error)})
            print(name, repr(str(error)[:300]))
    torch.save(torch.utils._pytree.tree_map(detached, recorded), folder / f"{name}.pt")


def detached(value):
    if isinstance(value, torch.device):
        return value
    return value.detach() if isinstance(value, torch.Tensor) else value


def main():
    folder = pathlib.Path(sys.argv[1], "bytecode")
    folder.mkdir(parents=True, exist_ok=True)
    for name, module, calls in cases():
        script = module if isinstance(module, torch.jit.ScriptModule) else torch.jit.script(module)
        data = bare(script._save_to_buffer_for_lite_interpreter(_use_flatbuffer=True))
        write(folder, name, data, calls)
    data = torch.jit.script(Divides())._save_to_buffer_for_lite_interpreter(_use_flatbuffer=True)
    pairs = [(torch.tensor([7, -7]), torch.tensor([2, 2])), (torch.tensor([7.0, -7.0]), torch.tensor([2.0, 2.0]))]
    for version in (3, 4):
        write(folder, f"divides_{version}", of_operator_version(bare(data), version), pairs)


main()
