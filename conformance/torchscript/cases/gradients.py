"""Derivatives asked for inside programs: forces of potentials, guidance, steps of descent, mistakes."""
import math
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from registry import derived, made, t


def atoms(count: int) -> Tensor:
    """Places about one apart, the same every time."""
    index = torch.arange(count, dtype=torch.float32)
    grid = torch.stack([index % 2, (index // 2) % 2, index // 4], 1)
    return 1.3 * grid + 0.2 * torch.stack([index.sin(), (2 * index).cos(), (3 * index).sin()], 1)


def pairs(count: int) -> Tuple[Tensor, Tensor]:
    both = [(a, b) for a in range(count) for b in range(count) if a != b]
    return torch.tensor([a for a, _ in both]), torch.tensor([b for _, b in both])


KINDS = torch.tensor([0, 1, 1, 0, 2, 1])


# Potentials.

@derived((atoms(5), *pairs(5)), (atoms(8).double(), *pairs(8)))
def lennard_jones(positions: Tensor, first: Tensor, second: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    positions = positions.detach().requires_grad_(True)
    far = torch.norm(positions.index_select(0, second) - positions.index_select(0, first), dim=1)
    power = (1.1 / far) ** 6
    energies = 4 * 0.7 * (power * power - power) / 2
    by_atom = torch.zeros(positions.size(0), dtype=positions.dtype).index_add(0, first, energies)
    energy = by_atom.sum()
    gradient = torch.autograd.grad([energy], [positions])[0]
    assert gradient is not None
    return energy.detach(), by_atom.detach(), -gradient


@derived((atoms(6), KINDS, *pairs(6)))
class SchNetLike(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(4, 8)
        self.filters = nn.ModuleList([nn.Sequential(nn.Linear(5, 8), nn.Softplus(), nn.Linear(8, 8)) for _ in range(2)])
        self.before = nn.ModuleList([nn.Linear(8, 8, bias=False) for _ in range(2)])
        self.after = nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.Softplus(), nn.Linear(8, 8)) for _ in range(2)])
        self.readout = nn.Sequential(nn.Linear(8, 4), nn.SiLU(), nn.Linear(4, 1))
        self.register_buffer("centres", torch.linspace(0, 3, 5))

    def energy(self, positions: Tensor, kinds: Tensor, first: Tensor, second: Tensor) -> Tensor:
        distance = (positions[first] - positions[second]).pow(2).sum(-1).sqrt()
        radial = torch.exp(-2.0 * (distance.unsqueeze(-1) - self.centres) ** 2)
        cutoff = 0.5 * (torch.cos(distance * math.pi / 3) + 1.0) * (distance < 3).to(distance.dtype)
        x = self.embedding(kinds)
        for filters, before, after in zip(self.filters, self.before, self.after):
            messages = before(x)[second] * filters(radial) * cutoff[:, None]
            gathered = torch.zeros_like(x)
            gathered = gathered.scatter_add(0, first.unsqueeze(-1).expand_as(messages), messages)
            x = x + after(gathered)
        return self.readout(x).sum()

    def forward(self, positions: Tensor, kinds: Tensor, first: Tensor, second: Tensor) -> Dict[str, Tensor]:
        positions = positions.detach().requires_grad_(True)
        energy = self.energy(positions, kinds, first, second)
        gradient = torch.autograd.grad([energy], [positions], create_graph=False)[0]
        if gradient is None:
            gradient = torch.zeros_like(positions)
        return {"energy": energy.detach(), "forces": -gradient}


@derived((atoms(5).unsqueeze(0), KINDS[:5].unsqueeze(0)))
class AniLike(nn.Module):
    """Symmetry functions of pairs and triples, and a network for each kind."""

    def __init__(self):
        super().__init__()
        self.networks = nn.ModuleList([nn.Sequential(nn.Linear(7, 6), nn.CELU(0.1), nn.Linear(6, 1)) for _ in range(3)])
        self.register_buffer("shifts", torch.tensor([0.5, 1.0, 1.5, 2.0]))
        self.register_buffer("angles", torch.tensor([0.3, 1.2, 2.4]))

    def forward(self, coordinates: Tensor, species: Tensor) -> Tuple[Tensor, Tensor]:
        coordinates = coordinates.detach().requires_grad_(True)
        count = species.size(1)
        indices = torch.triu_indices(count, count, 1)
        vectors = coordinates.index_select(1, indices[0]) - coordinates.index_select(1, indices[1])
        distances = vectors.norm(2, -1)
        cutoff = 0.5 * torch.cos(distances * (math.pi / 5.2)) + 0.5
        terms = 0.25 * torch.exp(-4.0 * (distances.unsqueeze(-1) - self.shifts) ** 2) * cutoff.unsqueeze(-1)
        radial = terms.new_zeros(1, count, 4)
        radial.index_add_(1, indices[0], terms)
        radial.index_add_(1, indices[1], terms)
        whole = coordinates.unsqueeze(1) - coordinates.unsqueeze(2)
        lengths = (whole.pow(2).sum(-1) + torch.eye(count)).sqrt()
        cosines = torch.einsum("nijx,nikx->nijk", whole, whole) / (lengths.unsqueeze(3) * lengths.unsqueeze(2))
        theta = torch.acos(0.95 * cosines)
        angular = ((1 + torch.cos(theta.unsqueeze(-1) - self.angles)) / 2).pow(8).sum([2, 3])
        features = torch.cat([radial, angular * 0.05], -1)
        flat = features.flatten(0, 1)
        kinds = species.flatten()
        energies = torch.zeros(kinds.size(0))
        for kind, network in enumerate(self.networks):
            chosen = (kinds == kind).nonzero().flatten()
            if chosen.numel() > 0:
                energies = energies.masked_scatter(kinds == kind, network(flat.index_select(0, chosen)).flatten())
        energy = energies.view_as(species).sum(1)
        gradient = torch.autograd.grad([energy.sum()], [coordinates])[0]
        assert gradient is not None
        return energy.detach(), -gradient


@derived((atoms(6), *pairs(6)))
class Equivariant(nn.Module):
    """Vectors and their products, and the derivative by a strain of space."""

    def __init__(self):
        super().__init__()
        self.radial = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 6))
        self.mix = nn.Parameter(torch.randn(6, 6) / 3)
        coupling = torch.zeros(3, 3, 3)
        for a, b, c, sign in ((0, 1, 2, 1), (1, 2, 0, 1), (2, 0, 1, 1), (0, 2, 1, -1), (2, 1, 0, -1), (1, 0, 2, -1)):
            coupling[a, b, c] = sign
        self.register_buffer("coupling", coupling)

    def forward(self, positions: Tensor, first: Tensor, second: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        positions = positions.detach().requires_grad_(True)
        strain = torch.zeros(3, 3, dtype=positions.dtype).requires_grad_(True)
        symmetric = 0.5 * (strain + strain.transpose(-1, -2))
        moved = positions + torch.matmul(positions, symmetric)
        vectors = moved[second] - moved[first]
        lengths = torch.linalg.norm(vectors, dim=-1, keepdim=True)
        directions = vectors / lengths
        orders = torch.arange(1, 5, dtype=positions.dtype)
        basis = math.sqrt(0.5) * torch.sin(orders * math.pi * lengths / 4) / lengths
        u = lengths / 4
        envelope = 1 - 21 * u.pow(5) + 35 * u.pow(6) - 15 * u.pow(7)
        weights = self.radial(basis * envelope)
        x, y, z = directions[:, 0], directions[:, 1], directions[:, 2]
        second_order = torch.stack([x * y, y * z, 0.5 * (3 * z * z - 1), x * z, 0.5 * (x * x - y * y)], -1)
        messages = torch.einsum("ec,ei->eci", weights, directions)
        others = torch.einsum("ec,em->ecm", weights, second_order)
        sums = torch.zeros(positions.size(0), 6, 3, dtype=positions.dtype).index_add(0, first, messages)
        more = torch.zeros(positions.size(0), 6, 5, dtype=positions.dtype).index_add(0, first, others)
        mixed = torch.einsum("nci,cd->ndi", sums, self.mix)
        crossed = torch.einsum("abc,nka,nkb->nkc", self.coupling, sums, mixed)
        scalars = (crossed * crossed).sum(-1).sum(-1) + more.square().sum([1, 2]) + (sums * mixed).sum([1, 2])
        energy = torch.tanh(scalars).sum()
        outputs = torch.jit.annotate(List[Optional[Tensor]], [torch.ones_like(energy)])
        forces, virial = torch.autograd.grad(
            [energy], [positions, strain], grad_outputs=outputs, retain_graph=True, create_graph=True, allow_unused=True)
        assert forces is not None and virial is not None
        return energy.detach(), -forces.detach(), virial.detach()


@derived((t(2, 3, 6, 6) / 20 - 1, torch.tensor([1, 3])))
class Guidance(nn.Module):
    """The gradient of a class's log-probability by an image."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU(), nn.AvgPool2d(2), nn.Conv2d(4, 6, 3, stride=2, padding=1),
            nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4))

    def forward(self, image: Tensor, classes: Tensor) -> Tensor:
        x = image.detach().requires_grad_(True)
        logarithms = torch.log_softmax(self.layers(x), -1)
        chosen = logarithms[torch.arange(logarithms.size(0)), classes]
        gradient = torch.autograd.grad([chosen.sum()], [x])[0]
        assert gradient is not None
        return gradient * 2.5


@derived((t(3, 4) - 2, torch.tensor([0, 2, 1])))
class Training(nn.Module):
    """Derivatives by parameters, as a step of training takes them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 5)
        self.norm = nn.LayerNorm(5)
        self.second = nn.Linear(5, 3)

    def forward(self, x: Tensor, classes: Tensor) -> List[Optional[Tensor]]:
        scores = self.second(self.norm(torch.tanh(self.first(x))))
        loss = torch.nn.functional.cross_entropy(scores, classes)
        return torch.autograd.grad([loss], [self.first.weight, self.first.bias, self.norm.weight, self.second.weight])


@derived((t(5, 2, 3) / 5 - 2,))
class LstmDerived(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True)

    def forward(self, x: Tensor) -> List[Optional[Tensor]]:
        x = x.detach().requires_grad_(True)
        result, (hidden, cell) = self.layer(x)
        return torch.autograd.grad([(result * result).sum() + hidden.sum() + cell.exp().sum()], [x])


@derived((t(2, 5, 3) / 5 - 2,), (t(5, 3) / 5 - 1,))
class GruDerived(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(3, 4, batch_first=True)
        self.plain = nn.RNN(4, 2, batch_first=True, nonlinearity="relu")

    def forward(self, x: Tensor) -> List[Optional[Tensor]]:
        x = x.detach().requires_grad_(True)
        result, hidden = self.layer(x)
        more, last = self.plain(result)
        return torch.autograd.grad([(more * more).sum() + hidden.sin().sum() + last.sum()], [x])


@derived((t(4, 3) / 5 - 1,))
class CellsDerived(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(3, 4)
        self.gru = nn.GRUCell(4, 4, bias=False)
        self.rnn = nn.RNNCell(4, 3)

    def forward(self, x: Tensor) -> List[Optional[Tensor]]:
        x = x.detach().requires_grad_(True)
        hidden, cell = self.lstm(x)
        hidden, cell = self.lstm(x * 2, (hidden, cell))
        hidden = self.gru(cell, hidden)
        result = self.rnn(hidden)
        return torch.autograd.grad([(result * result).sum()], [x])


@derived((t(2, 3, 8) / 10 - 2,))
class AttentionDerived(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor) -> List[Optional[Tensor]]:
        x = x.detach().requires_grad_(True)
        result = self.layer(x)
        return torch.autograd.grad([(result * result * result).sum()], [x])


class TrainingLayers(nn.Module):
    """Layers that draw numbers, or keep count of what they have seen, in training."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.4)
        self.conv = nn.Conv1d(3, 2, 3, padding=1)
        self.instance = nn.InstanceNorm1d(2, affine=True, track_running_stats=True)

    def forward(self, x: Tensor) -> Tuple[List[Optional[Tensor]], Optional[Tensor], Optional[Tensor]]:
        x = x.detach().requires_grad_(True)
        result = self.instance(self.conv(self.drop(self.norm(x))))
        grads = torch.autograd.grad([(result * result * result).sum()], [x, self.conv.weight])
        return grads, self.norm.running_mean, self.instance.running_var


@made((t(4, 3, 5) / 10 - 2,), derived=True)
def training_layers():
    return torch.jit.script(TrainingLayers().train())


# What is recorded.

@derived((t(2, 3),))
def what_needs_gradients(x: Tensor) -> Tuple[List[bool], List[bool], List[Optional[Tensor]]]:
    y = x.detach().requires_grad_(True)
    z = y * 2
    with torch.no_grad():
        hidden = y * 3
        asked = (y * 4).requires_grad_(True)
    compared = z > 1
    seen = [x.requires_grad, y.requires_grad, z.requires_grad, hidden.requires_grad, asked.requires_grad,
            compared.requires_grad, z.detach().requires_grad, torch.zeros_like(z).requires_grad, z.argmax().requires_grad,
            z.floor().requires_grad, z.clone().requires_grad, z.to(torch.int64).requires_grad, (x + 1).requires_grad]
    leaves = [x.is_leaf, y.is_leaf, z.is_leaf, hidden.is_leaf, z.detach().is_leaf]
    return seen, leaves, torch.autograd.grad([z.sum()], [y])


@derived((t(2, 3),))
def inside_no_grad(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = x * x
    with torch.no_grad():
        factor = y * 2
    z = (y * factor).sum()
    gradient = torch.autograd.grad([z], [x])[0]
    assert gradient is not None
    return gradient


@derived((t(3),), (t(3) - 1,))
def branches_and_loops(x: Tensor) -> Tuple[Tensor, Tensor]:
    x = x.detach().requires_grad_(True)
    y = x
    for step in range(4):
        if bool(y.sum() > 2):
            y = y * 0.5 * x.sin()
        else:
            y = y + x * step
    steps = 0
    while bool(y.detach().abs().max() < 20.0) and steps < 6:
        y = y * (1.5 + x)
        steps += 1
    gradient = torch.autograd.grad([y.sum()], [x])[0]
    assert gradient is not None
    return y.detach(), gradient


@derived((t(2, 3),))
def twice_the_same_graph(x: Tensor) -> Tuple[Tensor, Tensor]:
    x = x.detach().requires_grad_(True)
    y = (x * x).exp().sum()
    first = torch.autograd.grad([y], [x], retain_graph=True)[0]
    second = torch.autograd.grad([y], [x])[0]
    assert first is not None and second is not None
    return first, second


@derived((t(4), t(4) + 1))
def unused_inputs(x: Tensor, y: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = y.detach().requires_grad_(True)
    return torch.autograd.grad([(x * 3).sum()], [x, y], allow_unused=True)


@derived((t(4), t(4) + 1))
def by_intermediate_results(x: Tensor, y: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    a = x * y
    b = a.sin()
    c = (a * b).sum()
    return torch.autograd.grad([c, b.sum()], [a, b, x])


@derived((t(3), t(3) + 2))
def weighted_outputs(x: Tensor, weights: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    outputs = torch.jit.annotate(List[Optional[Tensor]], [weights, None])
    return torch.autograd.grad([x * x, x.sum()], [x], grad_outputs=outputs)


@derived((t(3),))
def backward_accumulates(x: Tensor) -> Tuple[Optional[Tensor], Optional[Tensor], bool]:
    x = x.detach().requires_grad_(True)
    before = x.grad is None
    (x * x).sum().backward()
    first = x.grad
    if first is not None:
        first = first.clone()
    y = x.exp()
    y.backward(torch.ones_like(y) * 2)
    return first, x.grad, before


@derived((t(3),))
def backward_keeps_its_graph(x: Tensor) -> Optional[Tensor]:
    x = x.detach().requires_grad_(True)
    y = (x * x.cos()).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@derived((t(3) + 1,))
def derivatives_of_derivatives(x: Tensor) -> List[Tensor]:
    x = x.detach().requires_grad_(True)
    y = (x.pow(3) * x.log()).sum()
    found = torch.jit.annotate(List[Tensor], [])
    for order in range(3):
        gradient = torch.autograd.grad([y], [x], create_graph=True)[0]
        assert gradient is not None
        found.append(gradient.detach())
        y = gradient.sum()
    return found


@derived((t(3) / 2,))
def hessian(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = (x.sin() * x.roll(1) * x[0]).sum()
    gradient = torch.autograd.grad([y], [x], create_graph=True)[0]
    assert gradient is not None
    rows = torch.jit.annotate(List[Tensor], [])
    for at in range(x.numel()):
        row = torch.autograd.grad([gradient[at]], [x], retain_graph=True)[0]
        assert row is not None
        rows.append(row)
    return torch.stack(rows)


@derived((t(2, 2) - 1, t(2, 3)))
def penalty_on_gradients(x: Tensor, weight: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    weight = weight.detach().requires_grad_(True)
    scores = torch.sigmoid(x @ weight).sum()
    gradient = torch.autograd.grad([scores], [x], create_graph=True)[0]
    assert gradient is not None
    penalty = (gradient.norm(2, dim=1) - 1).square().mean()
    return torch.autograd.grad([penalty], [x, weight])


@derived((t(4),))
def descent(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    for _ in range(5):
        loss = ((x - 1) ** 2).sum() + torch.nn.functional.softplus(x).sum()
        gradient = torch.autograd.grad([loss], [x])[0]
        assert gradient is not None
        x = (x - 0.1 * gradient).detach().requires_grad_(True)
    return x


@derived((t(4),))
def descent_in_place(x: Tensor) -> Tensor:
    x = x.detach().clone().requires_grad_(True)
    for _ in range(3):
        loss = (x * x).sum()
        gradient = torch.autograd.grad([loss], [x])[0]
        assert gradient is not None
        with torch.no_grad():
            x -= 0.1 * gradient
    return x


@derived((t(3, 2),))
def both_branches_of_where(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = torch.where(x > 1, x.log(), x * x)
    gradient = torch.autograd.grad([y.sum()], [x])[0]
    assert gradient is not None
    return gradient


@derived((torch.randn(3, 4, dtype=torch.complex64, generator=torch.Generator().manual_seed(0)),))
def by_complex_numbers(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = torch.view_as_real(x * x.conj() + (x * 1j).exp()).square().sum()
    gradient = torch.autograd.grad([y], [x])[0]
    assert gradient is not None
    return gradient


# Changes in place.

@derived((t(3),))
def columns_of_zeros(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = torch.zeros(3, 4)
    y[:, 0] = x
    y[:, 1] = x * 2
    y[1, 2:] = x[0] * x[1]
    y[:, 1] += x.exp()
    gradient = torch.autograd.grad([(y * y).sum()], [x])[0]
    assert gradient is not None
    return gradient


@derived((t(3), torch.tensor([2, 0, 0])))
def rows_by_index(x: Tensor, index: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = torch.ones(4, 3) * x
    y[index] = x.unsqueeze(0) * torch.arange(1, 4).unsqueeze(1)
    y[y > 2] = 0.5
    y.index_add_(0, index, torch.ones(3, 3) * x)
    gradient = torch.autograd.grad([(y * y).sum()], [x])[0]
    assert gradient is not None
    return gradient


@derived((t(3),))
def results_changed(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = x * 3
    y += x
    y.mul_(x)
    y.add_(1.0).clamp_(min=2.0)
    z = y.view(3, 1)
    z.sub_(x.unsqueeze(1) ** 2)
    gradient = torch.autograd.grad([(y * z.squeeze(1)).sum()], [x])[0]
    assert gradient is not None
    return gradient


@derived((t(2, 3),))
def views_of_views_changed(x: Tensor) -> Tuple[Tensor, Tensor]:
    x = x.detach().requires_grad_(True)
    y = x.clone()
    y.t()[1:, 0].mul_(x[1, 1:])
    y.view(-1)[::2].fill_(2.0)
    y[1].copy_(x[0] * x[1])
    y.diagonal().add_(x.diagonal().sin())
    gradient = torch.autograd.grad([(y.exp() * 0.1).sum()], [x])[0]
    assert gradient is not None
    return y.detach(), gradient


@derived((t(2, 3),))
def changed_without_recording(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = x * 2
    with torch.no_grad():
        y.add_(1)
    gradient = torch.autograd.grad([y.sum()], [x])[0]
    assert gradient is not None
    return gradient


@derived((t(2, 3),))
def detached_views(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = x * 2
    kept = y.detach()
    gradient = torch.autograd.grad([(y * kept).sum()], [x])[0]
    assert gradient is not None
    return gradient


@derived((t(3, 4) / 5 - 1,))
def gradient_penalty(x: Tensor) -> Tuple[bool, List[Optional[Tensor]]]:
    x = x.detach().requires_grad_(True)
    y = (torch.relu(x) * 3).sum() + x.abs().sum() + x.clamp(0.0, 1.0).sum()
    gradient = torch.autograd.grad([y], [x], create_graph=True)[0]
    assert gradient is not None
    return gradient.requires_grad, torch.autograd.grad([(gradient * gradient).sum()], [x])


@derived((t(2, 3),))
def data_of_tensors(x: Tensor) -> Tuple[bool, List[Optional[Tensor]]]:
    x = x.detach().requires_grad_(True)
    y = x * 2
    kept = y.data
    return kept.requires_grad, torch.autograd.grad([(y * kept * x.data).sum()], [x])


@derived((t(2, 3),))
def drawn_over(x: Tensor) -> Tuple[bool, List[Optional[Tensor]]]:
    x = x.detach().requires_grad_(True)
    y = x * 2
    y.uniform_(0.5, 1.0)
    z = (x * 3).clone()
    z[0].zero_()
    return y.requires_grad, torch.autograd.grad([(y * x).sum() + (z * z).sum()], [x])


@derived((t(2, 2, 3) / 7, t(2, 1, 4, 4)))
def spatial_transformer(theta: Tensor, image: Tensor) -> List[Optional[Tensor]]:
    theta = theta.detach().requires_grad_(True)
    image = image.detach().requires_grad_(True)
    grid = torch.nn.functional.affine_grid(theta, [2, 1, 3, 3], align_corners=False)
    result = torch.nn.functional.grid_sample(image, grid, align_corners=False)
    return torch.autograd.grad([(result * result).sum()], [theta, image])


@derived((t(3, 4) / 5 - 1, t(3, 1) + 1))
def weight_norm(v: Tensor, g: Tensor) -> List[Optional[Tensor]]:
    v = v.detach().requires_grad_(True)
    g = g.detach().requires_grad_(True)
    return torch.autograd.grad([torch._weight_norm(v, g, 0).sin().sum()], [v, g])


@derived((t(2, 3),))
def stops_asking(x: Tensor) -> Tuple[bool, bool, List[Optional[Tensor]]]:
    x = x.detach().requires_grad_(True)
    y = x * 2
    before = y.requires_grad
    x.requires_grad_(False)
    y.detach_()
    z = x.detach().requires_grad_(True)
    return before, y.requires_grad or (x * 2).requires_grad, torch.autograd.grad([z.sum()], [z])


# Mistakes.

@derived((t(3),))
def not_a_scalar(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    return torch.autograd.grad([x * 2], [x])


@derived((t(3),))
def nothing_recorded(x: Tensor) -> List[Optional[Tensor]]:
    y = x.detach().requires_grad_(True)
    return torch.autograd.grad([(x * 2).sum()], [y])


@derived((t(3),))
def input_not_recorded(x: Tensor) -> List[Optional[Tensor]]:
    y = x.detach().requires_grad_(True)
    return torch.autograd.grad([(y * 2).sum()], [x])


@derived((t(3),))
def unused_and_not_allowed(x: Tensor) -> List[Optional[Tensor]]:
    y = x.detach().requires_grad_(True)
    z = x.detach().requires_grad_(True)
    return torch.autograd.grad([(y * 2).sum()], [y, z])


@derived((t(3),))
def graph_freed(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = x.exp().sum()
    first = torch.autograd.grad([y], [x])
    second = torch.autograd.grad([y], [x])
    return first + second


@derived((t(3),))
def saved_value_changed(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = x * 2
    z = y * y
    y.add_(1)
    return torch.autograd.grad([z.sum() + y.sum()], [x])


@derived((t(3),))
def saved_result_changed(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = x.exp()
    y[0] = 1.0
    return torch.autograd.grad([y.sum()], [x])


@derived((t(3),))
def leaf_changed(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = (x * 2).sum()
    x.add_(1)
    return torch.autograd.grad([y], [x])


@derived((t(3),))
def view_of_leaf_changed(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = (x * 2).sum()
    x[0] = 1.0
    return torch.autograd.grad([y], [x])


@derived((t(3),))
def integers_ask(x: Tensor) -> List[Optional[Tensor]]:
    x = x.to(torch.int64).requires_grad_(True)
    return torch.autograd.grad([x.sum()], [x])


@derived((t(3),))
def result_stops_asking(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = (x * 2).requires_grad_(False)
    return torch.autograd.grad([y.sum()], [x])


@derived((t(3),))
def derivative_not_recorded(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    gradient = torch.autograd.grad([(x * x).sum()], [x])[0]
    assert gradient is not None
    return torch.autograd.grad([gradient.sum()], [x])


@derived((t(3), t(4)), (t(3), t(2, 3)), (t(3), t(3).double()), (t(3), t(1)))
def weights_of_another_size(x: Tensor, weights: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    outputs = torch.jit.annotate(List[Optional[Tensor]], [weights])
    return torch.autograd.grad([x * 2], [x], grad_outputs=outputs)


@derived((t(3), t(3)))
def weights_of_some(x: Tensor, weights: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    outputs = torch.jit.annotate(List[Optional[Tensor]], [weights])
    return torch.autograd.grad([x * 2, x * 3], [x], grad_outputs=outputs)


@derived((t(3),))
def number_of_a_recorded_tensor(x: Tensor) -> float:
    x = x.detach().requires_grad_(True)
    return float((x * 2).sum()) + (x * 3).sum().item()


# Operators of backward passes, derived in turn.

@derived((t(2, 3) - 1,))
def derived_backward_operators(x: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    y = torch.ops.aten.softplus_backward(x * 2, x, 1, 20) + torch.ops.aten.tanh_backward(x, x.tanh())
    y = y + torch.ops.aten.elu_backward(x, 1.0, 1, 1, False, x * x - 1)
    y = y + torch.ops.aten.select_backward(x[0] * x[1], [2, 3], 0, 1)
    return torch.autograd.grad([(y * y).sum()], [x])


@derived((t(1, 2, 4, 4) / 9 - 1, t(1, 3, 3, 2) / 9 - 1))
def derived_backward_layers(x: Tensor, w: Tensor) -> List[Optional[Tensor]]:
    x = x.detach().requires_grad_(True)
    grad = x[:, :, :3, :3]
    kernel = torch.ones([2, 2, 2, 2]) / 3
    y, z, b = torch.ops.aten.convolution_backward(grad, x, kernel, [2], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
    _, mean, scale = torch.ops.aten.native_layer_norm(x.detach() ** 2, [4], None, None, 1e-5)
    n, g, _ = torch.ops.aten.native_layer_norm_backward(x, x * x, [4], mean, scale, kernel[0, 0, 0].repeat(2), None, [True, True, False])
    p = torch.ops.aten.avg_pool2d_backward(x[:, :, :2, :2], x, [2, 2], [2, 2], [0, 0], False, True, None)
    return torch.autograd.grad([(y * y * n).sum() + z.pow(2).sum() + b.pow(2).sum() + (p * p).sum()], [x])


@derived((t(1, 2, 4, 4), t(1, 3, 3, 2) / 9 - 1))
def derived_samples(x: Tensor, grid: Tensor) -> List[Optional[Tensor]]:
    x, grid = x.detach().requires_grad_(True), grid.detach().requires_grad_(True)
    y = torch.nn.functional.grid_sample(x, grid, "bilinear", "zeros", False)
    first = torch.autograd.grad([(y * y).sum()], [x, grid])
    a, b = torch.ops.aten.grid_sampler_2d_backward(y.detach(), x.detach(), grid.detach(), 0, 0, False, [True, True])
    return [first[0], first[1], a, b]
