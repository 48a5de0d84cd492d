import math
from functools import partial

import torch
import torch.nn as nn


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    with torch.no_grad():
        tensor.uniform_(2 * 0.1, 0.9)
        tensor.erfinv_()
        tensor.mul_(std * math.sqrt(2.0))
        tensor.clamp_(min=a, max=b)
    return tensor


class Block(nn.Module):
    def __init__(self, dim, norm_layer=nn.LayerNorm, act_layer=nn.GELU):
        super().__init__()
        self.norm = norm_layer(dim)
        self.qkv = nn.Linear(dim, dim * 3)
        self.act = act_layer()

    def forward(self, x):
        return x + self.act(self.qkv(self.norm(x)))[..., : x.shape[-1]]


class VisionTransformer(nn.Module):
    """Vision Transformer"""

    def __init__(self, dim=8, depth=2, norm_layer=nn.LayerNorm):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 5, dim))
        dpr = [x.item() for x in torch.linspace(0, 0.1, depth)]
        self.blocks = nn.ModuleList([Block(dim, norm_layer=norm_layer) for _ in dpr])
        self.norm = norm_layer(dim)
        trunc_normal_(self.pos_embed, std=0.02)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            trunc_normal_(m.weight, std=0.02)
            if isinstance(m, nn.Linear) and m.bias is not None:
                nn.init.constant_(m.bias, 0)
        elif isinstance(m, nn.LayerNorm):
            nn.init.constant_(m.bias, 0)
            nn.init.constant_(m.weight, 1.0)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm(x)[:, 0]


def vit_tiny(**kwargs):
    model = VisionTransformer(dim=4, depth=1, norm_layer=partial(nn.LayerNorm, eps=1e-6), **kwargs)
    return model


def vit_small(**kwargs):
    model = VisionTransformer(dim=8, depth=3, norm_layer=partial(nn.LayerNorm, eps=1e-6), **kwargs)
    return model
