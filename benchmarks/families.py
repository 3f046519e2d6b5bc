"""Sites that the recorder finds in other people's models, beside the residual additions of autograd's graph.

The recorder reads the calls of torch in a forward pass. The count beside it reads what autograd keeps of the same pass,
with code of its own: an addition is residual where one side is, but for views and scaling, a tensor from which the
other side is made with weights; or where it is made of such a tensor by one convolution, with its norm and pooling.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from addnorm.stream import residuals_of
from addnorm.trace import Tracer, tensors_in
from benchmarks.report import Figure

FAMILIES = 60  # the goal: so many whose sites are the additions
WEIGHTED = ("Addmm", "Mm", "Bmm", "Convolution", "ScaledDotProduct", "Baddbmm")
PASSES = (
    "View", "UnsafeView", "ReshapeAlias", "Transpose", "Permute", "Clone", "NativeDropout", "Slice", "Expand",
    "Squeeze", "Unsqueeze", "ToCopy", "Alias", "Select", "T", "Roll", "ConstantPadNd", "Mul", "Div", "Unsafe",
)  # fmt: skip
SIZES = {  # by size, the settings of a config that are made so
    32: """
        hidden_size d_model n_embd dim emb_dim word_embed_proj_dim embedding_size image_size
    """,
    48: """
        intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff n_inner hidden_dim
        ffn_hidden_size
    """,
    3: """
        num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_decoder_layers
    """,
    4: """
        num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads
        rotary_dim num_local_experts num_experts
    """,
    2: """
        num_key_value_heads num_kv_heads
    """,
    8: """
        head_dim d_kv patch_size
    """,
    64: """
        vocab_size max_position_embeddings n_positions
    """,
    0: """
        pad_token_id decoder_start_token_id
    """,
    16: """
        moe_intermediate_size
    """,
}
SMALL: dict[str, Any] = {name: size for size, names in SIZES.items() for name in names.split()}
SMALL |= {"num_experts_per_tok": 2, "layer_types": None, "attention_types": [[["global"], 3]]}
OPERATORS = (
    "nms",
    "qnms",
    "roi_align",
    "_roi_align_backward",
    "roi_pool",
    "_roi_pool_backward",
    "ps_roi_align",
    "_ps_roi_align_backward",
    "ps_roi_pool",
    "_ps_roi_pool_backward",
    "deform_conv2d",
    "_deform_conv2d_backward",
)
TRANSFORMERS = """
    GPT2LMHeadModel GPTNeoForCausalLM GPTNeoXForCausalLM GPTJForCausalLM LlamaForCausalLM MistralForCausalLM
    Qwen2ForCausalLM Qwen3ForCausalLM GemmaForCausalLM Gemma2ForCausalLM PhiForCausalLM Phi3ForCausalLM
    StableLmForCausalLM OlmoForCausalLM Olmo2ForCausalLM CohereForCausalLM GraniteForCausalLM
    Starcoder2ForCausalLM BloomForCausalLM OPTForCausalLM FalconForCausalLM MptForCausalLM CodeGenForCausalLM
    XGLMForCausalLM BioGptForCausalLM GPTBigCodeForCausalLM HeliumForCausalLM GlmForCausalLM Glm4ForCausalLM
    SmolLM3ForCausalLM MixtralForCausalLM Qwen2MoeForCausalLM OlmoeForCausalLM BertForMaskedLM
    RobertaForMaskedLM DistilBertForMaskedLM ElectraForMaskedLM CamembertForMaskedLM XLMRobertaForMaskedLM
    MPNetForMaskedLM ModernBertForMaskedLM AlbertForMaskedLM T5ForConditionalGeneration
    BartForConditionalGeneration MarianMTModel PegasusForConditionalGeneration MBartForConditionalGeneration
    BlenderbotForConditionalGeneration ViTModel DeiTModel BeitModel Dinov2Model ViTMAEModel CLIPVisionModel
    SiglipVisionModel
"""
TIMM = """
    resnet18 resnet50 resnetv2_50 resnext50_32x4d wide_resnet50_2 seresnet18 ecaresnet26t vit_tiny_patch16_224
    deit_tiny_patch16_224 deit3_small_patch16_224 beit_base_patch16_224 cait_xxs24_224 xcit_nano_12_p16_224
    swin_tiny_patch4_window7_224 convnext_atto convnextv2_atto mixer_s32_224 gmixer_12_224 resmlp_12_224
    poolformer_s12 efficientnet_b0 mobilenetv2_100 mobilenetv3_small_100 mnasnet_small regnetx_002 regnety_002
    eva02_tiny_patch14_224 twins_svt_small edgenext_xx_small efficientformer_l1 mobilevit_xxs pvt_v2_b0
    coat_tiny
"""
TORCHVISION = """
    resnet34 mobilenet_v2 mobilenet_v3_small efficientnet_b0 regnet_y_400mf convnext_tiny vit_b_16 swin_t
"""

Built = tuple[nn.Module, dict[str, Any]]


def of_transformers(name: str) -> Built:
    """A small model of a class of transformers, and what it is called with."""
    _declare_kernels()
    kind = getattr(import_module("transformers"), name)
    config = kind.config_class()
    for key, value in SMALL.items():
        if key in config.attribute_map:
            continue
        if key in vars(config) and not (key == "layer_types" and vars(config)[key] is None):
            setattr(config, key, ["full_attention"] * 3 if key == "layer_types" else value)
    config._attn_implementation = "eager"
    model = kind(config)
    if model.main_input_name == "pixel_values":
        return model, {"pixel_values": torch.randn(2, 3, config.image_size, config.image_size)}
    ids = torch.randint(2, 64, (2, 9))
    return model, {"input_ids": ids} | ({"decoder_input_ids": ids} if config.is_encoder_decoder else {})


def _declare_kernels() -> None:
    """Declares the operators without which torchvision does not load where its kernels are another torch's."""
    for name in OPERATORS:
        with suppress(RuntimeError):
            torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")


def of_timm(name: str) -> Built:
    """A model of timm, and an image of its size."""
    _declare_kernels()
    model = import_module("timm").create_model(name, pretrained=False)
    return model, {"x": torch.randn(2, *model.default_cfg["input_size"])}


def of_torchvision(name: str) -> Built:
    """A model of torchvision, and an image."""
    _declare_kernels()
    return getattr(import_module("torchvision").models, name)(weights=None), {"x": torch.randn(2, 3, 224, 224)}


def of_x_transformers(name: str) -> Built:
    """A model of x-transformers with one of its options."""
    library = import_module("x_transformers")
    options: dict[str, Any] = {"plain": {}, "post-norm": {"pre_norm": False}, "sandwich norm": {"sandwich_norm": True}}[
        name
    ]
    layers = library.Decoder(dim=32, depth=3, heads=4, **options)
    return library.TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=layers), {
        "x": torch.randint(64, (2, 9))
    }


LIBRARIES: Mapping[str, tuple[Callable[[str], Built], list[str]]] = {
    "transformers": (of_transformers, TRANSFORMERS.split()),
    "timm": (of_timm, TIMM.split()),
    "torchvision": (of_torchvision, TORCHVISION.split()),
    "x_transformers": (of_x_transformers, ["plain", "post-norm", "sandwich norm"]),
}


def families(libraries: Mapping[str, tuple[Callable[[str], Built], list[str]]] = LIBRARIES) -> Iterator[Figure]:
    """How many families' sites are the additions of autograd's graph, and each that is not so."""
    right = 0
    for library, (build, names) in libraries.items():
        if find_spec(library) is None:
            yield Figure(f"families of {library}", None, note=f"{library} is not installed")
            continue
        agree, wrong, lost = 0, [], []
        for name in names:
            try:
                sites, additions = counted(*build(name))
            except Exception as error:
                lost.append(f"{name} ({type(error).__name__})")
                continue
            agree += sites == additions > 0
            wrong += [] if sites == additions > 0 else [f"{name} {sites} of {additions}"]
        right += agree
        note = "".join(
            f"; {what}: {', '.join(some)}" for what, some in (("not so", wrong), ("not built", lost)) if some
        )
        yield Figure(f"families of {library} with all their sites", agree, note=f"of {len(names)}{note}")
    yield Figure("families with all their sites", right, at_least=FAMILIES)


def counted(model: nn.Module, inputs: Mapping[str, Any]) -> tuple[int, int]:
    """The residual additions that the recorder finds in a pass, and those in autograd's graph of it."""
    torch.manual_seed(0)
    with warnings.catch_warnings(), Tracer(model.train()) as tracer:
        warnings.simplefilter("ignore")
        output = model(**inputs)
    if tracer.failure is not None:
        raise tracer.failure
    return len(residuals_of(tracer.graph)), additions_of([tensor for tensor, _ in tensors_in(output)])


def additions_of(outputs: Iterable[Tensor]) -> int:
    """How many residual additions autograd's graph has before some tensors."""
    order = _in_order([output.grad_fn for output in outputs if output.grad_fn is not None])
    at = {node: place for place, node in enumerate(order)}
    before: list[int] = []  # bit masks of ancestors, with the node itself
    weighted = 0
    for place, node in enumerate(order):
        mask = 1 << place
        for parent in _parents(node):
            mask |= before[at[parent]]
        before.append(mask)
        weighted |= (1 << place) * _is(node, WEIGHTED)
    found = 0
    for node in order:
        sides = _parents(node) if node.name() == "AddBackward0" else []
        if len(sides) == 2 and _same_shape(node):
            masks = [before[at[side]] for side in sides]
            found += any(_skips(skip, at, masks[1 - way], before, weighted) for way, skip in enumerate(sides))
    return found


def _skips(skip: Any, at: Mapping[Any, int], branch: int, before: list[int], weighted: int) -> bool:
    """Whether a side of an addition is a skip of the other, given as the mask of its ancestors."""
    node, own = skip, 0
    for _ in range(24):
        if branch >> at[node] & 1 and (branch & ~before[at[node]] & weighted).bit_count() > own:
            return True
        if _is(node, ("Convolution",)):
            own += 1
        elif not _is(node, PASSES) and not (own or _is(node, ("NativeBatchNorm", "CudnnBatchNorm", "AvgPool2D"))):
            return False
        parents = [parent for parent in _parents(node) if not _is(parent, ("Accumulate",))]
        if len(parents) != 1 or own > 1:
            return False
        node = parents[0]
    return False


def _in_order(roots: Iterable[Any]) -> list[Any]:
    """The nodes of the graph, parents before what is made of them; parameters left out."""
    order: list[Any] = []
    state: dict[Any, bool] = {}
    waiting = [(root, False) for root in roots]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif node not in state:
            state[node] = True
            waiting.append((node, True))
            waiting += [(parent, False) for parent in _parents(node) if parent not in state]
    return order


def _parents(node: Any) -> list[Any]:
    return [one for one, _ in node.next_functions if one is not None and "AccumulateGrad" not in one.name()]


def _is(node: Any, kinds: tuple[str, ...]) -> bool:
    name: str = node.name().partition("Backward")[0]
    return any(name == kind or (len(kind) > 3 and name.startswith(kind)) for kind in kinds)


def _same_shape(node: Any) -> bool:
    shapes = {tuple(one._input_metadata[place].shape) for one, place in node.next_functions if one is not None}
    return shapes == {tuple(node._input_metadata[0].shape)}
