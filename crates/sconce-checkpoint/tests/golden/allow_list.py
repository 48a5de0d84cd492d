"""Prints src/allow_list_names.rs: what torch's weights_only unpickler allows by default, and the
type of each of these objects, which its messages name."""
import torch
from torch._weights_only_unpickler import _get_allowed_globals

release = torch.__version__.split("+")[0]
print(f"""//! What torch {release} allows by default. Printed by `tests/golden/allow_list.py`.

/// `module.name` of each object and the name of its type, sorted.
pub(crate) static DEFAULT: &[(&str, &str)] = &[""")
for name, value in sorted(_get_allowed_globals().items()):
    kind = str(type(value)).removeprefix("<class '").removesuffix("'>")
    print(f'    ("{name}", "{kind}"),')
print("];")
