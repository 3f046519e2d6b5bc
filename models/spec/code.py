"""A block as a few lines of PyTorch, written from the same plan as the model."""

from collections.abc import Callable
from typing import NamedTuple

from models.spec.config import RunConfig
from models.spec.parametrization import BASE_DEPTH, branch_factor, score_scale
from models.spec.plan import SublayerPlan, depth_sources, is_one_layer, layer_of, matrices, plan
from models.spec.vocabulary import MANY_STREAMS, NORMS

Name = Callable[[str], str]  # slot -> its name in the code, such as "norm_in" -> "self.norm_in"

SLOTS = ("norm_in", "norm_mid", "norm_out", "norm_add")
DROPOUTS = ("drop_branch", "drop_stream")
MAX_BRANCH_CHARS = 75  # a longer branch has a line of its own
# Positions added to attention's scores: class in `models.nets.branches`, and name in the code of a block.
RELATIVE = {"relative bias": ("RelativeBias", "relative_bias"), "alibi": ("Alibi", "alibi")}
MATRIX_PATHS = {"W": "w", "W1": "w1", "W2": "w2", "Wq": "w_q", "Wk": "w_k", "Wv": "w_v", "Wo": "w_o"}
# Classes in `models.nets.connections`, by stack.
CONNECTIONS = {
    "hyper-connections": "HyperConnection",
    "dynamic hyper-connections": "DynamicHyperConnection",
    "mHC": "ManifoldConnection",
    "attention residuals": "DepthAttention",
}
RULE_CODE = {"deepnorm": "M**0.25", "depth": "M", "1/sqrt(depth)": "1 / math.sqrt(M)", "1/sqrt(2)": "1 / math.sqrt(2)"}


class CodePart(NamedTuple):
    """A module of a block: its path there, such as "mlp.function.w1", and the code that builds it."""

    path: str
    code: str


def block_code(cfg: RunConfig, block: int | None = None) -> str:
    """A block (by default the last) as PyTorch code that updates the stream x; `block_parts` defines its names."""
    sublayers = _sublayers(cfg, block)
    lines = []
    for sublayer in sublayers:
        if sublayer.kind == "attn" and not sublayer.identity:
            lines += [*_attention_lines(cfg, sublayer), ""]
    if cfg.stack == "learned scalars":
        lines.append("x = resid_lambda * x + x0_lambda * x0  # two learned numbers of this block, 1 and 0 at first")
    if cfg.stack == "dlcl":
        lines.append("x = sum(w[k] * normed[k] for k in range(len(normed)))  # of all earlier blocks")
    for index, sublayer in enumerate(sublayers, 1):
        lines += _stream_lines(cfg, sublayer, _number(cfg, index))
    if cfg.stack == "dlcl":
        lines.append("normed.append(norm_block(x))" if cfg.norm != "none" else "normed.append(x)")
    code = "\n".join(lines)
    notes = []
    if "M" in code:
        notes.append(f"# M = {cfg.sublayers} sublayers")
    if "l**" in code:
        notes.append(f"# l = {block or cfg.depth}, the block")
    return "\n".join([*notes, code])


def block_parts(cfg: RunConfig, block: int | None = None) -> str:
    """Definitions of the names in `block_code`, one per line; the matrices of a branch share one."""
    groups: dict[str, dict[str, str]] = {}
    for name, part in parts_by_name(cfg, block).items():
        group = part.path.partition(".")[0] if part.code.startswith("nn.Linear") else name
        groups.setdefault(group, {})[name] = part.code
    return "\n".join(f"{', '.join(group)} = {', '.join(group.values())}" for group in groups.values())


def parts_by_name(cfg: RunConfig, block: int | None = None) -> dict[str, CodePart]:
    """The parts of a block by their names in `block_code`."""
    parts: dict[str, CodePart] = {}
    for index, sublayer in enumerate(_sublayers(cfg, block), 1):
        if not sublayer.identity:
            number = _number(cfg, index)
            parts |= _norm_parts(cfg, sublayer, number) | _other_parts(cfg, sublayer, number)
    return parts


def _norm_parts(cfg: RunConfig, sublayer: SublayerPlan, number: str) -> dict[str, CodePart]:
    """The norms in the slots of a sublayer."""
    name = _slot_name(sublayer, number)
    parts = {}
    for slot in filled_slots(sublayer):
        norm = getattr(sublayer, slot if slot != "norm_again" else "norm_add")
        width = cfg.width
        if slot == "norm_mid" and _has_hidden(cfg, sublayer):
            width *= cfg.expansion
        parent = f"{sublayer.kind}.function" if slot == "norm_mid" else sublayer.kind
        code = norm_code(norm, str(width), repr(cfg.eps), affine=cfg.affine)
        parts[name(slot)] = CodePart(f"{parent}.{slot}", code)
    return parts


def _other_parts(cfg: RunConfig, sublayer: SublayerPlan, number: str) -> dict[str, CodePart]:
    """Dropouts, the gate, the matrices, and the norms of queries and keys."""
    parts = {}
    for slot in DROPOUTS:
        rate = getattr(sublayer, slot)
        if rate:
            parts[slot + number] = CodePart(f"{sublayer.kind}.{slot}", f"nn.Dropout({rate:g})")
    if sublayer.gate:
        channels = 1 if sublayer.gate == "zero gate" else cfg.width
        code = f"nn.Parameter(torch.full(({channels},), {sublayer.scale!r}))"
        parts[f"gate{number}"] = CodePart(f"{sublayer.kind}.scale.gate", code)
    if cfg.stack in MANY_STREAMS:
        code = connection_code(cfg, str(layer_of(cfg, sublayer)), str(cfg.width), repr(cfg.eps))
        parts[f"connection{number}"] = CodePart(f"{sublayer.kind}.connection", code)
    for name, (inputs, outputs) in matrices(cfg, sublayer.kind).items():
        parts[name] = CodePart(f"{sublayer.kind}.function.{MATRIX_PATHS[name]}", f"nn.Linear({inputs}, {outputs})")
    if sublayer.kind == "attn" and cfg.qk_norm:
        code = norm_code("rms norm", str(cfg.width // cfg.heads), repr(cfg.eps), affine=cfg.affine)
        parts |= {name: CodePart(f"attn.function.{name}", code) for name in ("norm_q", "norm_k")}
    return parts


def connection_code(cfg: RunConfig, layer: str, width: str, eps: str) -> str:
    """The code that builds a sublayer's connection, from `models.nets.connections`."""
    arguments = [str(cfg.streams), layer]
    if cfg.stack != "hyper-connections":
        arguments += [width, eps]
    if cfg.stack == "mHC":
        arguments.append(str(cfg.sinkhorn))
    return f"{CONNECTIONS[cfg.stack]}({', '.join(arguments)})"


def branch_code(cfg: RunConfig, sublayer: SublayerPlan, name: Name, function: Callable[[str], str]) -> str:
    """The code of a branch, scale * N_out(F(c_in * N_in(x))); `function` returns that of F, given that of its input."""
    inner = norm_call(sublayer.norm_in, name("norm_in"), "x")
    if cfg.input_scale != "one" and (sublayer.norm_in, sublayer.input_scale) != ("none", 1.0):
        inner = f"{name('l')}**-0.5 * {inner}"
    branch = norm_call(sublayer.norm_out, name("norm_out"), function(inner))
    branch = f"{name('gate')} * {branch}" if sublayer.gate else branch_factor_code(cfg) + branch
    return f"{name('drop_branch')}({branch})" if sublayer.drop_branch else branch


def sum_code(cfg: RunConfig, sublayer: SublayerPlan, name: Name, branch: str, slot: str = "norm_add") -> str:
    """The code of the sum, N_add(skip * x + branch); `slot` is "norm_again" for the second one of a recursive skip."""
    total = f"{_weight_code(cfg.skip_scale)}x + {branch}" if sublayer.skip else branch
    normed = norm_call(sublayer.norm_add, name(slot), total)
    is_last = sublayer.repeats == 1 or slot == "norm_again"
    return f"{name('drop_stream')}({normed})" if is_last and sublayer.drop_stream else normed


def norm_call(norm: str, name: str, inner: str) -> str:
    """The code of a norm called on its input; the input itself for an empty slot."""
    return inner if norm == "none" else f"{name}({inner})"


def filled_slots(sublayer: SublayerPlan) -> list[str]:
    """The slots of a sublayer that hold a norm."""
    again = ["norm_again"] if sublayer.repeats > 1 and sublayer.norm_add != "none" else []
    return [slot for slot in SLOTS if getattr(sublayer, slot) != "none"] + again


def norm_code(norm: str, width: str, eps: str, *, affine: bool) -> str:
    """The code that builds a norm, from torch or from `models.nets.norms`."""
    entry = NORMS[norm]
    return entry.code.format(width=width, eps=eps, switch="" if affine else f", {entry.switch}=False")


def _sublayers(cfg: RunConfig, block: int | None) -> list[SublayerPlan]:
    return list(plan(cfg).block_sublayers(block or cfg.depth))


def _number(cfg: RunConfig, index: int) -> str:
    """The suffix of names in the sublayer at an index, counted from 1; empty in an MLP, which has one."""
    return str(index) if cfg.net == "transformer" else ""


def _has_hidden(cfg: RunConfig, sublayer: SublayerPlan) -> bool:
    """Whether the branch has a hidden layer."""
    return sublayer.kind != "attn" and not is_one_layer(cfg, sublayer.kind)


def _slot_name(sublayer: SublayerPlan, number: str) -> Name:
    """Names of a sublayer's slots: a single norm is `norm`, others have the name of their slot."""
    has_several = len(filled_slots(sublayer)) > 1

    def name(slot: str) -> str:
        if slot == "l":
            return slot
        return (slot if has_several or slot in ("gate", *DROPOUTS) else "norm") + number

    return name


def _stream_lines(cfg: RunConfig, sublayer: SublayerPlan, number: str) -> list[str]:
    """The code of a sublayer: assignments to x, in ResiDual to y, and to n streams h (B, T, n, D)."""
    if sublayer.identity:
        return ["h = h  # taken out"] if cfg.stack in MANY_STREAMS else ["x = x  # taken out"]
    name = _slot_name(sublayer, number)
    branch = branch_code(cfg, sublayer, name, lambda inner: _function_code(cfg, sublayer, name, inner))
    if cfg.stack in MANY_STREAMS:
        return [f"x, mixed, beta = connection{number}(h)", f"h = mixed + beta * ({branch}).unsqueeze(-2)"]
    if cfg.stack == "attention residuals":
        begins = sublayer in {group[0] for group in depth_sources(cfg)}
        stored = f"v.append({branch})" if begins else f"v[-1] = v[-1] + {branch}"
        return [stored, f"x = read{number}(torch.stack(v))  # attention over depth"]
    if cfg.stack == "residual":
        return [f"f = {branch}", f"x, y = {sum_code(cfg, sublayer, name, 'f')}, y + f"]
    if sublayer.repeats > 1:
        once = sum_code(cfg, sublayer, name, branch)
        return [f"once = {once}", f"x = {sum_code(cfg, sublayer, name, 'once', 'norm_again')}"]
    lines, branch = ([f"f = {branch}"], "f") if len(branch) > MAX_BRANCH_CHARS else ([], branch)
    return [*lines, f"x = {sum_code(cfg, sublayer, name, branch)}"]


def _function_code(cfg: RunConfig, sublayer: SublayerPlan, name: Name, inner: str) -> str:
    """The code of F called on its input."""
    if sublayer.kind == "attn":
        return f"attention({inner})"
    has_hidden = _has_hidden(cfg, sublayer)
    matrix = "W1" if has_hidden else "W"
    output = norm_call(sublayer.norm_mid, name("norm_mid"), f"{matrix}({inner})")
    if sublayer.activation != "identity":
        output = f"{sublayer.activation.replace(' ', '_')}({output})"
    return f"W2({output})" if has_hidden else output


def _attention_lines(cfg: RunConfig, sublayer: SublayerPlan) -> list[str]:
    """The definition of `attention` in the code of a block."""
    name = _slot_name(sublayer, "1")
    query, key = ("norm_q(q)", "norm_k(k)") if cfg.qk_norm else ("q", "k")
    if cfg.position == "rotary":
        query, key = f"rotary({query})", f"rotary({key})"
    query_lines = [f"    q, k = {query}, {key}"] if query != "q" else []
    options = ", is_causal=True" if cfg.mask == "causal" else ""
    if cfg.position in RELATIVE:
        _, bias = RELATIVE[cfg.position]
        options = f", attn_mask={bias}(z.shape[1], {cfg.mask == 'causal'})"
    scale = score_scale(cfg)
    if scale is not None:
        options += f", scale={scale!r}"
    return [
        "def attention(z):",
        f"    q, k, v = (W(z).unflatten(-1, ({cfg.heads}, -1)).transpose(1, 2) for W in (Wq, Wk, Wv))",
        *query_lines,
        *(
            ["    v = 0.5 * first_v + 0.5 * v  # first_v: the v of the first attention"]
            if sublayer.values == "mixed"
            else []
        ),
        f"    heads = scaled_dot_product_attention(q, k, v{options})",
        f"    return Wo({norm_call(sublayer.norm_mid, name('norm_mid'), 'heads.transpose(1, 2).flatten(2)')})",
    ]


def _weight_code(scale: float | str) -> str:
    """The code of a weight and " * "; empty for a weight of 1."""
    if isinstance(scale, str):
        return RULE_CODE[scale] + " * "
    return "" if scale == 1 else f"{number_code(scale)} * "


def branch_factor_code(cfg: RunConfig) -> str:
    """The code of a branch's weight and " * "; empty for a weight of 1."""
    factor = _weight_code(cfg.branch_scale)
    if branch_factor(cfg) == 1:
        return factor
    if isinstance(cfg.branch_scale, str):
        factor = f"({RULE_CODE[cfg.branch_scale]}) * "
    return f"{BASE_DEPTH} / {cfg.depth} * {factor}"


def number_code(value: float) -> str:
    """The shortest text that parses to the same number."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
