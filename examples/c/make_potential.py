#!/usr/bin/env python3
"""Makes what potential.cpp reads: a scripted interatomic potential, a system of atoms, and PyTorch's energy and forces for it.

    python3 make_potential.py FOLDER

Writes potential.pt, system.txt (one line an atom: its type and position; then one line an edge) and expected.txt (the
energy; then one line of forces an atom).
"""

import sys
from pathlib import Path
from typing import Dict, Optional

import torch
from torch import Tensor, nn


class Potential(nn.Module):
    """Energies of edges by a network of distance and types; forces by torch.autograd.grad."""

    def __init__(self, types: int, r_max: float):
        super().__init__()
        self.r_max = r_max
        self.embedding = nn.Embedding(types, 8)
        self.network = nn.Sequential(nn.Linear(24, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
        self.register_buffer("centres", torch.linspace(0.5, r_max, 8))

    def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
        positions = data["pos"].detach().requires_grad_(True)
        edges = data["edge_index"]
        species = self.embedding(data["atom_types"])
        vectors = positions[edges[1]] - positions[edges[0]]
        distances = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
        radial = torch.exp(-((distances - self.centres) ** 2))
        envelope = 0.5 * (torch.cos(distances * (3.141592653589793 / self.r_max)) + 1.0)
        edge_energy = self.network(torch.cat([radial, species[edges[0]], species[edges[1]]], dim=1)) * envelope
        atom_energy = torch.zeros(positions.size(0), 1, dtype=positions.dtype).index_add(0, edges[0], edge_energy)
        energy = atom_energy.sum()
        gradients = torch.autograd.grad([energy], [positions], create_graph=False)
        gradient: Optional[Tensor] = gradients[0]
        assert gradient is not None
        return {"total_energy": energy.detach(), "atomic_energy": atom_energy.detach(), "forces": -gradient}


def main() -> int:
    folder = Path(sys.argv[1])
    torch.manual_seed(0)
    r_max = 3.0
    model = torch.jit.script(Potential(2, r_max).double().eval())
    model.save(str(folder / "potential.pt"), _extra_files={"r_max": str(r_max), "type_names": "H O"})
    positions = torch.rand(24, 3, dtype=torch.float64) * 6
    types = torch.arange(24) % 2
    apart = torch.cdist(positions, positions)
    edges = ((apart < r_max) & (apart > 0)).nonzero().t().contiguous()
    with (folder / "system.txt").open("w") as out:
        print(len(positions), edges.size(1), file=out)
        for kind, (x, y, z) in zip(types.tolist(), positions.tolist()):
            print(kind, repr(x), repr(y), repr(z), file=out)
        for first, second in edges.t().tolist():
            print(first, second, file=out)
    result = model({"pos": positions, "edge_index": edges, "atom_types": types})
    with (folder / "expected.txt").open("w") as out:
        print(repr(result["total_energy"].item()), file=out)
        for force in result["forces"].tolist():
            print(*map(repr, force), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
