"""PyTorch's side: takes orders from standard input, a line each, answers with the seconds it took."""

import gc
import os
import sys
import time
import warnings

import torch

# That TorchScript is deprecated, for each model.
warnings.filterwarnings("ignore", category=FutureWarning)

tensors = None
loaded = None


def sync(path):
    file = os.open(path, os.O_RDWR)
    os.fsync(file)
    os.close(file)


def make(count, nbytes):
    global tensors
    tensors = {f"layers.{at}.weight": torch.full((int(nbytes) // 4,), float(at)) for at in range(int(count))}


def save(path, how):
    torch.save(tensors, path)
    if how == "fsync":
        sync(path)


def convert(source, target, how):
    from safetensors.torch import save_file

    save_file(torch.load(source), target)
    if how == "fsync":
        sync(target)


def jit_load(path):
    global loaded
    loaded = torch.jit.load(path)


def infer_load(path, args, threads):
    global model, arguments
    torch.set_num_threads(int(threads))
    torch.set_grad_enabled(False)
    model = torch.jit.freeze(torch.jit.load(path).eval())
    arguments = torch.load(args)
    for _ in range(3):
        model(*arguments)


def onnx_load(engine, path, args, threads):
    """Loads an ONNX model into `onnxruntime` or `openvino`, in float32."""
    global model, arguments
    inputs = [tensor.numpy() for tensor in torch.load(args)]
    if engine == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(threads)
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feeds = {given.name: value for given, value in zip(session.get_inputs(), inputs)}
        model, arguments = (lambda feeds: session.run(None, feeds)[0]), [feeds]
    else:
        import openvino

        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": int(threads), "NUM_STREAMS": 1}
        request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()
        model, arguments = (lambda inputs: request.infer(inputs)[0]), [inputs]
    expected = torch.load(path.replace(".onnx", ".expect.pt"))
    found = torch.from_numpy(model(*arguments).copy())
    assert (found - expected).abs().max() <= 1e-3 * expected.abs().max(), f"{engine} differs from PyTorch: {path}"
    for _ in range(3):
        model(*arguments)


def infer(calls):
    with torch.inference_mode():
        for _ in range(int(calls)):
            model(*arguments)


orders = {
    "infer_load": infer_load,
    "onnx_load": onnx_load,
    "infer": infer,
    "make": make,
    "save": save,
    "convert": convert,
    "jit_load": jit_load,
}
for line in sys.stdin:
    order, *words = line.rstrip("\n").split("\t")
    start = time.perf_counter()
    orders[order](*words)
    took = time.perf_counter() - start
    # Before the answer: whoever waits for it measures next, and has the processor for itself.
    loaded = None
    gc.collect()
    print(took, flush=True)
