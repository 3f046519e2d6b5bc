"""Builds the net of a configuration. Only this module reads configurations; what it calls takes plain arguments."""

from functools import partial

from torch import Tensor, nn

from models.nets.branches import (
    Alibi,
    Attention,
    FirstValues,
    OneLayer,
    RelativeBias,
    Rotary,
    TwoLayers,
    ValueResidual,
)
from models.nets.connections import DynamicHyperConnection, HyperConnection, ManifoldConnection
from models.nets.embedding import build_embedding, build_positions
from models.nets.initialisation import initialise
from models.nets.norms import build_norm
from models.nets.stacks import STACKS, Stack
from models.nets.sublayer import (
    Gate,
    HyperSublayer,
    IdentitySublayer,
    RecursiveSublayer,
    Sublayer,
    build_dropout,
    build_scale,
    build_skip,
)
from models.spec import TASKS, RunConfig, plan
from models.spec.parametrization import branch_gain, head_gain, output_factor, score_scale
from models.spec.plan import SublayerPlan, block_name, layer_of
from models.spec.tasks import MAX_TOKENS
from models.spec.vocabulary import MANY_STREAMS


class Net(nn.Module):
    """logits = head(output_factor * final_norm(stream(position(embed(x))))): batch of the task -> (B, T, C).

    `stream` is the stack of blocks, (B, T, D) -> (B, T, D).
    """

    def __init__(
        self,
        embed: nn.Module,
        position: nn.Module,
        stream: Stack,
        final_norm: nn.Module,
        head: nn.Linear,
        *,
        output_factor: float = 1.0,
    ) -> None:
        super().__init__()
        self.embed, self.position, self.stream = embed, position, stream
        self.final_norm, self.output, self.head = final_norm, build_scale(output_factor), head

    def forward(self, x: Tensor) -> Tensor:
        return self.read_out(self.stream(self.position(self.embed(x))))

    def read_out(self, x: Tensor) -> Tensor:
        """Logits of the stream's last site: (B, T, D) -> (B, T, C)."""
        return self.head(self.output(self.final_norm(x)))


def build_model(cfg: RunConfig) -> Net:
    """The net of a configuration, initialised from its seed. On the CPU, in float32."""
    task = TASKS[cfg.task]
    stack_plan = plan(cfg)
    norm = partial(build_norm, width=cfg.width, eps=cfg.eps, affine=cfg.affine)
    values = FirstValues()
    blocks: dict[str, dict[str, nn.Module]] = {}
    for sublayer in stack_plan.sublayers:
        blocks.setdefault(block_name(sublayer.block), {})[sublayer.kind] = build_sublayer(cfg, sublayer, values)
    position = cfg.position if cfg.net == "transformer" else "none"
    model = Net(
        build_embedding(task.inputs(cfg.net), task.vocabulary, cfg.width),
        build_positions(position, cfg.tokens, cfg.width),
        STACKS[cfg.stack](blocks, partial(norm, cfg.norm), **stack_options(cfg)),
        norm(stack_plan.final_norm),
        nn.Linear(cfg.width, task.classes),
        output_factor=output_factor(cfg),
    )
    if cfg.value_residual:
        model.stream.register_forward_pre_hook(values.before_pass)
        model.stream.register_forward_hook(values.after_pass)
    gains = {"gain": branch_gain(cfg), "head_gain": head_gain(cfg)}
    initialise(model, init=cfg.init, **gains, seed=cfg.seed, sublayers=cfg.sublayers, mixing_noise=cfg.mixing_noise)
    return model


def stack_options(cfg: RunConfig) -> dict[str, float]:
    """What the class of a stack takes beside blocks and norm."""
    if cfg.stack in MANY_STREAMS:
        return {"streams": cfg.streams}
    is_read = cfg.stack == "attention residuals"
    return {"width": cfg.width, "eps": cfg.eps, "size": cfg.depth_block} if is_read else {}


def build_sublayer(cfg: RunConfig, sublayer: SublayerPlan, values: FirstValues | None = None) -> nn.Module:
    if sublayer.identity:
        return IdentitySublayer()
    norm = partial(build_norm, width=cfg.width, eps=cfg.eps, affine=cfg.affine)
    gate_channels = {"zero gate": 1, "layer scale": cfg.width}
    parts = {
        "skip": build_skip(sublayer.skip),
        "scale": Gate(sublayer.scale, gate_channels[sublayer.gate]) if sublayer.gate else build_scale(sublayer.scale),
        "input_scale": build_scale(sublayer.input_scale),
        "norm_in": norm(sublayer.norm_in),
        "norm_out": norm(sublayer.norm_out),
        "norm_add": norm(sublayer.norm_add),
        "drop_branch": build_dropout(sublayer.drop_branch),
        "drop_stream": build_dropout(sublayer.drop_stream),
    }
    if sublayer.repeats > 1:
        return RecursiveSublayer(build_branch(cfg, sublayer, values), norm_again=norm(sublayer.norm_add), **parts)
    if cfg.stack in MANY_STREAMS:
        return HyperSublayer(
            build_branch(cfg, sublayer, values), connection=build_connection(cfg, layer_of(cfg, sublayer)), **parts
        )
    return Sublayer(build_branch(cfg, sublayer, values), **parts)


def build_connection(cfg: RunConfig, layer: int) -> nn.Module:
    """The connection of a sublayer, counted from 0, with the streams."""
    if cfg.stack == "mHC":
        return ManifoldConnection(cfg.streams, layer, cfg.width, cfg.eps, cfg.sinkhorn)
    if cfg.stack == "dynamic hyper-connections":
        return DynamicHyperConnection(cfg.streams, layer, cfg.width, cfg.eps)
    return HyperConnection(cfg.streams, layer)


def build_branch(cfg: RunConfig, sublayer: SublayerPlan, values: FirstValues | None = None) -> nn.Module:
    """The branch F of a sublayer: attention, two layers or one."""
    norm = partial(build_norm, sublayer.norm_mid, eps=cfg.eps, affine=cfg.affine)
    if sublayer.kind == "attn":
        head_size = cfg.width // cfg.heads
        return Attention(
            cfg.width,
            cfg.heads,
            norm(cfg.width),
            causal=cfg.mask == "causal",
            norm_qk=partial(build_norm, "rms norm" if cfg.qk_norm else "none", head_size, cfg.eps, cfg.affine),
            rotation=Rotary(MAX_TOKENS, head_size) if cfg.position == "rotary" else nn.Identity(),
            scale=score_scale(cfg),
            relative=build_position_bias(cfg.position, cfg.heads, causal=cfg.mask == "causal"),
            value_residual=ValueResidual(values, is_first=sublayer.values == "first")
            if values and sublayer.values
            else None,
        )
    if sublayer.kind == "mlp" and cfg.layers_per_branch == 1:
        return OneLayer(cfg.width, sublayer.activation, norm(cfg.width))
    hidden = cfg.expansion * cfg.width
    return TwoLayers(cfg.width, hidden, sublayer.activation, norm(hidden))


def build_position_bias(position: str, heads: int, *, causal: bool) -> nn.Module | None:
    """The module whose output is added to attention's scores; None for positions that enter elsewhere."""
    if position == "relative bias":
        return RelativeBias(heads, bidirectional=not causal)
    return Alibi(heads) if position == "alibi" else None


def count_parameters(model: nn.Module) -> int:
    """Number of trainable parameters."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def matrix_size(module: nn.Module) -> int:
    """Number of entries in a module's matrices, which is its multiply-adds per token."""
    return sum(p.numel() for p in module.parameters() if p.ndim > 1)
