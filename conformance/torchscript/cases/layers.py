"""Modules and functions of torch.nn."""
from typing import List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Case, case, register, t


def register_layer(name, make, arguments):
    """A case that scripts a module of torch.nn."""
    register(name, Case(lambda: torch.jit.script(make().eval()), (arguments,), ready=True))


image = t(1, 2, 6, 6)
LAYERS = {
    "nn_linear": (lambda: nn.Linear(3, 4), t(2, 3)),
    "nn_bilinear": (lambda: nn.Bilinear(2, 3, 4), t(1, 2), t(1, 3)),
    "nn_conv1d": (lambda: nn.Conv1d(2, 3, 2, padding="same", padding_mode="circular"), t(1, 2, 5)),
    "nn_conv2d": (lambda: nn.Conv2d(2, 4, 3, stride=2, dilation=1, groups=2, padding_mode="reflect", padding=1), image),
    "nn_conv3d": (lambda: nn.Conv3d(1, 1, 2), t(1, 1, 3, 3, 3)),
    "nn_conv_transpose2d": (lambda: nn.ConvTranspose2d(2, 2, 2, stride=2, output_padding=1), image),
    "nn_pools": (lambda: nn.Sequential(nn.MaxPool2d(2, return_indices=False), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d((1, 1))), image),
    "nn_adaptive_max": (lambda: nn.AdaptiveMaxPool2d(2, return_indices=True), image),
    "nn_lp_pool": (lambda: nn.LPPool2d(2, 2), image),
    "nn_norms": (lambda: nn.Sequential(nn.BatchNorm2d(2), nn.GroupNorm(1, 2), nn.InstanceNorm2d(2), nn.LayerNorm([6, 6]), nn.LocalResponseNorm(2)), image),
    "nn_rms_norm": (lambda: nn.RMSNorm(6), image),
    "nn_activations": (lambda: nn.Sequential(nn.ReLU(), nn.ReLU6(), nn.ELU(), nn.GELU(), nn.SiLU(), nn.Mish(), nn.Softplus(), nn.LeakyReLU(), nn.PReLU(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(), nn.LogSigmoid(), nn.Sigmoid(), nn.Tanh(), nn.Softmax(1), nn.Softsign(), nn.Tanhshrink(), nn.Threshold(0.1, 2.0), nn.CELU(), nn.SELU(), nn.Softmin(1), nn.LogSoftmax(1), nn.GLU(1)), t(2, 4)),
    "nn_dropouts": (lambda: nn.Sequential(nn.Dropout(), nn.Dropout2d(), nn.AlphaDropout()), image),
    "nn_paddings": (lambda: nn.Sequential(nn.ZeroPad2d(1), nn.ReflectionPad2d(1), nn.ReplicationPad2d((1, 0, 1, 0)), nn.ConstantPad2d(1, 2.5), nn.CircularPad2d(1)), image),
    "nn_upsample": (lambda: nn.Upsample(scale_factor=2.0, mode="bilinear", align_corners=False), image),
    "nn_shuffles": (lambda: nn.Sequential(nn.PixelUnshuffle(2), nn.PixelShuffle(2), nn.ChannelShuffle(2)), image),
    "nn_flatten": (lambda: nn.Sequential(nn.Flatten(), nn.Unflatten(1, (2, 36)), nn.Identity()), image),
    "nn_fold": (lambda: nn.Sequential(nn.Unfold(2), nn.Fold((6, 6), 2)), image),
    "nn_embedding": (lambda: nn.Embedding(5, 3, padding_idx=0, max_norm=1.0), torch.tensor([[1, 0], [4, 2]])),
    "nn_embedding_bag": (lambda: nn.EmbeddingBag(5, 3, mode="sum"), torch.tensor([1, 2, 4]), torch.tensor([0, 2])),
    "nn_rnn": (lambda: nn.RNN(3, 4, nonlinearity="relu"), t(2, 1, 3)),
    "nn_lstm": (lambda: nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), t(1, 2, 3)),
    "nn_lstm_projection": (lambda: nn.LSTM(3, 4, proj_size=2), t(2, 1, 3)),
    "nn_gru": (lambda: nn.GRU(3, 4, dropout=0.1, num_layers=2), t(2, 1, 3)),
    "nn_lstm_cell": (lambda: nn.LSTMCell(3, 4), t(2, 3)),
    "nn_gru_cell": (lambda: nn.GRUCell(3, 4), t(2, 3)),
    "nn_attention": (lambda: nn.MultiheadAttention(4, 2), t(3, 1, 4), t(3, 1, 4), t(3, 1, 4)),
    "nn_attention_own_sizes": (lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True, batch_first=True), t(1, 3, 4), t(1, 2, 3), t(1, 2, 5)),
    "nn_encoder_layer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, norm_first=True, activation="gelu"), t(3, 1, 4)),
    "nn_encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2), t(1, 3, 4)),
    "nn_decoder": (lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1), t(3, 1, 4), t(2, 1, 4)),
    "nn_transformer": (lambda: nn.Transformer(4, 2, 1, 1, 8), t(3, 1, 4), t(2, 1, 4)),
    "nn_mse": (lambda: nn.MSELoss(), t(3), t(3) + 1),
    "nn_cross_entropy": (lambda: nn.CrossEntropyLoss(weight=t(3) + 1, label_smoothing=0.1), t(2, 3), torch.tensor([0, 2])),
    "nn_nll": (lambda: nn.NLLLoss(reduction="sum"), t(2, 3), torch.tensor([0, 2])),
    "nn_bce": (lambda: nn.BCEWithLogitsLoss(pos_weight=t(3) + 1), t(2, 3), torch.ones(2, 3)),
    "nn_kl": (lambda: nn.KLDivLoss(reduction="batchmean"), -t(2, 3), t(2, 3)),
    "nn_ctc": (lambda: nn.CTCLoss(), -t(4, 1, 3), torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2])),
    "nn_triplet": (lambda: nn.TripletMarginLoss(), t(2, 3), t(2, 3) + 1, t(2, 3) * 2),
    "nn_smooth_l1": (lambda: nn.SmoothL1Loss(beta=0.5), t(2), t(2) + 3),
    "nn_huber": (lambda: nn.HuberLoss(), t(2), t(2) + 3),
    "nn_cosine": (lambda: nn.CosineSimilarity(), t(2, 3), t(2, 3) + 1),
    "nn_distance": (lambda: nn.PairwiseDistance(), t(2, 3), t(2, 3) + 1),
}
for name, (make, *arguments) in LAYERS.items():
    register_layer(name, make, tuple(arguments))


@case((image,))
def functional_image(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    a = F.interpolate(x, size=[3, 3], mode="bicubic", align_corners=True)
    b = F.pad(x, [1, 1, 0, 2], mode="constant", value=1.5)
    c = F.max_pool2d(x, 2, stride=1)
    d = F.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False)
    e = F.adaptive_avg_pool2d(x, (1, 1))
    return a, b, c, d, e


@case((t(2, 3), None), (t(2, 3), t(3)))
def functional_linear(x: Tensor, bias: Optional[Tensor]) -> Tensor:
    y = F.linear(x, torch.ones(3, 3), bias)
    y = F.layer_norm(F.gelu(y), [3])
    y = F.dropout(y, p=0.5, training=False)
    y = F.normalize(F.softmax(y, dim=-1), dim=0)
    return F.one_hot(y.argmax(1), 3) + F.leaky_relu(y, 0.1) + F.logsigmoid(y)


@case((t(1, 2, 3, 4),))
def functional_attention(x: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


@case((t(2, 3), torch.tensor([0, 2])))
def functional_losses(x: Tensor, target: Tensor) -> Tensor:
    return (F.cross_entropy(x, target) + F.nll_loss(F.log_softmax(x, 1), target) + F.mse_loss(x, x + 1)
            + F.l1_loss(x, x * 2) + F.smooth_l1_loss(x, x + 2) + F.binary_cross_entropy_with_logits(x, torch.ones_like(x)))

@case((torch.arange(2 * 3 * 7 * 8, dtype=torch.uint8).reshape(2, 3, 7, 8) * 37,))
def functional_bytes(x: Tensor) -> List[Tensor]:
    last = x.contiguous(memory_format=torch.channels_last)
    found: List[Tensor] = []
    for mode in ["bilinear", "bicubic"]:
        for antialias in [False, True]:
            found.append(F.interpolate(x, size=[4, 11], mode=mode, antialias=antialias))
            found.append(F.interpolate(last, scale_factor=1.7, mode=mode, antialias=antialias))
            found.append(F.interpolate(last, size=[3, 8], mode=mode, align_corners=True, antialias=antialias))
    return found
