"""Prints the tables of src/python2_names.rs: the names of Python 2 that pickle, and torch's
weights_only unpickler (which keeps its own, shorter tables), replace by those of Python 3."""
import _compat_pickle as pickle_names
import torch._utils as torch_names

names = {k: (v, False) for k, v in pickle_names.NAME_MAPPING.items()}
for key, value in torch_names.NAME_MAPPING.items():
    assert names.get(key, (value, None))[0] == value, key
    names[key] = (value, True)
    assert key in pickle_names.NAME_MAPPING, key
modules = {k: (v, False) for k, v in pickle_names.IMPORT_MAPPING.items()}
for key, value in torch_names.IMPORT_MAPPING.items():
    assert modules.get(key, (value, None))[0] == value, key
    assert key in pickle_names.IMPORT_MAPPING, key
    modules[key] = (value, True)

print("static NAMES: &[Name] = &[")
for (module, name), ((new_module, new_name), torch) in sorted(names.items()):
    print(f'    ("{module}", "{name}", "{new_module}", "{new_name}", {str(torch).lower()}),')
print("];\n\nstatic MODULES: &[Module] = &[")
for module, (new, torch) in sorted(modules.items()):
    print(f'    ("{module}", "{new}", {str(torch).lower()}),')
print("];")
