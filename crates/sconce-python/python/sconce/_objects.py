"""What checkpoints hold beside Python's own types and tensors. All of it is inert."""

from __future__ import annotations

__all__ = ["Global", "Identity", "Object", "Size", "device", "layout", "qscheme"]


class Size(tuple):
    """Sizes of dimensions: ``torch.Size``."""

    __slots__ = ()

    def numel(self):
        """The number of elements."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self):
        return Size, (tuple(self),)


class _Named:
    """Something that is nothing but its text."""

    __slots__ = ("_text",)

    def __init__(self, text):
        self._text = str(text)

    def __str__(self):
        return self._text

    def __repr__(self):
        return self._text

    def __eq__(self, other):
        return str(other) == self._text

    def __hash__(self):
        return hash(self._text)

    def __reduce__(self):
        return type(self), (self._text,)


class device(_Named):
    """Where a tensor was when it was saved: ``torch.device``."""

    __slots__ = ()

    @property
    def type(self):
        """The kind of device, such as ``cuda``."""
        return self._text.partition(":")[0]

    @property
    def index(self):
        """Which of these devices, if that was said."""
        number = self._text.partition(":")[2]
        return int(number) if number else None

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"


class layout(_Named):
    """How elements are laid out: ``torch.layout``."""

    __slots__ = ()


class qscheme(_Named):
    """How integers stand for real numbers: ``torch.qscheme``."""

    __slots__ = ()


class Global:
    """A class or function that a file names. It is not imported."""

    __slots__ = ("module", "name")

    def __init__(self, module, name):
        self.module = module
        self.name = name

    def __repr__(self):
        return f"<global {self.module}.{self.name}>"

    def __eq__(self, other):
        return isinstance(other, Global) and (self.module, self.name) == (other.module, other.name)

    def __hash__(self):
        return hash((self.module, self.name))

    def __reduce__(self):
        return Global, (self.module, self.name)


class Object:
    """An object of a class that is not known here, as the file describes it: what would have been called, with which
    arguments, and the state that it would have been given. Attributes are those of the state."""

    __slots__ = ("module", "name", "args", "state", "kwargs", "items", "entries")

    def __init__(self, module, name, args=(), state=None, kwargs=None, items=(), entries=()):
        self.module = module
        self.name = name
        self.args = args
        self.state = state
        self.kwargs = kwargs
        self.items = list(items)
        self.entries = list(entries)

    def _fill(self, function, args, kwargs, states, items, entries):
        if isinstance(function, Global):
            module, name = function.module, function.name
        else:
            module, name = "", repr(function)
        state = states[-1] if states else None
        self.__init__(module, name, args, state, kwargs, items, entries)

    def __getattr__(self, name):
        # Before it is filled there is nothing to ask.
        try:
            state = object.__getattribute__(self, "state")
        except AttributeError:
            state = None
        parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
        for part in parts:
            if isinstance(part, dict):
                if name in part:
                    return part[name]
                for table in ("_parameters", "_buffers", "_modules"):
                    members = part.get(table)
                    if isinstance(members, dict) and name in members:
                        return members[name]
        raise AttributeError(f"the object of {self.__dict_name()} has no '{name}'")

    def __dict_name(self):
        try:
            return f"{object.__getattribute__(self, 'module')}.{object.__getattribute__(self, 'name')}"
        except AttributeError:
            return "an unknown class"

    def __repr__(self):
        return f"<object of {self.module}.{self.name}>"

    def __reduce__(self):
        fields = (self.module, self.name, self.args, self.state, self.kwargs, self.items, self.entries)
        return Object, fields


class Identity:
    """What a file is: ``kind`` is a short name such as ``zip``, and ``str()`` what the command line says."""

    __slots__ = ("kind", "description", "detail", "opens", "advice", "pickle_protocol")

    def __init__(self, kind, description, detail, opens, advice, pickle_protocol):
        self.kind = kind
        self.description = description
        self.detail = detail
        self.opens = opens
        self.advice = advice
        self.pickle_protocol = pickle_protocol

    def __str__(self):
        return f"{self.description}, {self.detail}" if self.detail else self.description

    def __repr__(self):
        return f"Identity(kind={self.kind!r}, description={self.description!r})"

    def __eq__(self, other):
        return isinstance(other, Identity) and self.__reduce__() == other.__reduce__()

    def __hash__(self):
        return hash(self.__reduce__()[1])

    def __reduce__(self):
        return Identity, tuple(getattr(self, name) for name in self.__slots__)


_FACTORIES = {"int": int, "float": float, "list": list, "dict": dict, "set": set, "str": str, "tuple": tuple}


def known_factory(factory):
    """The factory of a defaultdict: a class of Python's own, or nothing."""
    if isinstance(factory, Global) and factory.module == "builtins":
        return _FACTORIES.get(factory.name)
    return None


for _name in __all__:
    globals()[_name].__module__ = "sconce"
