"""Writing to tensors of which an element stands for several, and to those that share elements with what
is read: what raises, and what does not."""
import torch
from torch import Tensor

from registry import Case, register, t

# Of x, a view; `y` and `m` are of its sizes, and share nothing with it.
IN_PLACE = """
x.add_(1) | x.add_(y) | x.sub_(y) | x.mul_(2) | x.div_(y + 1) | x.relu_() | x.sigmoid_() | x.copy_(y) | x.fill_(2)
x.zero_() | x.masked_fill_(m, 2.0) | x.index_fill_(0, torch.zeros([1], dtype=torch.long), 1.0) | x.tril_()
x.index_put_([torch.zeros([1], dtype=torch.long)], torch.ones([1])) | x.clamp_(0, 1) | x.clamp_min_(0) | x.pow_(2)
x.scatter_(0, torch.zeros([2, 3], dtype=torch.long), 1.0) | x.index_add_(0, torch.zeros([1], dtype=torch.long), y[:1])
x.index_copy_(0, torch.zeros([1], dtype=torch.long), y[:1]) | x.cumsum_(0) | x.normal_() | x.uniform_()
x.masked_scatter_(m, y) | x.lerp_(y, 0.5) | x.addcmul_(y, y) | torch.dropout_(x, 0.5, True)
x.eq_(1) | x.logical_not_() | x.exp_() | x.round_() | x.addmm_(torch.ones([2, 2]), y) | x.nan_to_num_() | x.silu_()
torch.threshold_(x, 0.0, 0.0) | x.scatter_add_(0, torch.zeros([2, 3], dtype=torch.long), y) | x.transpose_(0, 1)
torch.add(y, 1, out=x) | torch.mul(y, y, out=x) | y.copy_(x) | y.add_(x) | x.atan2_(y) | x.fmod_(2) | x.floor_divide_(2)
"""
# Of x, a vector of six.
SHARED = """
x[1:].add_(x[:-1]) | x[1:].copy_(x[:-1]) | x.add_(x) | x.sub_(x.view([6])) | x[::2].add_(x[1::2]) | x.add_(x[0])
x.mul_(x[3]) | x.div_(x[0:1]) | x[1:].mul_(x[:-1]) | x[:3].add_(x[3:]) | x[1:].clamp_(x[:-1]) | x[1:].pow_(x[:-1])
x[1:].lerp_(x[:-1], 0.5) | x[1:].addcmul_(x[:-1], x[:-1]) | x[1:].eq_(x[:-1]) | x[1:].copy_(x[:-1].clone())
x.index_put_([torch.arange(2)], x[2:4]) | x.index_put_([torch.arange(6)], x) | x.index_put_([x > 1], x[0])
x.scatter_(0, torch.arange(2), x[2:4]) | x.scatter_add_(0, torch.arange(6), x) | x.index_add_(0, torch.arange(2), x[2:4])
x.index_copy_(0, torch.arange(2), x[2:4]) | x.masked_fill_(x > 1, x[0])
x.view([2, 3]).add_(x.view([3, 2]).t()) | x[1:].add_(x[:-1].to(torch.float64)) | x.as_strided([2, 3], [2, 1]).zero_()
x.view([3, 2])[:, 0].add_(x.view([3, 2])[:, 1]) | x[:4].view([2, 2]).add_(x[:4].view([2, 2]).t()) | x[1:1].add_(x[0:0])
"""


def program(body):
    source = f"def f(x: Tensor, y: Tensor, m: Tensor):\n    r = {body}\n    return r.clone(), x.clone()\n"
    return lambda: torch.jit.CompilationUnit(source).f


def split(lines):
    return [body.strip() for line in lines.strip().splitlines() for body in line.split("|")]


def calls(*targets):
    """What is written to is made anew for each program."""
    return tuple((target, t(2, 3) + 1, t(2, 3) > 1) for target in targets)


for at, body in enumerate(split(IN_PLACE)):
    targets = (t(1, 3).expand(2, 3), t(2, 1).expand(2, 3), t(2, 3), t(3, 2).t())
    register(f"overlap_repeated_{at}", Case(program(body), calls(*targets), ready=True))
for at, body in enumerate(split(SHARED)):
    register(f"overlap_shared_{at}", Case(program(body), calls(t(6)), ready=True))
