#!/usr/bin/env python3
"""Whether torch.hub and sconce use each other's cache.

    cache.py --sconce BINARY

A server of its own stands for GitHub and for who has the weights; torch.hub's addresses are patched to it. Each way
begins with an empty cache, which one program fills; then the other must give the same without any request:

    list and the loaded state dict of a repository that one of them fetched
    the file of load_state_dict_from_url, with its hash checked, under the name the other looks for
    the list of trusted repositories: who is in it is not asked about by the other
    --python, which runs the same entry in this interpreter
"""
import argparse
import hashlib
import http.server
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run as environment  # noqa: E402

environment.in_environment_with_torch()
import torch  # noqa: E402

HUBCONF = '''
dependencies = ["torch"]
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.layer = nn.Linear(2, width)

    def forward(self, x):
        return self.layer(x)


def net(pretrained=False, **kwargs):
    """A small network."""
    model = Net(**kwargs)
    if pretrained:
        url = "WEIGHTS"
        model.load_state_dict(torch.hub.load_state_dict_from_url(url, progress=False, check_hash=True))
    return model
'''


class GitHub:
    """GitHub's pages, its API, and weights; counts what is asked for."""

    def __init__(self):
        self.asked = []
        self.files = {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                body = outer.files.get(self.path.split("?")[0])
                if self.path.endswith("page=2"):
                    body = b"[]"
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def taken(self):
        asked, self.asked = self.asked, []
        return asked


def filled():
    """A server with the repositories o/r and o/other, and the weights of their entry."""
    github = GitHub()
    torch.manual_seed(1)
    weights = io.BytesIO()
    torch.save(torch.nn.Sequential().state_dict() | {
        f"layer.{k}": v for k, v in torch.nn.Linear(2, 3).state_dict().items()}, weights)
    name = f"net-{hashlib.sha256(weights.getvalue()).hexdigest()[:8]}.pth"
    github.files[f"/{name}"] = weights.getvalue()
    for repository in ("r", "other"):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as out:
            out.writestr(f"o-{repository}-0123456/", "")
            out.writestr(f"o-{repository}-0123456/hubconf.py", HUBCONF.replace("WEIGHTS", f"{github.url}/{name}"))
        github.files |= {
            f"/o/{repository}/zipball/main": archive.getvalue(),
            f"/o/{repository}/tree/main/": b"<html>",
            f"/repos/o/{repository}/branches": b'[{"name": "main", "commit": {"sha": "0123456789"}}]',
            f"/repos/o/{repository}/tags": b"[]",
        }
    return github, name


def patched(github):
    """torch.hub with the server's addresses in the place of GitHub's, and nobody who answers."""
    open_url = torch.hub.urlopen
    for_real = getattr(open_url, "for_real", open_url)

    def redirected(request, *args, **kwargs):
        def here(url):
            for name in ("https://github.com", "https://api.github.com"):
                url = url.replace(name, github.url)
            return url

        if isinstance(request, str):
            request = here(request)
        else:
            request.full_url = here(request.full_url)
        return for_real(request, *args, **kwargs)

    redirected.for_real = for_real
    torch.hub.urlopen = redirected


class Sconce:
    def __init__(self, binary, github, home):
        self.binary, self.home = binary, home
        self.environment = dict(
            os.environ, TORCH_HOME=str(home), SCONCE_GITHUB_URL=github.url, SCONCE_GITHUB_API_URL=github.url)
        self.environment.pop("GITHUB_TOKEN", None)

    def call(self, *words, stdin=""):
        done = subprocess.run([self.binary, "hub", *words], env=self.environment, input=stdin, capture_output=True,
                              text=True, timeout=300)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def load(self, repository, *words):
        out = self.home / "out.pth"
        self.call("load", repository, "net", "pretrained=True", "-o", str(out), "--force", *words)
        return torch.load(out, weights_only=True)


def nobody(question=""):
    raise AssertionError(f"somebody was asked: {question}")


def same(one, other):
    return list(one) == list(other) and all(torch.equal(one[name], other[name]) for name in one)


def files(home):
    return sorted(str(path.relative_to(home)) for path in (home / "hub").rglob("*")
                  if path.is_file() and "__pycache__" not in path.parts)


def by_torch(home):
    os.environ["TORCH_HOME"] = str(home)
    model = torch.hub.load("o/r:main", "net", pretrained=True, trust_repo="check", verbose=False)
    names = torch.hub.list("o/r:main", trust_repo="check", verbose=False)
    return names, model.state_dict()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--sconce", required=True)
    binary = str(pathlib.Path(options.parse_args().sconce).resolve())
    github, weights = filled()
    patched(github)
    import builtins

    with tempfile.TemporaryDirectory() as scratch:
        # PyTorch fills the cache, and is asked once whether it trusts the repository.
        home = pathlib.Path(scratch) / "torch"
        home.mkdir()
        builtins.input = lambda question="": "y"
        names, state = by_torch(home)
        builtins.input = nobody
        written, sconce = files(home), Sconce(binary, github, home)
        github.taken()
        assert sconce.call("list", "o/r:main").split() == names, "list"
        assert same(sconce.load("o/r:main"), state), "sconce loads what PyTorch fetched"
        assert same(sconce.load("o/r:main", "--offline"), state), "without a server"
        path = sconce.call("download", f"{github.url}/{weights}", "--check-hash").split()[0]
        assert path == str(home / "hub" / "checkpoints" / weights), path
        assert github.taken() == [], "sconce asked for what PyTorch has in its cache"
        assert sconce.call("trust").split() == ["o_r"], "sconce reads PyTorch's list"
        assert files(home) == written, "the cache changed"

        # sconce fills the cache; PyTorch asks nobody and nothing.
        home = pathlib.Path(scratch) / "sconce"
        home.mkdir()
        sconce = Sconce(binary, github, home)
        assert sconce.call("list", "o/r:main").split() == names, "list"
        ours = sconce.load("o/r:main")
        sconce.call("trust", "o/r", "o/other")
        assert files(home) == written, f"{files(home)} instead of {written}"
        assert github.taken(), "it has to come from somewhere"
        again, loaded = by_torch(home)
        assert again == names and same(loaded, ours) and same(ours, state), "PyTorch loads what sconce fetched"
        assert github.taken() == [], "PyTorch asked for what sconce has in its cache"
        # Who is in the list is not asked about when the repository is fetched.
        torch.hub.list("o/other:main", trust_repo="check", verbose=False)
        assert (home / "hub" / "trusted_list").read_text() == "o_r\no_other\n"
        # What PyTorch adds without an end of line before it.
        (home / "hub" / "trusted_list").write_text("a_b")
        sconce.call("trust", "c/d")
        torch.hub._check_repo_is_trusted("c", "d", "c_d", trust_repo="check")
        assert sconce.call("trust").split() == ["a_b", "c_d"]

        # The user's own interpreter, which is asked about and then trusted.
        home = pathlib.Path(scratch) / "python"
        home.mkdir()
        sconce = Sconce(binary, github, home)
        out = home / "out.pth"
        words = ("load", "o/r:main", "net", "pretrained=True", "-o", str(out), f"--python={sys.executable}")
        sconce.call(*words, stdin="y\n")
        assert same(torch.load(out, weights_only=True), state), "--python"
        assert (home / "hub" / "trusted_list").read_text() == "o_r\n"
        refused = subprocess.run([binary, "hub", *words, "--force"], env=sconce.environment, input="n\n",
                                 capture_output=True, text=True, timeout=300)
        assert refused.returncode and "Untrusted repository." in refused.stderr, refused.stderr
        sconce.call(*words[:5], str(home / "out.pt"), words[-1], "--trust")
        assert same(torch.jit.load(home / "out.pt").state_dict(), state), "--python writes an archive"
    print("the cache is one: both programs used what the other fetched, without a request")


if __name__ == "__main__":
    main()
