"""Layers of torch.nn."""
from .activation import (
    Threshold,
    ReLU,
    RReLU,
    Hardtanh,
    ReLU6,
    Sigmoid,
    Hardsigmoid,
    Tanh,
    SiLU,
    Mish,
    Hardswish,
    ELU,
    CELU,
    SELU,
    GLU,
    GELU,
    Hardshrink,
    LeakyReLU,
    LogSigmoid,
    Softplus,
    Softshrink,
    Softsign,
    Tanhshrink,
    Softmin,
    Softmax,
    LogSoftmax,
    Softmax2d,
    PReLU,
    MultiheadAttention,
)
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .channelshuffle import ChannelShuffle
from .container import Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .distance import PairwiseDistance, CosineSimilarity
from .dropout import Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout
from .flatten import Flatten, Unflatten
from .fold import Fold, Unfold
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .linear import Identity, Linear, Bilinear
from .loss import (
    L1Loss,
    MSELoss,
    SmoothL1Loss,
    HuberLoss,
    NLLLoss,
    NLLLoss2d,
    CrossEntropyLoss,
    PoissonNLLLoss,
    GaussianNLLLoss,
    KLDivLoss,
    BCELoss,
    BCEWithLogitsLoss,
    HingeEmbeddingLoss,
    MultiLabelMarginLoss,
    SoftMarginLoss,
    MultiLabelSoftMarginLoss,
    CosineEmbeddingLoss,
    MarginRankingLoss,
    MultiMarginLoss,
    TripletMarginLoss,
    CTCLoss,
)
from .normalization import LocalResponseNorm, LayerNorm, GroupNorm, RMSNorm
from .padding import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ConstantPad1d,
    ZeroPad1d,
    ConstantPad2d,
    ZeroPad2d,
    ConstantPad3d,
    ZeroPad3d,
)
from .pixelshuffle import PixelShuffle, PixelUnshuffle
from .pooling import (
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    FractionalMaxPool2d,
    FractionalMaxPool3d,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
)
from .rnn import RNNBase, RNN, LSTM, GRU, RNNCellBase, RNNCell, LSTMCell, GRUCell
from .sparse import Embedding, EmbeddingBag
from .transformer import (
    TransformerEncoderLayer,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerDecoder,
    Transformer,
)
from .upsampling import Upsample, UpsamplingNearest2d, UpsamplingBilinear2d
