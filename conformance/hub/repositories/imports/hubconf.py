# Optional list of dependencies required by the package
dependencies = ["torch", "math"]

from pathlib import Path
from collections import OrderedDict
from typing import Any, List, Optional, TypeVar, TYPE_CHECKING
from package.models import first, second as other
from package.models.blocks import Block, helper
from package import CONSTANT, tools
