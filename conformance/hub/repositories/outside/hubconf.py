import logging
import sys
import os
import argparse
import numpy as np
import thirdparty
from thirdparty.models import create_model, CONSTANT as limit
from absent_package import Transform

dependencies = ["torch", "numpy", "thirdparty", "absent_package", "PyYAML"]
sys.path.append(os.path.join(os.path.dirname(__file__), "src"))
logger = logging.getLogger(__name__)
logger.setLevel(logging.INFO)
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=3)

import torch
from core import Core

print("hubconf of", "outside", sep=": ")


def core(pretrained=True, verbose=True):
    """Core of the sources."""
    logger.info("making it")
    model = Core(dim=3)
    if pretrained:
        if verbose:
            print(f"loading for numpy {np.__version__}")
        model.load_state_dict(torch.hub.load_state_dict_from_url(
            "https://example.com/outside/" + "core" + ".pth", map_location=torch.device("cpu"), progress=verbose))
    return model


def foreign():
    """Needs what is not here."""
    return create_model("resnet", pretrained=True)
