"""What constructors ask of inspect."""
import sconce


class _empty:
    pass


class Parameter:
    POSITIONAL_ONLY = 0
    POSITIONAL_OR_KEYWORD = 1
    VAR_POSITIONAL = 2
    KEYWORD_ONLY = 3
    VAR_KEYWORD = 4
    empty = _empty

    def __init__(self, name, kind, default=_empty, annotation=_empty):
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation


class Signature:
    empty = _empty

    def __init__(self, parameters):
        self.parameters = {parameter.name: parameter for parameter in parameters}


def unwrap(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def signature(function):
    parameters = []
    for name, kind, defaults in sconce.parameters(unwrap(function)):
        parameters.append(Parameter(name, kind, *defaults))
    return Signature(parameters)


def isclass(value):
    return isinstance(value, type)


def isfunction(value):
    return callable(value) and not isinstance(value, type) and not hasattr(value, "__self__")
