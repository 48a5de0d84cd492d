"""Containers; what iteration, indexing and membership of them mean is the compiler's."""
from torch.nn import Module


class Sequential(Module):
    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for number, module in enumerate(args):
                self.add_module(str(number), module)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input


class ModuleList(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            for number, module in enumerate(modules):
                self.add_module(str(number), module)


class ModuleDict(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            for name, module in modules.items():
                self.add_module(name, module)


class ParameterList(Module):
    def __init__(self, values=None):
        super().__init__()
        if values is not None:
            for number, value in enumerate(values):
                self.register_parameter(str(number), value)


class ParameterDict(Module):
    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            for name, value in parameters.items():
                self.register_parameter(name, value)
