"""The architectures that run_architectures.py exports: name, how the module is made, and what it is called with.

Weights are random. Pictures are small where a model takes any size, and language models have tiny configurations.
"""

import torch
from torch import nn

TORCHVISION = """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5
mobilenet_v2 mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_1
swin_t swin_v2_t vgg11_bn vit_b_32 wide_resnet50_2 segmentation.deeplabv3_mobilenet_v3_large segmentation.fcn_resnet50
segmentation.lraspp_mobilenet_v3_large video.r3d_18 optical_flow.raft_small""".split()

# The sizes of what does not take pictures of 64 by 64.
TORCHVISION_SIZES = {"inception_v3": 96, "maxvit_t": 224, "vit_b_32": 224, "raft_small": 128}

TIMM = """beit_base_patch16_224 botnet26t_256 cait_xxs24_224 coat_lite_tiny crossvit_tiny_240 davit_tiny deit_tiny_patch16_224
edgenext_xx_small efficientformer_l1 eva02_tiny_patch14_224 fastvit_t8 focalnet_tiny_srf ghostnet_050 gmlp_s16_224 halonet26t
hrnet_w18_small lambda_resnet26t levit_128s mixer_s32_224 mobilenetv4_conv_small mobilevit_xxs mobilevitv2_050 mvitv2_tiny
nest_tiny poolformer_s12 pvt_v2_b0 repvgg_a0 resnet10t sequencer2d_s swiftformer_xs test_byobnet test_convnext test_convnext2
test_convnext3 test_efficientnet test_efficientnet_evos test_efficientnet_gn test_efficientnet_ln test_mambaout test_nfnet
test_resnet test_vit test_vit2 test_vit3 test_vit4 tiny_vit_5m_224 twins_pcpvt_small visformer_tiny
vit_small_patch16_rope_224 xcit_nano_12_p16_224""".split()

# Configurations of transformers, by which each is made as small as it goes.
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 37,
    "vocab_size": 99, "max_position_embeddings": 64, "head_dim": 8, "image_size": 32, "patch_size": 8, "num_channels": 3,
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 37, "decoder_ffn_dim": 37, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "use_cache": False,
}

IDS, PICTURES, SOUND = "ids", "pictures", "sound"

# Class, what it is called with, and what its configuration has besides.
TRANSFORMERS = {
    "albert": ("AlbertModel", IDS, {"embedding_size": 16}),
    "bart": ("BartModel", IDS, {}),
    "beit": ("BeitModel", PICTURES, {}),
    "bert": ("BertModel", IDS, {}),
    "bloom": ("BloomModel", IDS, {}),
    "clip": ("CLIPVisionModel", PICTURES, {"config": "CLIPVisionConfig"}),
    "deberta": ("DebertaModel", IDS, {}),
    "deit": ("DeiTModel", PICTURES, {}),
    "dinov2": ("Dinov2Model", PICTURES, {}),
    "distilbert": ("DistilBertModel", IDS, {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37}),
    "electra": ("ElectraModel", IDS, {"embedding_size": 16}),
    "falcon": ("FalconForCausalLM", IDS, {"head_dim": None}),
    "gemma": ("GemmaForCausalLM", IDS, {}),
    "gemma2": ("Gemma2ForCausalLM", IDS, {}),
    "gpt2": ("GPT2LMHeadModel", IDS, {}),
    "gpt_neox": ("GPTNeoXForCausalLM", IDS, {}),
    "granite": ("GraniteForCausalLM", IDS, {}),
    "hubert": ("HubertModel", SOUND, {}),
    "llama": ("LlamaForCausalLM", IDS, {}),
    "mamba": ("MambaForCausalLM", IDS, {"state_size": 8}),
    "mamba2": ("Mamba2ForCausalLM", IDS, {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 8}),
    "marian": ("MarianModel", IDS, {"decoder_start_token_id": 0}),
    "mistral": ("MistralForCausalLM", IDS, {}),
    "mixtral": ("MixtralForCausalLM", IDS, {"num_local_experts": 4, "experts_implementation": "batched_mm"}),
    "olmo2": ("Olmo2ForCausalLM", IDS, {}),
    "opt": ("OPTForCausalLM", IDS, {"ffn_dim": 37, "word_embed_proj_dim": 32}),
    "phi": ("PhiForCausalLM", IDS, {}),
    "phi3": ("Phi3ForCausalLM", IDS, {}),
    "qwen2": ("Qwen2ForCausalLM", IDS, {}),
    "qwen2_moe": ("Qwen2MoeForCausalLM", IDS, {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
                                              "shared_expert_intermediate_size": 16, "experts_implementation": "batched_mm"}),
    "qwen3": ("Qwen3ForCausalLM", IDS, {}),
    "roberta": ("RobertaModel", IDS, {}),
    "rt_detr": ("RTDetrModel", PICTURES, {"detector": True}),
    "rwkv": ("RwkvForCausalLM", IDS, {"attention_hidden_size": 32}),
    "segformer": ("SegformerModel", PICTURES, {"hidden_sizes": [16, 16, 32, 32], "num_attention_heads": [1, 1, 2, 2],
                                             "depths": [1, 1, 1, 1], "patch_size": None, "image_size": 64}),
    "siglip": ("SiglipVisionModel", PICTURES, {"config": "SiglipVisionConfig"}),
    "smollm3": ("SmolLM3ForCausalLM", IDS, {}),
    "starcoder2": ("Starcoder2ForCausalLM", IDS, {}),
    "swin2": ("Swinv2Model", PICTURES, {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4,
                                       "patch_size": 4, "num_attention_heads": None, "num_hidden_layers": None}),
    "t5": ("T5Model", IDS, {"d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}),
    "vit": ("ViTModel", PICTURES, {}),
    "wav2vec2": ("Wav2Vec2Model", SOUND, {}),
    "whisper": ("WhisperModel", "whisper", {"num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 40,
                                            "decoder_start_token_id": 1}),
}

SOUND_OPTIONS = {"conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_feat_extract_layers": 2,
                 "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2}

SEQUENCES = ["encoder_train", "gru", "gru_bi_dynbatch", "grucell", "lstm", "lstm_bi_dynbatch", "lstmcell", "mha", "rnn",
             "rnn_bi_dynbatch", "transformer"]

NAMES = ([f"nn.{name}" for name in SEQUENCES] + [f"transformers.{name}" for name in TRANSFORMERS]
         + [f"timm.{name}" for name in TIMM] + [f"torchvision.{name}" for name in TORCHVISION])


class Tensors(nn.Module):
    """A model of transformers: what it is called with is in order, and its result is a tuple of tensors."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors)), return_dict=False)


def make(name):
    """The module in evaluation, and a function that gives its arguments for a batch."""
    kind, _, rest = name.partition(".")
    torch.manual_seed(0)
    made = {"nn": sequence, "transformers": transformer, "timm": timm_model, "torchvision": vision}[kind](rest)
    model, arguments = made[0], made[1]
    return model.train(rest == "encoder_train").requires_grad_(True), arguments, (made[2] if len(made) > 2 else True)


def sequence(name):
    randn = torch.randn
    recurrent = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}
    kind, _, variant = name.partition("_")
    if kind in recurrent:
        both = variant.startswith("bi")
        model = recurrent[kind](8, 16, num_layers=2, bidirectional=both, batch_first=both)
        return model, lambda batch: (randn(batch, 5, 8) if both else randn(5, batch, 8),), both
    cell = {"grucell": nn.GRUCell, "lstmcell": nn.LSTMCell}.get(name)
    if cell:
        return cell(8, 16), lambda batch: (randn(batch, 8),)
    if name == "mha":
        return nn.MultiheadAttention(16, 4, batch_first=True), lambda batch: (randn(batch, 5, 16),) * 3, False
    if name == "encoder_train":
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        return nn.TransformerEncoder(layer, 2), lambda batch: (randn(batch, 5, 16),)
    model = nn.Transformer(16, 4, 2, 2, 32, batch_first=True)
    return model, lambda batch: (randn(batch, 6, 16), randn(batch, 5, 16))


def transformer(name):
    import transformers

    class_name, kind, more = TRANSFORMERS[name]
    model_class = getattr(transformers, class_name)
    more = dict(more)
    config_class = getattr(transformers, more.pop("config")) if "config" in more else model_class.config_class
    if more.pop("detector", False):
        return detector(model_class)
    if kind == SOUND:
        more = {**SOUND_OPTIONS, **more}
    known = config_class()
    options = {key: value for key, value in SMALL.items() if hasattr(known, key)}
    options.update(more)
    experts = options.pop("experts_implementation", None)
    config = config_class(**{key: value for key, value in options.items() if value is not None})
    if experts:
        config._experts_implementation = experts
    model = model_class(config)
    ids = lambda batch: torch.randint(3, 99, (batch, 8))
    if kind == PICTURES:
        size = options.get("image_size") or 64
        size = size if isinstance(size, int) else 64
        return Tensors(model, ["pixel_values"]), lambda batch: (torch.randn(batch, 3, size, size),)
    if kind == SOUND:
        return Tensors(model, ["input_values"]), lambda batch: (torch.randn(batch, 400),)
    if kind == "whisper":
        names = ["input_features", "decoder_input_ids"]
        return Tensors(model, names), lambda batch: (torch.randn(batch, 8, 40), ids(batch))
    if config.is_encoder_decoder:
        return Tensors(model, ["input_ids", "decoder_input_ids"]), lambda batch: (ids(batch), ids(batch))
    return Tensors(model, ["input_ids"]), lambda batch: (ids(batch),)


def detector(model_class):
    from transformers import RTDetrConfig, RTDetrResNetConfig

    backbone = RTDetrResNetConfig(embedding_size=10, hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1],
                                  out_features=["stage2", "stage3", "stage4"], out_indices=[2, 3, 4])
    config = RTDetrConfig(backbone_config=backbone, encoder_hidden_dim=32, encoder_in_channels=[32, 64, 128],
                          d_model=32, num_queries=10, decoder_in_channels=[32, 32, 32], decoder_ffn_dim=37,
                          encoder_ffn_dim=37, num_feature_levels=3, encoder_layers=1, decoder_layers=2,
                          encoder_attention_heads=4, decoder_attention_heads=4, num_denoising=0, num_labels=5,
                          anchor_image_size=None)
    return Tensors(model_class(config), ["pixel_values"]), lambda batch: (torch.randn(batch, 3, 64, 64),), False


def timm_model(name):
    import timm

    model = timm.create_model(name, pretrained=False)
    config = model.default_cfg
    size = tuple(config["input_size"])
    if not config.get("fixed_input_size") and min(size[1:]) > 96 and takes(model, (3, 96, 96)):
        size = (3, 96, 96)
    return model, lambda batch: (torch.randn(batch, *size),)


def takes(model, size):
    try:
        with torch.no_grad():
            model.eval()(torch.randn(2, *size))
        return True
    except Exception:
        return False


def vision(name):
    import torchvision

    family, _, last = name.rpartition(".")
    home = torchvision.models
    for part in filter(None, family.split(".")):
        home = getattr(home, part)
    size = TORCHVISION_SIZES.get(last, 64)
    options = {"weights": None}
    if family == "segmentation":
        options["weights_backbone"] = None
    if last in ("googlenet", "inception_v3"):
        options.update(init_weights=False, aux_logits=False)
    model = getattr(home, last)(**options)
    if family == "video":
        return model, lambda batch: (torch.randn(batch, 3, 4, 32, 32),)
    if family == "optical_flow":
        return model, lambda batch: (torch.randn(batch, 3, size, size), torch.randn(batch, 3, size, size)), False
    return model, lambda batch: (torch.randn(batch, 3, size, size),)
