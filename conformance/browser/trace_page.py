#!/usr/bin/env python3
"""Opens the page of `sconce trace --html` in a headless Chromium, at several steps, and compares what it shows.

    python3 conformance/browser/trace_page.py --sconce PATH [--chromium PATH] [--picture OUT.png]

What must hold at each step: the page counts the steps that `trace --json` gives, names the opcode, shows as many values
on the stack, highlights the opcode's bytes, and the buttons are off at the ends.
"""
import argparse
import html.parser
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "..", "..", "fixtures", "files", "2.15", "zip", "state_dict.pt")
TENSOR = "body.2.bn.weight"


class Page(html.parser.HTMLParser):
    """The texts of the elements that have an id, and which of them are disabled."""

    EMPTY = {"meta", "br", "input", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.text, self.disabled, self.items, self.marked = [], {}, set(), [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in self.EMPTY:
            return
        self.open.append((tag, attributes.get("id"), attributes.get("class") or ""))
        if "disabled" in attributes:
            self.disabled.add(attributes.get("id"))
        if tag == "li" and any(name == "stack" for _, name, _ in self.open) and "mark" not in self.open[-1][2]:
            self.items.append("")

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, name, _ in self.open:
            if name:
                self.text[name] = self.text.get(name, "") + data
        if self.open and self.open[-1][0] == "mark":
            self.marked.append(data)
        if self.items and self.open and self.open[-1][0] == "li" and any(n == "stack" for _, n, _ in self.open):
            self.items[-1] += data


def browse(chromium, folder, address, *flags):
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
               "--disable-background-networking", "--disable-component-update", "--disable-sync",
               "--user-data-dir=" + os.path.join(folder, "profile"), *flags, address]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120, check=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sconce", required=True)
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--picture")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "trace.html")
        subprocess.run([options.sconce, "-q", "trace", FILE, "--tensor", TENSOR, "--html", page], check=True)
        rows = subprocess.run([options.sconce, "trace", FILE, "--tensor", TENSOR, "--json"], check=True, stdout=subprocess.PIPE)
        steps = [json.loads(line) for line in rows.stdout.splitlines()]
        for number in (1, 2, len(steps) // 2, len(steps) - 2, len(steps)):
            seen = Page()
            seen.feed(browse(options.chromium, folder, f"file://{page}#{number}", "--dump-dom"))
            step = steps[number - 1]
            depth = sum(len(frame["values"]) for frame in [*step["metastack"], step["stack"]])
            wanted = {
                "place": (seen.text.get("place"), f"{number} of {len(steps)}"),
                "opcode": (seen.text.get("what", "")[:len(step["opcode"])], step["opcode"]),
                "bytes": ([*seen.marked][:1], step["raw"].split()[:1]),
                "back": ("back" in seen.disabled, number == 1),
                "forward": ("forward" in seen.disabled, number == len(steps)),
                "stack": (len(seen.items), depth),
            }
            for what, (found, want) in wanted.items():
                if found != want:
                    failed += 1
                    print(f"step {number}: {what} is {found!r}, not {want!r}")
        if options.picture:
            middle = next(at for at, step in enumerate(steps, 1) if step["opcode"] == "BINPERSID")
            browse(options.chromium, folder, f"file://{page}#{middle}", "--window-size=1200,640",
                   "--screenshot=" + os.path.abspath(options.picture))
    print(f"{5 - min(failed, 5)} of 5 steps as they are, {failed} differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
