"""Calls an entry of a repository with PyTorch, and writes what it gives: run by `sconce hub load --python`.

The first argument is the request, the second the file for the answer, JSON both.
"""
import ast
import json
import os
import sys


class _Wrong(Exception):
    pass


def _value(node):
    if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[node.id]
    return ast.literal_eval(node)


def _arguments(words):
    call = ast.parse("f(\n" + ",\n".join(words) + "\n)", mode="eval").body
    keywords = {keyword.arg: _value(keyword.value) for keyword in call.keywords}
    return [_value(node) for node in call.args], keywords


def _named(value):
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_state_dict(value):
    import torch

    tensors = isinstance(value, dict) and value
    return bool(tensors) and all(isinstance(entry, torch.Tensor) for entry in value.values())


def _write(request, made):
    import torch

    rest = []
    if isinstance(made, (tuple, list)):
        writable = [isinstance(one, torch.nn.Module) or _is_state_dict(one) for one in made]
        if True not in writable:
            raise _Wrong(f"{request['entry']}() gives no module: there is nothing to be written")
        at = writable.index(True)
        rest = ["an object of type " + type(one).__name__ for one in [*made[:at], *made[at + 1 :]]]
        made = made[at]
    answer = {"class": _named(made), "rest": rest}
    if isinstance(made, torch.jit.ScriptModule):
        torch.jit.save(made, request["output"])
        return answer | {"written": "archive", "class": None}
    if _is_state_dict(made):
        torch.save(made, request["output"])
        return answer | {"written": "state_dict", "class": None}
    if not isinstance(made, torch.nn.Module):
        raise _Wrong(
            f"{request['entry']}() gives an object of type {type(made).__name__}, and no module: "
            "there is nothing to be written"
        )
    if not request["archive"]:
        torch.save(made.state_dict(), request["output"])
        return answer | {"written": "state_dict"}
    torch.jit.save(torch.jit.script(made), request["output"])
    return answer | {"written": "archive"}


def _run(request):
    import torch

    torch.hub.set_dir(request["hub_dir"])
    sys.path.extend(request["path"])
    args, keywords = _arguments(request["arguments"])
    made = torch.hub.load(request["folder"], request["entry"], *args, source="local", **keywords)
    return _write(request, made)


def _main():
    # What the repository prints is not what the command gives.
    os.dup2(2, 1)
    try:
        answer = _run(json.loads(sys.argv[1]))
    except _Wrong as error:
        answer = {"error": str(error)}
    except ModuleNotFoundError as error:
        answer = {"error": f"{type(error).__name__}: {error}", "module": error.name}
    except Exception as error:
        import traceback

        traceback.print_exc()
        answer = {"error": f"{type(error).__name__}: {error}"}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(answer, file)


_main()
