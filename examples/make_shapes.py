"""Makes the example of the README: shapes.pt, a small scripted network that tells eight shapes apart,
shapes.txt with their names, and shapes/*.png, pictures that it has not seen. It draws its own training
set. Needs torch and pillow; takes about a minute on two cores. The archive holds the path that its
source was run by; so that this is the bare name, run it as

    python -c "import runpy; runpy.run_path('make_shapes.py', run_name='__main__')"
"""

import math
import os

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NAMES = ["circle", "crescent", "cross", "heart", "ring", "square", "star", "triangle"]


def polygon(u, v, corners, inner=None):
    """A regular polygon, or a star whose inner corners are that far from its middle."""
    angle = math.pi / corners
    theta = torch.remainder(torch.atan2(u, -v) + angle, 2 * angle) - angle
    radius = torch.sqrt(u * u + v * v)
    if inner is None:
        return radius * torch.cos(theta) < math.cos(angle)
    # The line from the outer corner at (0, 1) to the inner one at the angle.
    x, y = radius * torch.sin(theta.abs()), radius * torch.cos(theta)
    inner_x, inner_y = inner * math.sin(angle), inner * math.cos(angle)
    return x * (1 - inner_y) + (y - 1) * inner_x < 0


def covered(name, u, v):
    """Whether the points are in the shape, which is about as large as the circle of radius 1."""
    radius = torch.sqrt(u * u + v * v)
    if name == "circle":
        return radius < 0.9
    if name == "crescent":
        return (radius < 1) & (torch.sqrt((u - 0.45) ** 2 + v * v) > 0.8)
    if name == "cross":
        return (torch.maximum(u.abs(), v.abs()) < 0.95) & (torch.minimum(u.abs(), v.abs()) < 0.3)
    if name == "heart":
        u, v = u * 1.2, -v * 1.2 + 0.15
        return (u * u + v * v - 1) ** 3 - u * u * v**3 < 0
    if name == "ring":
        return (radius < 1) & (radius > 0.55)
    if name == "square":
        return polygon(u, v, 4)
    if name == "star":
        return polygon(u, v, 5, 0.42)
    return polygon(u, v, 3)


def draw(labels: Tensor, size: int, random: torch.Generator) -> Tensor:
    """Pictures of shapes, turned, moved, in any colours, with some noise: N x 3 x size x size."""
    count = len(labels)

    def uniform(low, high, *sizes):
        return low + (high - low) * torch.rand(count, *sizes, generator=random)

    axis = (torch.arange(2 * size) + 0.5) / size - 1
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    turn, scale = uniform(0, 2 * math.pi, 1, 1), uniform(0.45, 0.8, 1, 1)
    x, y = (x - uniform(-0.2, 0.2, 1, 1)) / scale, (y - uniform(-0.2, 0.2, 1, 1)) / scale
    u, v = x * turn.cos() - y * turn.sin(), x * turn.sin() + y * turn.cos()
    mask = torch.zeros(count, 1, 2 * size, 2 * size)
    for index, name in enumerate(NAMES):
        chosen = labels == index
        mask[chosen, 0] = covered(name, u[chosen], v[chosen]).float()
    mask = F.avg_pool2d(mask, 2)

    ground, shape = uniform(0, 1, 3, 1, 1), uniform(0, 1, 3, 1, 1)
    # Colours that are hard to tell apart are pushed apart.
    gap = (shape - ground).mean(1, keepdim=True)
    away = torch.where(ground.mean(1, keepdim=True) < 0.5, 0.35, -0.35)
    shape = torch.where(gap.abs() < 0.3, ground + away, shape)
    slope = uniform(-0.15, 0.15, 3, 1, 1) * torch.linspace(-1, 1, size)
    picture = ground + slope + mask * (shape - ground)
    noise = torch.randn(count, 3, size, size, generator=random) * uniform(0, 0.06, 1, 1, 1)
    return (picture + noise).clamp(0, 1)


class Block(nn.Module):
    """Convolution, batch normalisation, relu, pooling. Written with operators alone, so that the
    archive holds no source but this file's."""

    def __init__(self, channels_in: int, channels_out: int):
        super().__init__()
        deviation = math.sqrt(2 / (9 * channels_in))
        self.weight = nn.Parameter(torch.randn(channels_out, channels_in, 3, 3) * deviation)
        self.scale = nn.Parameter(torch.ones(channels_out))
        self.shift = nn.Parameter(torch.zeros(channels_out))
        self.register_buffer("mean", torch.zeros(channels_out))
        self.register_buffer("variance", torch.ones(channels_out))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.conv2d(x, self.weight, None, [1, 1], [1, 1])
        x = torch.batch_norm(
            x, self.scale, self.shift, self.mean, self.variance, self.training, 0.1, 1e-5, False
        )
        return torch.max_pool2d(torch.relu(x), [2, 2])


class Shapes(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block(3, 16)
        self.second = Block(16, 32)
        self.third = Block(32, 64)
        self.weight = nn.Parameter(torch.randn(len(NAMES), 64) / 8)
        self.bias = nn.Parameter(torch.zeros(len(NAMES)))

    def forward(self, pictures: Tensor) -> Tensor:
        """Scores of pictures of any size: N x 3 x height x width, 0 to 1."""
        x = torch._C._nn.adaptive_avg_pool2d(pictures, [32, 32])
        x = self.third(self.second(self.first(x)))
        return nn.functional.linear(x.mean([2, 3]), self.weight, self.bias)


def train(random: torch.Generator) -> Shapes:
    model = Shapes()
    epochs, batches, batch = 14, 60, 128
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, epochs * batches)
    for epoch in range(epochs):
        for _ in range(batches):
            labels = torch.randint(len(NAMES), (batch,), generator=random)
            loss = F.cross_entropy(model(draw(labels, 32, random)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    return model.eval()


def main():
    from PIL import Image

    torch.manual_seed(0)
    random = torch.Generator().manual_seed(0)
    model = train(random)
    labels = torch.arange(2000) % len(NAMES)
    with torch.no_grad():
        right = (model(draw(labels, 32, random)).argmax(1) == labels).float().mean()
    print(f"{100 * right:.1f} % of 2000 new pictures are recognised")

    torch.jit.script(model).save("shapes.pt")
    with open("shapes.txt", "w") as file:
        file.writelines(name + "\n" for name in NAMES)
    os.makedirs("shapes", exist_ok=True)
    for name, picture in zip(NAMES, draw(torch.arange(len(NAMES)), 96, random)):
        pixels = (picture.permute(1, 2, 0) * 255).round().byte().numpy()
        Image.fromarray(pixels).save(f"shapes/{name}.png", optimize=True)


if __name__ == "__main__":
    main()
