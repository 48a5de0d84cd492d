"""Writes the golden archives of sconce-archive with real PyTorch (2.15 and 1.13).

    python-with-2.15 generate.py    # files/2.15/*.pt, zip64.txt
    python-with-1.13 generate.py    # files/1.13/*.pt

A file's name tells how it was made, for the test beside this folder:
    buffer_*       written to a BytesIO, so that its folder is `archive`
    *nocrc*        without checksums
    *skip*         inside skip_data(): the data of storages is a hole
    *byteorder*    with _disable_byteorder_record=True
    code_*         torch.jit.save; records of code are compressed
zip64.txt holds what is not zero of a file with 5 GiB holes: lines of an offset and hexadecimal bytes,
after a line with the file's length.
"""

import io
import os
import random
import sys
import tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = ".".join(torch.__version__.split(".")[:2])
FOLDER = os.path.join(HERE, "files", VERSION)


def storages(count, elements=3):
    return [torch.arange(i, i + elements, dtype=torch.float32) for i in range(count)]


def to_path(name, obj, **options):
    torch.save(obj, os.path.join(FOLDER, name + ".pt"), **options)


def to_buffer(name, obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    with open(os.path.join(FOLDER, "buffer_" + name + ".pt"), "wb") as f:
        f.write(buffer.getvalue())


def common():
    for count in (0, 1, 3, 14, 30, 130):
        to_path("storages_%d" % count, storages(count))
    for count in (0, 3, 14):
        to_buffer("storages_%d" % count, storages(count))
    empty = [torch.empty(0), torch.ones(2), torch.empty(0, 3), torch.ones(63, dtype=torch.uint8)]
    to_path("empty", empty)
    to_buffer("empty", empty)
    to_path("two.dots", storages(2))
    # Data that begins like a zip data descriptor, and is long enough or not to be taken for one.
    marks = [b"PK\7\x08abcd", b"PK\7\x08abc", b"PK\7\x08", b"PK\7\x08 and more"]
    to_path("descriptors", [torch.tensor(list(mark), dtype=torch.uint8) for mark in marks])


    for lines in (1, 20):
        to_code("code_%d" % lines, lines)


def to_code(name, lines):
    random.seed(lines)
    module = type("Code%d" % lines, (torch.jit.ScriptModule,), {})()
    body = ["def forward(self, x):"]
    for _ in range(lines):
        call = random.choice(["torch.relu", "torch.sin", "torch.tanh", "torch.neg"])
        factor = random.randrange(10 ** random.randrange(1, 9))
        body.append("    x = %s(x * %d + %r)" % (call, factor, random.random()))
    module.define("\n".join(body + ["    return x", ""]))
    torch.jit.save(module, os.path.join(FOLDER, name + ".pt"))


def current():
    from torch.utils.serialization import config

    to_code("code_700", 700)  # long enough for several deflate blocks
    to_path("byteorder", storages(1), _disable_byteorder_record=True)
    with torch.serialization.skip_data():
        to_path("skip", storages(3) + [torch.empty(0)])
        to_path("skip_large", [torch.empty(300, 7)])
    for alignment in (1, 100, 4096):
        with config.patch({"save.storage_alignment": alignment}):
            to_path("alignment_%d" % alignment, storages(2))
    torch.serialization.set_crc32_options(False)
    to_path("nocrc", storages(3))
    to_buffer("nocrc", storages(3))
    descriptor = torch.tensor(list(b"PK\7\x08abcd"), dtype=torch.uint8)
    to_path("nocrc_descriptor", [descriptor])
    torch.serialization.set_crc32_options(True)
    write_zip64()


def write_zip64():
    """Records that are too long, stand too far back, both, and neither."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "big.pt")
        writer = torch._C.PyTorchFileWriter(path)
        writer.write_record("data.pkl", b"abc", 3)
        writer.write_record_metadata("data/0", 5 << 30)
        writer.write_record("data/1", b"after", 5)
        writer.write_record("data/2", b"", 0)
        writer.write_record_metadata("data/3", 0xFFFFFFFF)
        writer.write_record_metadata("data/4", 0xFFFFFFFE)
        writer.write_end_of_file()
        size = os.path.getsize(path)
        lines = ["length %d" % size]
        with open(path, "rb") as f:
            at = 0
            while at < size:
                start = os.lseek(f.fileno(), at, os.SEEK_DATA)
                at = os.lseek(f.fileno(), start, os.SEEK_HOLE)
                f.seek(start)
                data = f.read(at - start)
                for step in range(0, len(data), 32):
                    part = data[step : step + 32]
                    if any(part):
                        lines.append("%d %s" % (start + step, part.hex()))
    with open(os.path.join(HERE, "zip64.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


os.makedirs(FOLDER, exist_ok=True)
common()
if VERSION == "1.13":
    sys.exit()
current()
