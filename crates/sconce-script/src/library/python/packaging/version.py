"""Versions and their order, as PEP 440 has them."""


class InvalidVersion(ValueError):
    pass


_LETTERS = {"a": "a", "alpha": "a", "b": "b", "beta": "b", "rc": "rc", "c": "rc", "pre": "rc", "preview": "rc"}
_SEPARATORS = ".-_"


def _digits(text):
    end = 0
    while end < len(text) and text[end].isdigit():
        end += 1
    return text[:end], text[end:]


def _letters(text):
    end = 0
    while end < len(text) and text[end].isalpha():
        end += 1
    return text[:end], text[end:]


def _label(text, names):
    """A number after one of some names, and what follows; None where there is none."""
    rest = text[1:] if text and text[0] in _SEPARATORS else text
    name, rest = _letters(rest)
    if name not in names:
        return None, text
    if len(rest) > 1 and rest[0] in _SEPARATORS and rest[1].isdigit():
        rest = rest[1:]
    number, rest = _digits(rest)
    return (names[name], int(number or "0")), rest


class Version:
    def __init__(self, version):
        text = version.strip().lower()
        rest = text[1:] if text.startswith("v") else text
        self.epoch = 0
        self.pre = self.post = self.dev = self.local = None
        number, after = _digits(rest)
        if number and after.startswith("!"):
            self.epoch = int(number)
            rest = after[1:]
        parts = []
        while True:
            number, after = _digits(rest)
            if not number:
                raise InvalidVersion(f"Invalid version: {version!r}")
            parts.append(int(number))
            rest = after
            if not (len(rest) > 1 and rest[0] == "." and rest[1].isdigit()):
                break
            rest = rest[1:]
        self.release = tuple(parts)
        self.pre, rest = _label(rest, _LETTERS)
        if len(rest) > 1 and rest[0] == "-" and rest[1].isdigit():
            number, rest = _digits(rest[1:])
            self.post = int(number)
        else:
            post, rest = _label(rest, {"post": "post", "rev": "post", "r": "post"})
            if post is not None:
                self.post = post[1]
        dev, rest = _label(rest, {"dev": "dev"})
        if dev is not None:
            self.dev = dev[1]
        if rest.startswith("+"):
            self.local = rest[1:].replace("-", ".").replace("_", ".")
            rest = ""
        if rest:
            raise InvalidVersion(f"Invalid version: {version!r}")

    @property
    def _key(self):
        release = self.release
        while len(release) > 1 and release[-1] == 0:
            release = release[:-1]
        # What comes before a release is less than it, and a development of that less still.
        if self.pre is not None:
            pre = (0, *self.pre)
        elif self.post is None and self.dev is not None:
            pre = (-1,)
        else:
            pre = (1,)
        post = (-1,) if self.post is None else (0, self.post)
        dev = (1,) if self.dev is None else (0, self.dev)
        local = ((-1,),)
        if self.local is not None:
            local = tuple((1, int(part)) if part.isdigit() else (0, part) for part in self.local.split("."))
        return self.epoch, release, pre, post, dev, local

    @property
    def major(self):
        return self.release[0]

    @property
    def minor(self):
        return self.release[1] if len(self.release) > 1 else 0

    @property
    def micro(self):
        return self.release[2] if len(self.release) > 2 else 0

    @property
    def is_prerelease(self):
        return self.dev is not None or self.pre is not None

    @property
    def is_postrelease(self):
        return self.post is not None

    @property
    def is_devrelease(self):
        return self.dev is not None

    @property
    def base_version(self):
        epoch = f"{self.epoch}!" if self.epoch else ""
        return epoch + ".".join(str(part) for part in self.release)

    @property
    def public(self):
        return str(self).split("+")[0]

    def __str__(self):
        text = self.base_version
        if self.pre is not None:
            text += f"{self.pre[0]}{self.pre[1]}"
        if self.post is not None:
            text += f".post{self.post}"
        if self.dev is not None:
            text += f".dev{self.dev}"
        return text if self.local is None else f"{text}+{self.local}"

    def __lt__(self, other):
        return self._key < other._key

    def __le__(self, other):
        return self._key <= other._key

    def __gt__(self, other):
        return self._key > other._key

    def __ge__(self, other):
        return self._key >= other._key

    def __eq__(self, other):
        return isinstance(other, Version) and self._key == other._key

    def __hash__(self):
        return hash(self._key)


def parse(version):
    return Version(version)
