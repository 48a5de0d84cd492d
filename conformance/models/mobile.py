#!/usr/bin/env python3
"""Mobile modules of bytecode alone, beside PyTorch's lite interpreter.

    mobile.py [--sample] [--only REGEX] [--runner BINARY] [--table FILE] [--keep FOLDER]

Models of torchvision are built as `vision.py` builds them, scripted, written as flatbuffers for mobile devices, and the
source is taken out of those. PyTorch's lite interpreter and the example `model` of sconce-runtime run what is left.
Exits with failure when a model is wrong.
"""

import argparse
import io
import pathlib
import re
import shutil
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "fixtures" / "mobile")]

import edit  # noqa: E402
import run as environment  # noqa: E402

if __name__ == "__main__":
    environment.in_environment_with_torch()
for package in ("torch", "torchvision"):
    edit.import_or_install(package)

import torch  # noqa: E402
import vision  # noqa: E402
from bare import bare  # noqa: E402
from torch.jit.mobile import _load_for_lite_interpreter  # noqa: E402

MODELS = [
    ("classification", "resnet18"),
    ("classification", "mobilenet_v2"),
    ("classification", "mobilenet_v3_small"),
    ("classification", "shufflenet_v2_x0_5"),
    ("classification", "squeezenet1_1"),
    ("classification", "efficientnet_b0"),
    ("classification", "densenet121"),
    ("classification", "googlenet"),
    ("classification", "mnasnet0_5"),
    ("classification", "regnet_y_400mf"),
    ("classification", "convnext_tiny"),
    ("classification", "swin_t"),
    ("classification", "vit_b_16"),
    ("quantized", "quantized_mobilenet_v2"),
    ("quantized", "quantized_resnet18"),
    ("segmentation", "lraspp_mobilenet_v3_large"),
    ("segmentation", "fcn_resnet50"),
    ("detection", "ssdlite320_mobilenet_v3_large"),
    ("video", "r3d_18"),
]
SAMPLE = {"mobilenet_v3_small", "shufflenet_v2_x0_5"}


def record(group, name, folder):
    module = torch.jit.script(vision.build(group, name))
    data = bare(module._save_to_buffer_for_lite_interpreter(_use_flatbuffer=True))
    (folder / "model.pt").write_bytes(data)
    arguments = vision.inputs(group, name)
    with torch.inference_mode():
        result = _load_for_lite_interpreter(io.BytesIO(data))(*arguments)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        result = tuple(result)
    torch.save([{"arguments": arguments, "result": result}], folder / "calls.pt")


def compare(group, name, runner, keep):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            record(group, name, folder)
        except RuntimeError as error:
            return ["not run by PyTorch", "", "", (str(error).splitlines() or [""])[0]]
        row = vision.run(folder, runner, None)
        if keep is not None and row[0] != "equal":
            shutil.copytree(folder, keep / name, dirs_exist_ok=True)
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", action="store_true", help="two small models")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--runner", default="target/optimized/examples/model")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, failed = [], False
    for group, name in MODELS:
        if (options.sample and name not in SAMPLE) or not re.search(options.only, name):
            continue
        row = [name, *compare(group, name, options.runner, options.keep)]
        print("\t".join(row), flush=True)
        failed |= row[1] in ("wrong", "not supported")
        rows.append(row)
    if not rows:
        sys.exit("no model is called so")
    if options.table:
        lines = ["model\tverdict\tdifference\tseconds\twhy", *("\t".join(row) for row in rows)]
        options.table.write_text("\n".join(lines) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
