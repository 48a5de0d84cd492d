"""The files that fleets are tried on: small checkpoints, bad ones among them, and a program with rows for it."""

import argparse
import os

import pyarrow as pa
import pyarrow.parquet as pq
import torch

BAD = 7
WIDTH = 16


def checkpoints(folder: str, count: int) -> list[str]:
    """Paths of so many files, of which `BAD` are bad: one of them is not there, one is a folder."""
    os.makedirs(folder)
    torch.manual_seed(0)
    paths = []
    for number in range(count - BAD):
        path = os.path.join(folder, f"{number:05}.pt")
        state = {"weight": torch.randn(8, number % 5 + 1), "bias": torch.randn(8).half(), "step": number}
        if number % 10 == 3:
            state["optimizer"] = argparse.Namespace(lr=0.1)  # What weights_only refuses is no bad file.
        torch.save(state, path, _use_new_zipfile_serialization=number % 4 != 1)
        paths.append(path)
    with open(paths[0], "rb") as file:
        good = file.read()
    contents = {
        "cut.pt": good[: len(good) // 2],
        "empty.pt": b"",
        "text.pt": b"no checkpoint\n" * 100,
        "head.pt": b"PK\x03\x04" + bytes(200),
        "pickle.pt": b"\x80\x02}q\x00(X\xff\xff\xff\x7f",
    }
    for name, content in contents.items():
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "wb") as file:
            file.write(content)
    paths += [os.path.join(folder, "missing.pt"), os.path.join(folder, "folder.pt")]
    os.mkdir(paths[-1])
    # Bad ones between good ones.
    return paths[::2] + paths[1::2]


def named(folder: str, *names: str, megabytes: int = 0) -> list[str]:
    """Sound files of these names, which faults go by."""
    paths = [os.path.join(folder, name) for name in names]
    for path in paths:
        state = {"weight": torch.ones(4)} | {str(at): torch.randn(2**18) for at in range(megabytes)}
        torch.save(state, path)
    return paths


def list_of(paths: list[str], file: str) -> str:
    """A Parquet file with paths."""
    pq.write_table(pa.table({"path": paths}), file)
    return file


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        widths = [WIDTH, 64, 64, 10]
        pairs = zip(widths, widths[1:])
        self.layers = torch.nn.Sequential(*(layer for a, b in pairs for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())))

    def forward(self, x):
        return torch.log_softmax(self.layers(x), 1)


def program(file: str) -> torch.nn.Module:
    model = Network().eval()
    torch.jit.script(model).save(file)
    return model


def rows(file: str, count: int) -> torch.Tensor:
    """So many rows, in several groups, behind which are two bad ones: one too short, one that is null."""
    values = torch.randn(count, WIDTH)
    table = pa.table({"id": range(count + 2), "x": pa.array([*values.tolist(), [1.0] * (WIDTH - 1), None], pa.list_(pa.float32()))})
    pq.write_table(table, file, row_group_size=2048)
    return values
