"""Prints the tables of `src/encode/python2_names.rs`. Run it with Python 3.11."""

import _compat_pickle


def text(value):
    return '"' + value + '"'


print("static NAMES: &[[&str; 4]] = &[")
for old, new in sorted(_compat_pickle.REVERSE_NAME_MAPPING.items()):
    print("    [" + ", ".join(map(text, old + new)) + "],")
print("];\n\nstatic MODULES: &[[&str; 2]] = &[")
for old, new in sorted(_compat_pickle.REVERSE_IMPORT_MAPPING.items()):
    print("    [" + ", ".join(map(text, (old, new))) + "],")
print("];")
