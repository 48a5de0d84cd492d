"""Programs that hold an object of a registered class (`torch.classes`): compiles one in C++, exports, compares.

    python custom_objects.py SCONCE [--fixture FILE]

`sconce code` prints what PyTorch prints; `resave` gives the same bytes, `resave --like-torch` those of PyTorch's own save; the
card and `scan` name the class, and do not call the file clean; `run` refuses the program by the class's name. PyTorch cannot
export the packed weights of its own quantized layers: their classes have no `__obj_flatten__`. Needs a C++ compiler.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run as environment  # noqa: E402

environment.in_environment_with_torch()

import torch

CLASS = "__torch__.torch.classes.sconce_test.Scaler"
SOURCE = r"""
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/torch.h>
struct Scaler : torch::CustomClassHolder {
  int64_t by;
  at::Tensor shift;
  Scaler(int64_t by, at::Tensor shift) : by(by), shift(shift) {}
  std::tuple<std::tuple<std::string, int64_t>, std::tuple<std::string, at::Tensor>> flat() {
    return {{"by", by}, {"shift", shift}};
  }
  at::Tensor scale(at::Tensor x) { return x * by + shift; }
};
TORCH_LIBRARY(sconce_test, m) {
  m.class_<Scaler>("Scaler")
      .def(torch::init<int64_t, at::Tensor>())
      .def("__obj_flatten__", &Scaler::flat)
      .def("scale", &Scaler::scale)
      .def_pickle(
          [](const c10::intrusive_ptr<Scaler>& self) { return std::make_tuple(self->by, self->shift); },
          [](std::tuple<int64_t, at::Tensor> state) {
            return c10::make_intrusive<Scaler>(std::get<0>(state), std::get<1>(state));
          });
  m.def("use(__torch__.torch.classes.sconce_test.Scaler scaler, Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(sconce_test, CompositeExplicitAutograd, m) {
  m.impl("use", [](const c10::intrusive_ptr<Scaler>& self, at::Tensor x) { return self->scale(x); });
}
"""


def library(folder):
    root = pathlib.Path(torch.__file__).parent
    source, out = folder / "scaler.cpp", folder / "scaler.so"
    source.write_text(SOURCE)
    include = [root / "include", root / "include" / "torch" / "csrc" / "api" / "include", sysconfig.get_paths()["include"]]
    command = [os.environ.get("CXX", "g++"), "-O0", "-std=c++20", "-shared", "-fPIC", *[f"-I{path}" for path in include],
               str(source), "-o", str(out), f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"]
    subprocess.run(command, check=True)
    return out


class Calls(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scaler = torch.classes.sconce_test.Scaler(3, torch.ones(4))
        self.fc = torch.nn.Linear(4, 4)


class Operator(Calls):
    def forward(self, x):
        return torch.ops.sconce_test.use(self.scaler, self.fc(x))


class Method(Calls):
    def forward(self, x):
        return self.scaler.scale(self.fc(x))


def without_paths(program):
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            for name in ["stack_trace", "nn_module_stack", "source_fn_stack", "from_node", "torch_fn"]:
                node.meta.pop(name, None)
    return program


def check(sconce, folder, module):
    def run(*command):
        return subprocess.run([sconce, *map(str, command)], capture_output=True, text=True)

    program = torch.export.export(module(), (torch.randn(2, 4),), strict=False)
    path, again = folder / "object.pt2", folder / "again"
    again.mkdir(exist_ok=True)
    torch.export.save(program, path)
    loaded = torch.export.load(path)
    torch.export.save(loaded, again / "object.pt2")
    ours = folder / "ours"
    ours.mkdir(exist_ok=True)
    inputs = folder / "in.pt"
    torch.save([torch.randn(2, 4)], inputs)
    same, like = ours / "same.pt2", ours / "object.pt2"
    run("resave", path, same, "--force")
    run("resave", "--like-torch", path, like, "--force")
    ran = run("run", path, "--inputs", inputs)
    return {
        "text": run("code", path).stdout.strip() == str(loaded).strip(),
        "bytes": same.read_bytes() == path.read_bytes(),
        "bytes of PyTorch": like.read_bytes() == (again / "object.pt2").read_bytes(),
        "card": CLASS in run("info", path).stdout,
        "verdict": "unknown" in run("scan", path).stdout,
        "refused": ran.returncode != 0 and CLASS in ran.stderr,
        "operators": CLASS in run("ops", path).stdout,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sconce")
    parser.add_argument("--fixture", type=pathlib.Path)
    options = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        torch.ops.load_library(library(folder))

        @torch._library.register_fake_class("sconce_test::Scaler")
        class Fake:
            def __init__(self, by, shift):
                self.by, self.shift = by, shift

            @classmethod
            def __obj_unflatten__(cls, flat):
                return cls(**dict(flat))

            def scale(self, x):
                return x * self.by + self.shift

        @torch.library.register_fake("sconce_test::use")
        def _(scaler, x):
            return torch.empty_like(x)

        torch.manual_seed(0)
        if options.fixture:
            program = torch.export.export(Operator(), (torch.randn(2, 4),), strict=False)
            program.example_inputs = None
            torch.export.save(without_paths(program), options.fixture)
        for module in (Operator, Method):
            wrong = [what for what, is_right in check(options.sconce, folder, module).items() if not is_right]
            bad += len(wrong)
            print(f"{module.__name__}: {'wrong: ' + ', '.join(wrong) if wrong else 'as PyTorch has it'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
