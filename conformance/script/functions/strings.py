"""Text: literals, f-strings, formatting, slices and methods."""
from typing import Dict, List, Optional

from torch import Tensor


def literals():
    return "double", 'single', """triple "quoted" text""", 'it\'s', "a\tb\nc\\d", "", r"raw\d"


def concatenated_literals() -> str:
    return "one " 'two ' "three"


def multiline_literal() -> str:
    return """first
    second
third"""


def escapes() -> str:
    return "\x41\u00e9\101\a\b\f\v"


def unicode_literals() -> str:
    return "naïve café ☃ 😀"


def f_string(x: int, name: str) -> str:
    return f"x is {x}, name is {name}"


def f_string_expressions(x: int, xs: List[int]) -> str:
    return f"{x + 1} {xs[0]} {len(xs)} {xs}"


def f_string_braces(x: int) -> str:
    return f"{{literal}} {x}"


def f_string_plain() -> str:
    return f"nothing"


def f_string_joined(x: int) -> str:
    return f"a{x}" "b" f"{x}c"


def format_method(x: int, y: float, s: str) -> str:
    return "{} {} {}".format(x, y, s)


def format_values(x: Tensor, o: Optional[int], xs: List[int], d: Dict[str, int]) -> str:
    return "{} {} {}".format(o, xs, d) + "{}".format(x.dim())


def percent_format(x: int, s: str) -> str:
    return "%d and %s" % (x, s)


def percent_one(s: str) -> str:
    return "<%s>" % s


def slices(s: str):
    return s[1:], s[:2], s[1:3], s[-1], s[0], s[::2], s[-3:], s[:]


def comparisons(s: str, t: str):
    return s == t, s != t, s + t, len(s), s < t


def case_methods(s: str):
    return s.upper(), s.lower(), s.capitalize(), s.title(), s.swapcase()


def strip_methods(s: str):
    return s.strip(), s.lstrip(), s.rstrip(), s.strip("x"), s.lstrip("x "), s.rstrip("y")


def find_methods(s: str):
    return s.find("l"), s.rfind("l"), s.count("l"), s.index("l"), s.startswith("he"), s.endswith("lo"), s.find("z", 1, 3)


def split_methods(s: str):
    return s.split(), s.split(" "), s.split(" ", 1), s.rsplit(" ", 1), s.splitlines(), s.partition(" ")


def join_and_replace(xs: List[str]) -> str:
    return ", ".join(xs).replace("b", "c").replace("a", "bb", 1)


def pad_methods(s: str):
    return s.center(20), s.ljust(15), s.rjust(15, "*"), s.zfill(14), s.expandtabs(4)


def test_methods(s: str):
    return s.isdigit(), s.isalpha(), s.isalnum(), s.isspace(), s.islower(), s.isupper(), s.istitle(), s.isidentifier()


def string_of_values(x: int, f: float, b: bool, xs: List[float]):
    return str(x), str(f), str(b), str(xs)


def characters(s: str) -> List[str]:
    return list(s)


def built_up(n: int) -> str:
    s = ""
    for i in range(n):
        s += str(i)
        s = s + ","
    return s


def in_text(s: str) -> bool:
    return "ell" in s and "z" not in s


def printed(x: int, s: str):
    print(x, s)
    print("a", 1.5, True, None, [x], (x, s))
    print()


def numbers_in_text(s: str) -> float:
    return float(s) + int(s)


def adjacent_calls(s: str) -> List[str]:
    return s.strip().lower().replace(",", " ").split()


CALLS = {
    "find_methods": [("hello",), ("hex",)],
    "strip_methods": [("xx padded  yy",)],
    "split_methods": [("one two  three",), ("a\nb c",)],
    "numbers_in_text": [("12",), ("x",)],
    "in_text": [("hello",)],
    "join_and_replace": [(["a", "b", "a"],)],
}
