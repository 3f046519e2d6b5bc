"""The sites that the recorder finds in models of other libraries, beside the residual additions in autograd's graph.

The recorder reads the calls of torch in a forward pass. The reference count reads autograd's graph of the same pass
with code of its own. An addition is residual if one side is, up to views and scaling, a tensor from which the other
side is computed with weights; or if it comes from such a tensor by one convolution, with its norm and pooling.
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

MIN_FAMILIES = 60  # the goal: families whose sites equal the additions
# Names of autograd's nodes: operations with weights, and those that only view or scale a tensor.
WEIGHTED = ("Addmm", "Mm", "Bmm", "Convolution", "ScaledDotProduct", "Baddbmm")
NORM_OR_POOL = ("NativeBatchNorm", "CudnnBatchNorm", "AvgPool2D")
PASSING = (
    "View", "UnsafeView", "ReshapeAlias", "Transpose", "Permute", "Clone", "NativeDropout", "Slice", "Expand",
    "Squeeze", "Unsqueeze", "ToCopy", "Alias", "Select", "T", "Roll", "ConstantPadNd", "Mul", "Div", "Unsafe",
)  # fmt: skip
MAX_SKIP_NODES = 24  # nodes searched backwards along a skip
# By size: the names of the settings that get it in a small model's config.
SIZES = {
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
SMALL |= {"num_experts_per_tok": 2, "attention_types": [[["global"], 3]]}
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

Example = tuple[nn.Module, dict[str, Any]]  # a model and its inputs


def transformers_model(name: str) -> Example:
    """A small model of a class of transformers, and its inputs."""
    _declare_kernels()
    model_class = getattr(import_module("transformers"), name)
    config = model_class.config_class()
    for key, value in SMALL.items():
        if key in vars(config) and key not in config.attribute_map and key != "layer_types":
            setattr(config, key, value)
    if vars(config).get("layer_types") is not None and "layer_types" not in config.attribute_map:
        config.layer_types = ["full_attention"] * 3
    config._attn_implementation = "eager"
    model = model_class(config)
    if model.main_input_name == "pixel_values":
        return model, {"pixel_values": torch.randn(2, 3, config.image_size, config.image_size)}
    ids = torch.randint(2, 64, (2, 9))
    inputs = {"input_ids": ids}
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids
    return model, inputs


def _declare_kernels() -> None:
    """Declares torchvision's operators, without which it does not load beside another version of torch."""
    for name in OPERATORS:
        with suppress(RuntimeError):
            torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")


def timm_model(name: str) -> Example:
    """A model of timm, and images of its size."""
    _declare_kernels()
    model = import_module("timm").create_model(name, pretrained=False)
    return model, {"x": torch.randn(2, *model.default_cfg["input_size"])}


def torchvision_model(name: str) -> Example:
    """A model of torchvision, and images."""
    _declare_kernels()
    return getattr(import_module("torchvision").models, name)(weights=None), {"x": torch.randn(2, 3, 224, 224)}


def x_transformers_model(name: str) -> Example:
    """A decoder of x-transformers with one of its options, and its inputs."""
    library = import_module("x_transformers")
    layers = library.Decoder(dim=32, depth=3, heads=4, **X_TRANSFORMERS[name])
    model = library.TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=layers)
    return model, {"x": torch.randint(64, (2, 9))}


X_TRANSFORMERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "post-norm": {"pre_norm": False},
    "sandwich norm": {"sandwich_norm": True},
}
Library = tuple[Callable[[str], Example], list[str]]  # a builder, and the names that it builds
LIBRARIES: Mapping[str, Library] = {
    "transformers": (transformers_model, TRANSFORMERS.split()),
    "timm": (timm_model, TIMM.split()),
    "torchvision": (torchvision_model, TORCHVISION.split()),
    "x_transformers": (x_transformers_model, list(X_TRANSFORMERS)),
}


def families(libraries: Mapping[str, Library] = LIBRARIES) -> Iterator[Figure]:
    """The number of families whose sites equal the additions in autograd's graph, and the names of the others."""
    total = 0
    for library, (build, names) in libraries.items():
        if find_spec(library) is None:
            yield Figure(f"families of {library}", None, note=f"{library} is not installed")
            continue
        different: list[str] = []
        failed: list[str] = []
        for name in names:
            try:
                sites, additions = addition_counts(*build(name))
            except Exception as error:
                failed.append(f"{name} ({type(error).__name__})")
                continue
            if not sites == additions > 0:
                different.append(f"{name} {sites} of {additions}")
        equal = len(names) - len(different) - len(failed)
        total += equal
        exceptions = {"not so": different, "not built": failed}
        note = "".join(f"; {label}: {', '.join(cases)}" for label, cases in exceptions.items() if cases)
        yield Figure(f"families of {library} with all their sites", equal, note=f"of {len(names)}{note}")
    yield Figure("families with all their sites", total, at_least=MIN_FAMILIES)


def addition_counts(model: nn.Module, inputs: Mapping[str, Any]) -> tuple[int, int]:
    """The numbers of residual additions in a forward pass: found by the recorder, and in autograd's graph."""
    torch.manual_seed(0)
    with warnings.catch_warnings(), Tracer(model.train()) as tracer:
        warnings.simplefilter("ignore")
        output = model(**inputs)
    if tracer.failure is not None:
        raise tracer.failure
    return len(residuals_of(tracer.graph)), additions_of([tensor for tensor, _ in tensors_in(output)])


def additions_of(outputs: Iterable[Tensor]) -> int:
    """The number of residual additions in autograd's graph of some tensors."""
    graph = _Graph(output.grad_fn for output in outputs if output.grad_fn is not None)
    count = 0
    for node in graph.order:
        sides = _parents(node) if node.name() == "AddBackward0" else []
        if len(sides) == 2 and _same_shape(node):
            left, right = sides
            if graph.is_skip_of(left, right) or graph.is_skip_of(right, left):
                count += 1
    return count


class _Graph:
    """The nodes of autograd's graph in topological order, with bit masks over their indices."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.order = _topological_order(roots)
        self.index = {node: index for index, node in enumerate(self.order)}
        self.ancestors: list[int] = []  # by index, the mask of a node's ancestors and of itself
        self.weight_mask = 0  # of the operations with weights
        for index, node in enumerate(self.order):
            mask = 1 << index
            for parent in _parents(node):
                mask |= self.ancestors[self.index[parent]]
            self.ancestors.append(mask)
            if _has_kind(node, WEIGHTED):
                self.weight_mask |= 1 << index

    def is_skip_of(self, side: Any, branch: Any) -> bool:
        """Whether one side of an addition is the skip, and the other its branch.

        Searches the skip backwards for a node from which the branch is computed with more weights than the skip.
        """
        branch_mask = self.ancestors[self.index[branch]]
        node = side
        convolutions = 0  # on the skip so far
        for _ in range(MAX_SKIP_NODES):
            index = self.index[node]
            is_source = branch_mask >> index & 1
            branch_weights = (branch_mask & ~self.ancestors[index] & self.weight_mask).bit_count()
            if is_source and branch_weights > convolutions:
                return True
            if _has_kind(node, ("Convolution",)):
                convolutions += 1
            elif not (convolutions or _has_kind(node, PASSING + NORM_OR_POOL)):
                return False
            parents = _parents(node)
            if len(parents) != 1 or convolutions > 1:
                return False
            node = parents[0]
        return False


def _topological_order(roots: Iterable[Any]) -> list[Any]:
    """The nodes of the graph, parents first, without parameters."""
    order: list[Any] = []
    visited: set[Any] = set()
    stack = [(root, False) for root in roots]
    while stack:
        node, has_parents_in_order = stack.pop()
        if has_parents_in_order:
            order.append(node)
        elif node not in visited:
            visited.add(node)
            stack.append((node, True))
            stack += [(parent, False) for parent in _parents(node) if parent not in visited]
    return order


def _parents(node: Any) -> list[Any]:
    parents = [parent for parent, _ in node.next_functions if parent is not None]
    return [parent for parent in parents if "AccumulateGrad" not in parent.name()]


def _has_kind(node: Any, kinds: tuple[str, ...]) -> bool:
    name: str = node.name().partition("Backward")[0]
    return any(name == kind or (len(kind) > 3 and name.startswith(kind)) for kind in kinds)


def _same_shape(node: Any) -> bool:
    inputs = [(parent, output) for parent, output in node.next_functions if parent is not None]
    shapes = {tuple(parent._input_metadata[output].shape) for parent, output in inputs}
    return shapes == {tuple(node._input_metadata[0].shape)}
