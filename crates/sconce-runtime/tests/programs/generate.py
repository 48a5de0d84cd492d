#!/usr/bin/env python3
"""Makes the archives that tests/programs.rs runs, and records what PyTorch makes of each call.

    generate.py FOLDER

Programs are given as text, so that no file's path gets into the archives.
"""
import pathlib
import sys

import torch

PROGRAMS = {
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
    "endless": ("""
def forward(self, n: int) -> int:
    while True:
        n = n + 1
    return n
""", []),
}


def call(path, arguments):
    try:
        return "result", torch.jit.load(str(path))(*arguments)
    except Exception as error:  # whatever it is, it is the answer
        return "error", str(error)


def main():
    out = pathlib.Path(sys.argv[1])
    for name, (source, calls) in PROGRAMS.items():
        module = type(name.title(), (torch.jit.ScriptModule,), {})()
        if name == "weights":
            module = torch.nn.Module()
            module.register_buffer("weight", torch.arange(1000.0))
            module.register_buffer("other", torch.arange(3.0))
            module = torch.jit.script(module)
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
