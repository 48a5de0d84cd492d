"""Writes schemas.txt: the methods of the custom classes of an installed PyTorch, in its order.

    python generate.py > schemas.txt
"""

import torch

for schema in torch._C._jit_get_custom_class_schemas():
    print(schema)
