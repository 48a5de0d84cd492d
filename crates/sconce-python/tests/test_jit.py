"""Programs: calls from any thread, sessions, limits, arguments of every kind."""

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest
import torch

import sconce


def test_a_call_is_pytorch_s(classifier, x):
    ours, theirs = sconce.jit.load(classifier), torch.jit.load(classifier)
    want = theirs(torch.from_numpy(x)).detach().numpy()
    for given in [x, torch.from_numpy(x), torch.from_numpy(x).requires_grad_(), x.tolist(), np.asfortranarray(x),
                  x[::-1][:1], x.astype(">f4")]:
        assert np.allclose(np.asarray(ours(given)), want, atol=1e-6)
    assert np.allclose(ours.forward(x, rounds=2), theirs(torch.from_numpy(x), rounds=2).detach().numpy(), atol=1e-6)
    assert ours.name_of(2) == theirs.name_of(2) == "bird"
    assert np.allclose(ours(sconce.load(_saved(x))), want, atol=1e-6)


def _saved(x):
    import io

    file = io.BytesIO()
    torch.save(torch.from_numpy(x), file)
    return file.getvalue()


def test_what_a_module_says_of_itself(classifier):
    ours, theirs = sconce.jit.load(classifier), torch.jit.load(classifier)
    assert ours.code == theirs.code and ours.graph == str(theirs.graph)
    assert ours.inlined_graph == str(theirs.inlined_graph)
    assert ours.schema("forward") == str(theirs.forward.schema)
    assert "for _ in range(rounds):" in ours.original_source("forward")
    assert "aten::linear" in ours.operators() and ours.missing() == []
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]
    assert [name for name, _ in ours.named_children()] == [name for name, _ in theirs.named_children()]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        assert torch.equal(ours.state_dict()[name].torch(), value)
    assert torch.equal(ours.encoder.weight.torch(), theirs.encoder.weight)
    with pytest.raises(AttributeError):
        ours.nothing
    with pytest.raises(sconce.ScriptError):
        ours.schema("nothing")


def test_saved_and_pickled(classifier, tmp_path, x):
    ours = sconce.jit.load(classifier, max_seconds=50)
    ours.save(tmp_path / "again.pt")
    assert np.allclose(torch.jit.load(tmp_path / "again.pt")(torch.from_numpy(x)).detach(), ours(x), atol=1e-6)
    for one in [pickle.loads(pickle.dumps(ours)), sconce.jit.load(open(classifier, "rb").read()),
                pickle.loads(pickle.dumps(sconce.jit.load(open(classifier, "rb")))),
                pickle.loads(pickle.dumps(ours.encoder)) and ours]:
        assert np.array_equal(one(x), ours(x))


def test_exact_products(tmp_path):
    torch.manual_seed(0)
    layer, picture = torch.nn.Conv2d(64, 64, 3, padding=1, bias=False), torch.randn(1, 64, 56, 56)
    torch.jit.trace(layer, picture).save(tmp_path / "layer.pt")
    want = layer.double()(picture.double()).detach().numpy()
    fast, exact = sconce.jit.load(tmp_path / "layer.pt"), sconce.jit.load(tmp_path / "layer.pt", exact=True)
    fewer, all_of_them = [np.asarray(module(picture)) for module in (fast, exact)]
    assert np.abs(fewer - want).max() < 1e-4 and np.abs(all_of_them - want).max() < 1e-4
    # Both round, and not alike: the first computes fewer products.
    assert not np.array_equal(fewer, all_of_them)
    assert np.array_equal(pickle.loads(pickle.dumps(exact))(picture), all_of_them)
    with fast.session(exact=True) as session:
        assert np.array_equal(session(picture), all_of_them)


def test_less_precision(tmp_path):
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(256, 100), torch.randn(9, 256)
    torch.jit.trace(layer, x).save(tmp_path / "layer.pt")
    want = layer(x).detach().numpy()
    error = lambda found: np.sqrt(np.mean((np.asarray(found) - want) ** 2) / np.mean(want**2))
    full = sconce.jit.load(tmp_path / "layer.pt")
    assert error(full(x)) < 1e-6
    for precision in ("bf16", "int8-weights"):
        less = sconce.jit.load(tmp_path / "layer.pt", precision=precision)
        assert 1e-3 < error(less(x)) < 8e-3
        assert np.array_equal(pickle.loads(pickle.dumps(less))(x), less(x))
        with full.session(precision=precision) as session, less.session(precision="full") as other:
            assert np.array_equal(session(x), less(x)) and np.array_equal(other(x), full(x))
    for options in ({"precision": "half"}, {"precision": "bf16", "exact": True}, {"precision": "bf16", "optimize": False}):
        with pytest.raises(ValueError, match="precision"):
            sconce.jit.load(tmp_path / "layer.pt", **options)


def test_values_of_every_kind(programs, x):
    ours = sconce.jit.load(programs)
    pair, names, sizes, rest = ours.collect(x, ["a", "b"], {"n": 3})
    assert np.array_equal(pair["y"], 2 * x) and names == ["a", "b"] and sizes == {"n": 3}
    assert rest == (1, 2.5, True, None)
    assert ours.collect(x, [], {})[1] == []


def test_exported_programs(shapes):
    ours = sconce.jit.load(shapes)
    theirs = torch.export.load(shapes).module()
    x = np.random.default_rng(0).random((2, 3, 32, 32), dtype=np.float32)
    assert np.allclose(ours(x), theirs(torch.from_numpy(x)).detach().numpy(), atol=1e-5)
    assert np.array_equal(pickle.loads(pickle.dumps(ours))(x), ours(x))


def test_source_is_compiled(tmp_path):
    twice = sconce.jit.script("def twice(x: int) -> int:\n    return x * 2\n")
    assert twice(21) == 42
    (tmp_path / "f.py").write_text("def f(x, y: float):\n    return x + y\n\ndef g(x):\n    return f(x, 2.0)\n")
    assert sconce.jit.script(tmp_path / "f.py", "g")(np.ones(2)).tolist() == [3, 3]
    with pytest.raises(sconce.ScriptError):
        sconce.jit.script("def bad(x):\n    return x.nothing.at.all(\n")
    with pytest.raises(sconce.ScriptError):
        sconce.jit.script("def bad(x: int) -> str:\n    return x\n")


def test_what_a_program_raises(programs, x):
    ours = sconce.jit.load(programs)
    with pytest.raises(sconce.ScriptError, match="not like this") as caught:
        ours.refuse(1)
    assert caught.value.exception == "builtins.ValueError" and "Traceback of TorchScript" in caught.value.traceback
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.exception == caught.value.exception and str(again) == str(caught.value)
    with pytest.raises(RuntimeError):
        ours(np.ones((1, 5), np.float32))
    with pytest.raises(sconce.ArgumentError, match="Expected a value of type 'Tensor' for argument 'x'"):
        ours("text")
    with pytest.raises(TypeError):
        ours()
    with pytest.raises(TypeError):
        ours(x, x, x)
    with pytest.raises(sconce.ArgumentError):
        ours(object())
    with pytest.raises(sconce.ArgumentError):
        ours.spin(2**70)


def test_limits(programs):
    with pytest.raises(sconce.LimitError) as caught:
        sconce.jit.load(programs, max_steps=1000).spin(10**9)
    assert caught.value.limit == "steps" and isinstance(caught.value, sconce.ScriptError)
    begun = time.monotonic()
    with pytest.raises(TimeoutError) as caught:
        sconce.jit.load(programs, max_seconds=0.2).spin(10**12)
    assert caught.value.limit == "time" and time.monotonic() - begun < 2
    with pytest.raises(MemoryError) as caught:
        sconce.jit.load(programs, max_memory="100MB").hoard(1000)
    assert caught.value.limit == "memory"
    ours = sconce.jit.load(programs)
    with pytest.raises(sconce.LimitError):
        with ours.session(max_steps=100) as session:
            session.spin(10**6)
    assert ours.spin(10) == sum(i % 7 for i in range(10))
    for wrong in [{"max_seconds": -1}, {"max_memory": "much"}]:
        with pytest.raises(ValueError):
            sconce.jit.load(programs, **wrong)


def test_calls_are_stateless_and_sessions_are_not(counter):
    ours = sconce.jit.load(counter)
    x = np.ones(2, np.float32)
    for _ in range(3):
        count, total = ours(x)
        assert count == 1 and total.tolist() == [1, 1]
    with ours.session() as session:
        for round in range(1, 4):
            count, total = session(x)
            assert count == round and total.tolist() == [round, round]
    with pytest.raises(sconce.ScriptError):
        session(x)
    assert ours.total.tolist() == [0, 0]


def test_a_session_stays_on_its_thread(classifier, x):
    session = sconce.jit.load(classifier).session()
    session(x)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(sconce.ScriptError, match="thread"):
            pool.submit(session, x).result()
        holder = [session]
        del session
        pool.submit(holder.clear).result()


def test_arguments_stay_as_they_are(programs):
    ours = sconce.jit.load(programs)
    for x in [np.ones(100, np.float32), torch.ones(100)]:
        assert np.asarray(ours.write(x)).tolist() == [2] * 100
        assert x.tolist() == [1] * 100
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    assert ours.write(frozen).tolist() == [2, 2, 2]


def test_threads_call_side_by_side(programs):
    ours = sconce.jit.load(programs)
    want = np.asarray(ours(np.ones((1, 3), np.float32)))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: np.asarray(ours(np.ones((1, 3), np.float32))), range(400)):
            assert np.array_equal(result, want)
    running = threading.Thread(target=lambda: ours.spin(3 * 10**6))
    running.start()
    ticks = 0
    while running.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 3


def _in_child(ours, x, queue):
    queue.put(np.asarray(ours(x)).sum())


def test_a_fork_after_use(shapes, tmp_path):
    ours = sconce.jit.load(shapes)
    x = np.ones((4, 3, 64, 64), np.float32)
    sconce.set_num_threads(4)
    want = np.asarray(ours(x)).sum()
    sconce.save({"x": np.zeros(1 << 22, np.float32)}, tmp_path / "x.pt")
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        queue = context.Queue()
        child = context.Process(target=_in_child, args=(ours, x, queue))
        child.start()
        assert queue.get(timeout=60) == want
        child.join(60)
        assert child.exitcode == 0
    child = context.Process(target=lambda: os._exit(0 if sconce.verify(tmp_path / "x.pt")["sound"] else 1))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def test_ctrl_c(programs):
    # What a shell runs in the background ignores the signal, and so would this.
    code = f"""
import sconce, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
m = sconce.jit.load({programs!r})
print("ready", flush=True)
try:
    m.spin(10**12)
except KeyboardInterrupt:
    print("interrupted", m.spin(7), flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    begun = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted 21\n"
    assert time.monotonic() - begun < 1 and child.wait(10) == 0


class Liar:
    """An object that says what it likes of DLPack."""

    def __init__(self, device=(1, 0), given=None):
        self.device, self.given = device, given

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def test_lies_are_exceptions(programs):
    ours = sconce.jit.load(programs)
    used = torch.ones(1, 3).__dlpack__()
    torch.from_dlpack(used)
    for liar in [Liar(device=(2, 0)), Liar(given=3), Liar(given=used), Liar(given=RuntimeError("no")), Liar(device="x")]:
        with pytest.raises(sconce.SconceError):
            ours(liar)
    with pytest.raises(sconce.SconceError):
        ours(torch.ones(1, 3, device="meta"))
    with pytest.raises(sconce.SconceError):
        ours(torch.eye(3).to_sparse())
    with pytest.raises(sconce.SconceError):
        ours(np.array(["a"]))
    with pytest.raises(ValueError):
        ours([[1.0, 2.0], [3.0]])


def test_other_dtypes_of_arguments():
    same = sconce.jit.script("def same(x):\n    return x + x\n")
    for name in ["bfloat16", "float16", "float64", "int64", "uint8", "complex64"]:
        x = np.ones(3, getattr(ml_dtypes, name, None) or name)
        assert np.asarray(same(x)).dtype == x.dtype


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_leaks(programs, digits):
    ours = sconce.jit.load(programs)
    x = np.ones((1, 3), np.float32)

    def rounds(count):
        for _ in range(count):
            np.asarray(ours(x))
            torch.from_dlpack(ours(torch.from_numpy(x)))
            memoryview(ours(x)).release()
            ours(x).__dlpack__()
            try:
                ours("text")
            except sconce.ArgumentError:
                pass

    rounds(500)
    before = _resident()
    rounds(10_000)
    assert _resident() - before < 4 << 20
    held = sys.getrefcount(x)
    rounds(10)
    assert sys.getrefcount(x) == held
    for _ in range(100):
        sconce.load(digits)
    before = _resident()
    for _ in range(2000):
        sconce.load(digits)
    assert _resident() - before < 4 << 20


def test_dir_has_what_the_program_has(programs):
    names = dir(sconce.jit.load(programs))
    assert {"forward", "spin", "linear", "training", "named_parameters", "__call__"} <= set(names)
    assert len(names) == len(set(names))


def test_tensors_of_torch_of_every_kind(programs):
    same = sconce.jit.script("import torch\ndef same(x: torch.Tensor):\n    return x\n")
    made = torch.arange(6.0).reshape(2, 3)
    kinds = [made, made.t(), made[:, ::2], made.expand(4, 2, 3), made.clone().requires_grad_(), torch.nn.Parameter(made),
             made.as_subclass(type("Sub", (torch.Tensor,), {})), torch.zeros(0, 3), torch.tensor(2.0), made > 2, made.long()]
    complex_numbers = torch.view_as_complex(torch.randn(3, 2))
    kinds += [complex_numbers, complex_numbers.conj(), complex_numbers.conj().imag]
    for given in kinds:
        expected = given.detach().resolve_conj().resolve_neg().as_subclass(torch.Tensor)
        assert torch.equal(same(given).torch(), expected)
    for kind in (torch.bfloat16, torch.float16, torch.uint16, torch.float8_e4m3fn):
        assert same(made.to(kind)).dtype == str(kind)
    for given in (made.to("meta"), made.to_sparse(), torch.quantize_per_tensor(made, 0.1, 0, torch.qint8)):
        with pytest.raises(sconce.UnsupportedError):
            same(given)
