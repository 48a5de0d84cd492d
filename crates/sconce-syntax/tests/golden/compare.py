#!/usr/bin/env python3
"""Puts PyTorch's text parser beside sconce's: trees, ranges, error texts, highlights.

    compare.py ORACLE ANSWER [--seed N] [--count N] [FILE.py | ARCHIVE.pt ...]

ORACLE is oracle.cpp compiled against libtorch (generate.py does it), ANSWER is
`target/optimized/examples/answer`. Files and the code of archives are parsed whole; then N random
programs, most of them valid, some damaged. Exits with 1 if anything differs that is not meant to.
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import zipfile


class Parser:
    """A parser behind a pipe."""

    def __init__(self, path):
        self.path = path
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, mode, text):
        data = text.encode()
        try:
            self.process.stdin.write(f"{mode} {len(data)}\n".encode() + data)
            self.process.stdin.flush()
            verdict, length = self.process.stdout.readline().split()
        except (BrokenPipeError, ValueError):
            self.process.kill()
            self.start()
            return "crash", ""
        return verdict.decode(), self.process.stdout.read(int(length)).decode(errors="replace")


def differs_on_purpose(text, theirs, ours):
    """Where sconce reads what PyTorch misreads; see the crate's lexer and parser."""
    if re.search(r"\bnot in\w|\bis not\w", text):
        return "word boundary"
    if theirs[0] == "ok" and re.search(r"\(const -[-0]", theirs[1]):
        return "sign"  # `- -1` is a number that PyTorch cannot read later; `-0` has no sign here
    if ours[0] != "ok" and theirs[0] == "ok" and re.search(
            "ill-formed integer|out of range|hexadecimal|not UTF-8", ours[1]):
        return "number or string checked later by PyTorch"
    if "INTERNAL ASSERT FAILED" in theirs[1] and ours[0] != "ok":
        return "PyTorch's own bug"
    if ours[0] == "ok" and "Unexpected token in code import: eof" in theirs[1]:
        return "import as the last line"
    if theirs[0] == "error" and "ill formed octal" in theirs[1] and "\\r" in text:
        return "carriage return"
    return None


def compare(oracle, answer, mode, text):
    """What differs, or None."""
    theirs, ours = oracle.ask(mode, text), answer.ask(mode, text)
    if (theirs[0] == "ok") != (ours[0] == "ok"):
        return differs_on_purpose(text, theirs, ours) or (theirs, ours)
    if theirs[0] != "ok" or mode.startswith("highlight"):
        # Where a token is invalid PyTorch names its first byte, sconce the character.
        named = re.sub(r"valid token but found '[^\x00-\x7f]'", "valid token but found '\ufffd'", ours[1])
        same = theirs[1].strip("\n") == named.strip("\n")
        return None if same else differs_on_purpose(text, theirs, ours) or (theirs, ours)
    (their_tree, their_places), (our_tree, our_places) = (
        said.rsplit("--\n", 1) for _, said in (theirs, ours))
    if their_tree != our_tree:
        return differs_on_purpose(text, theirs, ours) or (theirs, ours)
    places = zip(their_places.splitlines(), our_places.splitlines(), strict=True)
    wrong = [pair for pair in places if not pair[1].endswith("-\t-") and pair[0] != pair[1]]
    return wrong[0] if wrong else None


class Programs:
    """Random programs of the dialect."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def some(self, make, least=0, most=3):
        return [make() for _ in range(self.random.randint(least, most))]

    def name(self):
        return self.pick("x", "y", "self", "foo", "is_not", "notin", "torch", "ops", "_0", "T")

    def exp(self, depth=3):
        if depth <= 0 or self.random.random() < 0.2:
            return self.pick(
                self.name(), self.name(), "1", "2.5", "1e-3", ".5", "3.", "4j", "0x1F", "True", "False",
                "None", "NoneType", "...", "Ellipsis", '"s"', "'t' \"u\"", '"a\\n\\001\\"" ', "()", "[]", "{}",
                '"é"', "'''a\n b'''")
        sub = lambda: self.exp(depth - 1)
        kind = self.random.randrange(17)
        space = self.pick(" ", " ", "", "  ")
        if kind < 5:
            op = self.pick("+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "|", "^", "<",
                           ">", "<=", ">=", "==", "!=", " and ", " or ", " in ", " not in ", " is ",
                           " is not ")
            return f"{sub()}{space}{op}{space}{sub()}"
        if kind == 5:
            return self.pick("-", "not ", "~", "- ", "*") + sub()
        if kind == 6:
            return f"{sub()} if {sub()} else {sub()}"
        if kind == 7:
            return f"({sub()})"
        if kind == 8:
            return "(" + "".join(f"{it},{space}" for it in self.some(sub, 1)) + ")"
        if kind == 9:
            return "[" + f",{space}".join(self.some(sub)) + self.pick("", "") + "]"
        if kind == 10:
            return "{" + ", ".join(f"{sub()}:{space}{sub()}" for _ in range(self.random.randrange(3))) + "}"
        if kind == 11:
            return f"[{sub()} for {self.name()} in {sub()}]"
        if kind == 12:
            return f"{{{sub()}: {sub()} for {self.pick(self.name(), 'a.b', '(a, b)')} in {sub()}}}"
        if kind == 13:
            return f"{self.base(depth)}.{self.name()}"
        if kind in (14, 15):
            args = self.some(sub, 0, 2) + [f"{self.name()}={sub()}" for _ in range(self.random.randrange(2))]
            return f"{self.base(depth)}({', '.join(args)}{self.pick('', ', ') if args else ''})"
        index = lambda: self.pick(
            sub(), sub(), ":", f"{sub()}:", f":{sub()}", f"{sub()}:{sub()}", f"{sub()}::{sub()}", "::", ":2:")
        return f"{self.base(depth)}[{', '.join(self.some(index, 0, 3))}]"

    def base(self, depth):
        return self.pick(self.name(), self.name(), f"({self.exp(depth - 1)})", f"{self.name()}.{self.name()}")

    def tuple(self):
        return ", ".join(self.some(self.exp, 1, 2)) + self.pick("", "", "", ",")

    def stmts(self, indent, depth):
        return "".join(self.some(lambda: self.stmt(indent, depth), 1, 3))

    def stmt(self, indent, depth):
        inner = indent + self.pick("  ", "    ", "\t")
        block = lambda: self.stmts(inner, depth - 1)
        kind = self.random.randrange(22 if depth > 0 else 15)
        exp, end = self.exp, self.pick("", "", "", "  # said", " ") + "\n" + self.pick("", "", "", "\n", "  # x\n")
        if kind < 3:
            return f"{indent}{self.tuple()}{end}"
        if kind < 5:
            return f"{indent}{self.tuple()} = {self.tuple()}{end}"
        if kind == 5:
            return f"{indent}{exp()} = {exp()} = {self.tuple()}{end}"
        if kind == 6:
            return f"{indent}{exp()} : {exp()}{self.pick('', ' = ' + self.tuple())}{end}"
        if kind == 7:
            op = self.pick("+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>=", "**=")
            return f"{indent}{self.pick(exp(), self.name())} {op} {self.tuple()}{end}"
        if kind == 8:
            return f"{indent}return{self.pick('', ' ' + self.tuple())}{end}"
        if kind == 9:
            return f"{indent}raise {exp()}{end}"
        if kind == 10:
            return f"{indent}assert {exp()}{self.pick('', ', ' + exp())}{end}"
        if kind == 11:
            return f"{indent}{self.pick('pass', 'break', 'continue')}{end}"
        if kind == 12:
            return f"{indent}del {', '.join(self.some(exp, 1))}{end}"
        if kind == 13:
            return f"{indent}global {', '.join(self.some(self.name, 1))}{end}"
        if kind == 14:
            return f"{indent}x = (1,\n {exp()})\\\n  + 2{end}"
        if kind < 18:
            elifs = "".join(f"{indent}elif {exp()}:\n{block()}" for _ in range(self.random.randrange(3)))
            other = self.pick("", f"{indent}else:\n{block()}")
            return f"{indent}if {exp()}:{end}{block()}{elifs}{other}"
        if kind == 18:
            return f"{indent}while {exp()}:\n{block()}"
        if kind == 19:
            targets = ", ".join(self.some(lambda: self.pick(self.name(), "a.b", "a[0]", "(a, b)"), 1))
            return f"{indent}for {targets} in {', '.join(self.some(exp, 1))}:\n{block()}"
        if kind == 20:
            items = ", ".join(exp() + self.pick("", " as " + self.name()) for _ in range(self.random.randint(1, 2)))
            return f"{indent}with {items}:\n{block()}"
        return self.definition(indent, depth - 1)

    def definition(self, indent="", depth=2):
        params = []
        for _ in range(self.random.randrange(4)):
            params.append(self.name() + self.pick("", f": {self.exp(1)}") + self.pick("", "", f"={self.exp(1)}"))
        if params and self.random.random() < 0.2:
            params.insert(self.random.randrange(len(params)), "*")
        head = f"{indent}def {self.name()}({', '.join(params)}){self.pick('', ' -> ' + self.exp(1))}:"
        if self.random.random() < 0.1:
            return f"{head} {self.stmt('', 0)}"
        comment = ""
        if self.random.random() < 0.15:
            types = ", ".join(self.exp(1) for it in params if it != "*")
            comment = f"{indent}  # type: ({types}){self.pick('', f' -> {self.exp(1)}')}\n"
        return f"{head}\n{comment}{self.stmts(indent + '  ', depth)}"

    def class_(self):
        base = self.pick("", "(Module)", "(NamedTuple)", "(a.b)")
        body = "".join(self.some(lambda: self.pick(self.stmt("  ", 0), self.definition("  ", 1)), 1))
        return f"class {self.name()}{base}:\n{body}"

    def program(self):
        """A mode and a text."""
        mode = self.pick("exp", "exp", "def", "def", "method", "class", "module", "type")
        text = {
            "exp": self.exp, "def": self.definition, "method": self.definition, "class": self.class_,
            "module": lambda: "".join(self.some(lambda: self.pick(self.class_, self.definition, lambda: "import a.b\n")())),
            "type": lambda: f"# type: ({', '.join(self.some(self.exp))}) -> {self.exp()}",
        }[mode]()
        if self.random.random() < 0.3:
            text = self.damaged(text)
        return mode, text

    def damaged(self, text):
        at = self.random.randint(0, len(text))
        end = min(len(text), at + self.random.randint(0, 4))
        return text[:at] + self.pick("", "", " ", "(", ")", ":", "\n", "\n   ", ",", "=", "if", "for", "'",
                                     "\\", "1", "$", "#", "else", "not ", "*") + text[end:]


def codes(path):
    """Texts of a file: itself, or the code of an archive."""
    if path.suffix == ".py":
        yield path.name, path.read_text()
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                yield f"{path.name}:{name}", archive.read(name).decode()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("oracle")
    arguments.add_argument("answer")
    arguments.add_argument("files", nargs="*", type=pathlib.Path)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--count", type=int, default=2000)
    arguments = arguments.parse_args()
    oracle, answer = Parser(arguments.oracle), Parser(arguments.answer)
    asked, bad, meant = 0, 0, {}

    def check(mode, text, name):
        nonlocal asked, bad
        asked += 1
        difference = compare(oracle, answer, mode, text)
        if isinstance(difference, str):
            meant[difference] = meant.get(difference, 0) + 1
        elif difference:
            bad += 1
            if bad <= 5:
                print(f"== {name} {mode}\n{text}\n-- PyTorch\n{difference[0]}\n-- sconce\n{difference[1]}")

    for path in arguments.files:
        for name, text in codes(path):
            check("module", text, name)
    programs = Programs(arguments.seed)
    for number in range(arguments.count):
        mode, text = programs.program()
        check(mode, text, number)
        length = len(text.encode())
        start, end = sorted(programs.random.randint(0, length + 2) for _ in range(2))
        check(f"highlight:{start}:{end}{programs.pick('', ':x.py:7')}", text, number)
    print(f"{asked} compared, {bad} differ; on purpose: {meant}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
