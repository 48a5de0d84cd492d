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


class FullArgSpec:
    def __init__(self, args, varargs, varkw, defaults, kwonlyargs, kwonlydefaults, annotations):
        self.args = args
        self.varargs = varargs
        self.varkw = varkw
        self.defaults = defaults
        self.kwonlyargs = kwonlyargs
        self.kwonlydefaults = kwonlydefaults
        self.annotations = annotations

    def __iter__(self):
        parts = (self.args, self.varargs, self.varkw, self.defaults, self.kwonlyargs, self.kwonlydefaults)
        return iter((*parts, self.annotations))

    def __getitem__(self, index):
        return tuple(self)[index]


def getfullargspec(function):
    # What it is bound to is one of its arguments here.
    function = getattr(function, "__func__", function)
    args, varargs, varkw, defaults, kwonlyargs, kwonlydefaults = [], None, None, (), [], {}
    for name, kind, given in sconce.parameters(function):
        if kind == Parameter.VAR_POSITIONAL:
            varargs = name
        elif kind == Parameter.VAR_KEYWORD:
            varkw = name
        elif kind == Parameter.KEYWORD_ONLY:
            kwonlyargs.append(name)
            if given:
                kwonlydefaults[name] = given[0]
        else:
            args.append(name)
            defaults = defaults + given
    annotations = getattr(function, "__annotations__", {})
    return FullArgSpec(args, varargs, varkw, defaults or None, kwonlyargs, kwonlydefaults or None, annotations)


def isclass(value):
    return isinstance(value, type)


def isfunction(value):
    return callable(value) and not isinstance(value, type) and not hasattr(value, "__self__")
