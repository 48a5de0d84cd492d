"""What torch.jit.trace records, alone and mixed with scripting."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import made, t

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2)
        self.head = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.conv(x)))
        return self.head(x.view(x.size(0), -1))


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 1):
            return x + 1
        return x - 1


image = t(1, 1, 4, 4)


@made((image,))
def traced_net():
    return torch.jit.trace(Net().eval(), image)


@made((t(2, 3),))
def traced_function():
    def function(x):
        return torch.cat([x, x * 2.5, torch.zeros(2, 3)], dim=1)[:, 1:] ** 2 - x.mean()

    return torch.jit.trace(function, t(2, 3))


@made((t(3),))
def traced_written_constant():
    """A constant that is read and then written: its two uses are one object."""
    held = torch.tensor([1.0, 2.0, 3.0])

    def function(x):
        before = held + x
        held.mul_(x)
        return before, held * 2

    return torch.jit.trace(function, t(3), check_trace=False)


@made((t(2), t(2)))
def traced_results():
    """Tuples, lists and dicts in and out."""

    def function(x, y):
        return {"sum": x + y, "product": x * y}

    return torch.jit.trace(function, (t(2), t(2)), strict=False)


@made((t(2), (t(2), t(2))))
def traced_nested_arguments():
    def function(x, pair):
        return x + pair[0], [pair[1], x], (x, (pair[0] * 2,))

    return torch.jit.trace(function, (t(2), (t(2), t(2))))


@made(({"a": t(2), "b": t(2)},))
def traced_dict_argument():
    return torch.jit.trace(lambda table: table["a"] + table["b"], ({"a": t(2), "b": t(2)},))


@made((t(3),))
def traced_scripted_part():
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.jit.script(Branching())

        def forward(self, x):
            return self.inner(x) * 2

    return torch.jit.trace(Whole(), t(3))


@made((t(3),))
def traced_scripted_function():
    @torch.jit.script
    def clipped(x: Tensor, n: int) -> Tensor:
        while bool(x.max() > 1):
            x = x / n
        return x

    return torch.jit.trace(lambda x: clipped(x, 2) + 1, t(3))


@made((t(1, 1, 4, 4),))
def scripted_traced_part():
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.jit.trace(Net().eval(), image)

        def forward(self, x: Tensor) -> Tensor:
            if x.dim() == 4:
                return self.net(x)
            return x

    return torch.jit.script(Whole().eval())


@made((t(2),))
def traced_methods():
    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(t(2))

        def forward(self, x):
            return x * self.weight

        def other(self, x, y):
            return x + y * self.weight

    return torch.jit.trace_module(Several(), {"forward": t(2), "other": (t(2), t(2))})


@made((t(2, 2),))
def traced_in_place():
    def function(x):
        y = x.clone()
        y[0] = 5
        y[:, 1] += 2
        y.mul_(2).add_(1)
        return y

    return torch.jit.trace(function, t(2, 2))


@made((t(2, 3),))
def traced_shapes():
    def function(x):
        n = x.shape[0] * x.size(1)
        return x.reshape(n), torch.arange(n), x.new_zeros(x.shape), x[torch.tensor([1, 0])]

    return torch.jit.trace(function, t(2, 3))


@made((t(3, 1, 4),))
def traced_lstm():
    return torch.jit.trace(nn.LSTM(4, 3, 2, bidirectional=True).eval(), t(3, 1, 4))


@made((t(3, 1, 4),))
def traced_encoder():
    module = nn.TransformerEncoderLayer(4, 2, 8).eval()
    return torch.jit.trace(module, t(3, 1, 4), check_trace=False)


@made((t(2),))
def traced_shared():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(2, 2)
            self.two = self.one
            self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

        def forward(self, x):
            x = self.two(self.one(x))
            for layer in self.layers:
                x = layer(x)
            return x

    return torch.jit.trace(Shared(), t(2))


@made((t(2),))
def traced_dtypes():
    def function(x):
        return (x.to(torch.float64), x.half(), x.long(), x.to("cpu", torch.int32), x > 0, x.bool(),
                torch.full((2,), 3, dtype=torch.int64), torch.tensor(2.5) * x)

    return torch.jit.trace(function, t(2))


@made((torch.tensor([0, 2]),))
def traced_embedding():
    return torch.jit.trace(nn.Sequential(nn.Embedding(3, 2), nn.LayerNorm(2)), torch.tensor([0, 2]))
