dependencies = ["torch"]
import os
import torch


def get_speech(values, threshold: float = 0.5):
    return [value for value in values if value > threshold]


def detector(onnx=False):
    """Detector
    Returns a model and its functions."""
    path = os.path.join(os.path.dirname(__file__), "files", "model.jit")
    model = torch.jit.load(path, map_location="cpu")
    model.eval()
    utils = (get_speech,)
    return model, utils


def alone():
    return torch.jit.load(os.path.join(os.path.dirname(__file__), "files", "model.jit"))
