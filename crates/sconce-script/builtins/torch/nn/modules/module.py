"""torch.nn.Module, for constructors to run."""
from collections import OrderedDict
from typing import Any, List, NamedTuple

import sconce
import torch
from torch.nn.parameter import Parameter


class RemovableHandle:
    def __init__(self, hooks, key):
        self.hooks = hooks
        self.key = key

    def remove(self):
        self.hooks.pop(self.key, None)


class _IncompatibleKeys(NamedTuple):
    missing_keys: List[str]
    unexpected_keys: List[str]

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    def __str__(self):
        return self.__repr__()


class Module:
    dump_patches = False
    call_super_init = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        object.__setattr__(self, "training", True)
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, OrderedDict())
        object.__setattr__(self, "_non_persistent_buffers_set", set())

    def __getattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            members = self.__dict__.get(kind)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = own.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            modules[name] = value
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = value
            return
        buffers = own.get("_buffers")
        if buffers is not None and name in buffers:
            if value is not None and not isinstance(value, torch.Tensor):
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
                )
            buffers[name] = value
            return
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            members = self.__dict__.get(kind)
            if members is not None and name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def _forget(self, name, kept):
        own = self.__dict__
        if name in own:
            object.__delattr__(self, name)
        for kind in ("_parameters", "_buffers", "_modules"):
            members = own.get(kind)
            if kind != kept and members is not None and name in members:
                del members[name]
        self._non_persistent_buffers_set.discard(name)

    def _check_name(self, name, kind, members):
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
        if hasattr(self, name) and name not in members:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_parameter(self, name, param):
        self._check_name(name, "parameter", self.__dict__.get("_parameters", {}))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        self._check_name(name, "buffer", self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        self._check_name(name, "module", self.__dict__.get("_modules", {}))
        self._modules[name] = module

    def register_module(self, name, module):
        self.add_module(name, module)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, *input):
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def extra_repr(self):
        return ""

    def _get_name(self):
        return self.__class__.__name__

    def named_children(self):
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inner = prefix + ("." if prefix else "") + name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def _named_members(self, kind, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for place, module in modules:
            for name, value in getattr(module, kind).items():
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield place + ("." if place else "") + name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        if destination is None:
            destination = OrderedDict()
        for name, value in self._parameters.items():
            if value is not None:
                destination[prefix + name] = value
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".")
        return destination

    def load_state_dict(self, state_dict, strict=True, assign=False):
        return _IncompatibleKeys(*sconce.load_state_dict(self, state_dict, strict, assign))

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        lists = (missing_keys, unexpected_keys, error_msgs)
        for hook in list(self.__dict__.get("_load_state_dict_pre_hooks", {}).values()):
            hook(self, state_dict, prefix, local_metadata, strict, *lists)
        assign = local_metadata.get("assign_to_params_buffers", False)
        sconce.load_own_state(self, state_dict, prefix, strict, assign, *lists)

    def get_submodule(self, target):
        module = self
        if target:
            for name in target.split("."):
                module = getattr(module, name)
        return module

    def get_parameter(self, target):
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    def apply(self, fn):
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode=True):
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        pass

    def share_memory(self):
        return self

    def _apply(self, fn, recurse=True):
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, value in self._parameters.items():
            if value is not None:
                value.data = fn(value.data)
        for name, value in self._buffers.items():
            if value is not None:
                self._buffers[name] = fn(value)
        return self

    def float(self):
        return self._apply(lambda value: value.float() if value.is_floating_point() else value)

    def double(self):
        return self._apply(lambda value: value.double() if value.is_floating_point() else value)

    def half(self):
        return self._apply(lambda value: value.half() if value.is_floating_point() else value)

    def bfloat16(self):
        return self._apply(lambda value: value.bfloat16() if value.is_floating_point() else value)

    def cpu(self):
        return self

    def cuda(self, device=None):
        return self

    def to(self, *args, **kwargs):
        dtype = kwargs.get("dtype")
        for value in args:
            if isinstance(value, torch.dtype):
                dtype = value
        if dtype is None:
            return self
        return self._apply(lambda value: value.to(dtype) if value.is_floating_point() else value)

    def _add_hook(self, kind, hook, prepend):
        if kind not in self.__dict__:
            object.__setattr__(self, kind, OrderedDict())
        hooks = self.__dict__[kind]
        key = f"{len(hooks)}.{id(hook)}"
        hooks[key] = hook
        if prepend:
            hooks.move_to_end(key, last=False)
        return RemovableHandle(hooks, key)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        if with_kwargs or always_call:
            raise NotImplementedError("hooks with_kwargs or always_call cannot be compiled")
        return self._add_hook("_forward_hooks", hook, prepend)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        if with_kwargs:
            raise NotImplementedError("hooks with_kwargs cannot be compiled")
        return self._add_hook("_forward_pre_hooks", hook, prepend)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        if not with_module:
            return self.register_load_state_dict_pre_hook(lambda module, *args: hook(*args))
        return self.register_load_state_dict_pre_hook(hook)

    def register_load_state_dict_pre_hook(self, hook):
        return self._add_hook("_load_state_dict_pre_hooks", hook, False)

    def register_load_state_dict_post_hook(self, hook):
        return self._add_hook("_load_state_dict_post_hooks", hook, False)

    def _register_state_dict_hook(self, hook):
        pass

    def __dir__(self):
        names = list(self.__dict__.keys())
        for kind in ("_parameters", "_buffers", "_modules"):
            names += list(self.__dict__[kind].keys())
        return names

    def __repr__(self):
        return f"{type(self).__name__}()"
