"""The sublayers of a stand-alone script: the classes that its configuration needs."""

from dataclasses import replace

from models.export.script.quote import Definition, quote_definitions
from models.spec import RunConfig, plan
from models.spec.code import DROPOUTS, RELATIVE, branch_code, filled_slots, norm_call, norm_code, sum_code
from models.spec.parametrization import score_scale
from models.spec.plan import SublayerPlan, activations_of, has_dropout, is_one_layer, norms_of
from models.spec.vocabulary import ACTIVATIONS, NORMS

CLASS_NAMES = {"mlp": "MLP", "attn": "Attention", "ffn": "FeedForward"}


def model_code(cfg: RunConfig) -> str:
    """Code that defines the norms, branches and sublayers of a configuration, one class per kind."""
    kinds = kinds_of(cfg)
    branches = dict.fromkeys(
        (kind.kind, kind.norm_mid, kind.activation) for kind in kinds.values() if not kind.identity
    )
    parts = [_quoted_parts(cfg)]
    parts += [_branch_class(cfg, *branch) for branch in branches]
    parts += [_sublayer_class(cfg, name, kind) for name, kind in kinds.items()]
    return "\n\n\n".join([part for part in parts if part])


def _quoted_parts(cfg: RunConfig) -> str:
    """Code quoted from the app: norms, activations, rotary embeddings, position biases and tables."""
    classes = {NORMS[norm].code.partition("(")[0] for norm in norms_of(cfg)}
    definitions: list[Definition] = [
        ("models.nets.norms", name) for name in sorted(classes) if not name.startswith("nn.")
    ]
    codes = [ACTIVATIONS[activation].code for activation in sorted(activations_of(cfg))]
    definitions += [("models.nets.branches", code.removesuffix("()")) for code in codes if code.endswith("()")]
    definitions += [("models.nets.sublayer", "Dropout")] * has_dropout(cfg)
    if cfg.net == "transformer":
        definitions += [("models.nets.branches", "Rotary")] * (cfg.position == "rotary")
        definitions += [
            ("models.nets.branches", RELATIVE[position][0]) for position in RELATIVE if position == cfg.position
        ]
        definitions += [("models.nets.embedding", "Positions")] * (cfg.position in ("sinusoidal", "learned"))
        definitions += [("models.nets.embedding", "sinusoids")] * (cfg.position == "sinusoidal")
    return quote_definitions(*definitions)


def kinds_of(cfg: RunConfig) -> dict[str, SublayerPlan]:
    """Distinct sublayers of a net by class name, ignoring differences of site and block."""
    kinds = list(dict.fromkeys(kind_of(sublayer) for sublayer in plan(cfg).sublayers))
    by_name: dict[str, SublayerPlan] = {}
    for kind in kinds:
        name = "TakenOut" if kind.identity else CLASS_NAMES[kind.kind] + "Sublayer"
        duplicates = sum(other.rstrip("0123456789") == name for other in by_name)
        by_name[name + (str(duplicates + 1) if duplicates else "")] = kind
    return by_name


def kind_of(sublayer: SublayerPlan) -> SublayerPlan:
    """A sublayer's plan without its place in the net, so that equal classes have equal plans."""
    if sublayer.identity:
        return SublayerPlan("", 0, "", "none", "none", "none", "none", 1.0, 1.0, "", 1.0, 1, True, "", 0.0, 0.0)
    # Without a norm, block 1 reads the stream itself, not 1 * x: autograd would add up gradients in another order.
    input_scale = 1.0 if sublayer.norm_in != "none" or sublayer.input_scale == 1 else 0.0
    return replace(sublayer, site="", block=0, input_scale=input_scale)


def _branch_name(cfg: RunConfig, kind: str, norm_mid: str, activation: str) -> str:
    words = norm_mid.split() * (norm_mid != "none") + activation.split() * (activation not in ("", cfg.activation))
    return CLASS_NAMES[kind] + "".join(word.capitalize() for word in words)


def _branch_class(cfg: RunConfig, kind: str, norm_mid: str, activation: str) -> str:
    """Code of the branch F's class: attention, one layer or two."""
    if kind == "attn":
        return _attention_class(cfg, norm_mid)
    single = is_one_layer(cfg, kind)
    first, width = ("w", "WIDTH") if single else ("w1", "HIDDEN")
    init_lines = [f"self.{first} = nn.Linear(WIDTH, {width})"]
    init_lines += [f"self.norm_mid = {norm_of(cfg, norm_mid, width)}"] * (norm_mid != "none")
    init_lines += [] if single else ["self.w2 = nn.Linear(HIDDEN, WIDTH)"]
    inner = norm_call(norm_mid, "self.norm_mid", f"self.{first}(x)")
    if activation != "identity":
        inner = f"{ACTIVATIONS[activation].code}({inner})"
    formula = inner if single else f"self.w2({inner})"
    title = "one layer" if single else "two layers, token by token"
    return class_code(
        _branch_name(cfg, kind, norm_mid, activation), f"The branch: {title}.", init_lines, [f"return {formula}"]
    )


def _attention_class(cfg: RunConfig, norm_mid: str) -> str:
    init_lines = ["self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))"]
    query, key = "self.w_q(x)", "self.w_k(x)"
    heads = ".unflatten(-1, (HEADS, -1)).transpose(1, 2)"
    query, key, value = query + heads, key + heads, "self.w_v(x)" + heads
    if cfg.qk_norm:
        init_lines += [f"self.norm_{x} = {norm_of(cfg, 'rms norm', 'WIDTH // HEADS')}" for x in ("q", "k")]
        query, key = f"self.norm_q({query})", f"self.norm_k({key})"
    if cfg.position == "rotary":
        init_lines.append("self.rotation = Rotary(TOKENS, WIDTH // HEADS)")
        query, key = f"self.rotation({query})", f"self.rotation({key})"
    causal = cfg.mask == "causal"
    options = f"is_causal={causal}"
    if cfg.position in RELATIVE:
        directions = f", bidirectional={not causal}" if cfg.position == "relative bias" else ""
        init_lines.append(f"self.relative = {RELATIVE[cfg.position][0]}(HEADS{directions})")
        options = f"attn_mask=self.relative(x.shape[1], {causal})"
    if (scale := score_scale(cfg)) is not None:
        options += f", scale={scale!r}"
    init_lines += [f"self.norm_mid = {norm_of(cfg, norm_mid, 'WIDTH')}"] * (norm_mid != "none")
    forward_lines = [
        f"q = {query}",
        f"k = {key}",
        f"v = {value}",
        f"mixed = F.scaled_dot_product_attention(q, k, v, {options})",
        f"return self.w_o({norm_call(norm_mid, 'self.norm_mid', 'mixed.transpose(1, 2).flatten(2)')})",
    ]
    title = "The branch: attention of every token to itself and what came before."
    if cfg.mask == "none":
        title = "The branch: attention of every token to all tokens."
    return class_code(_branch_name(cfg, "attn", norm_mid, ""), title, init_lines, forward_lines)


def _sublayer_class(cfg: RunConfig, name: str, kind: SublayerPlan) -> str:
    """Code of a sublayer's class, whose forward pass is its equation."""
    argument = "l" if cfg.input_scale != "one" else ""
    if kind.identity:
        forward = ["return x, 0.0"] if cfg.stack == "residual" else ["return x"]
        return class_code(name, "A sublayer taken out: the stream passes unchanged.", [], forward, argument)
    init_lines = [f"self.function = {_branch_name(cfg, kind.kind, kind.norm_mid, kind.activation)}()"]
    slots = [slot for slot in filled_slots(kind) if slot != "norm_mid"]
    init_lines += [
        f"self.{slot} = {norm_of(cfg, kind.norm_add if slot == 'norm_again' else getattr(kind, slot), 'WIDTH')}"
        for slot in slots
    ]
    init_lines += [f"self.{slot} = Dropout({rate!r})" for slot in DROPOUTS if (rate := getattr(kind, slot))]
    if kind.gate:
        channels = "1" if kind.gate == "zero gate" else "WIDTH"
        init_lines.append(f"self.gate = nn.Parameter(torch.full(({channels},), {kind.scale!r}))")
    branch = branch_code(cfg, kind, _attribute, lambda inner: f"self.function({inner})")
    forward_lines: list[str] = []
    init_lines += ["self.l = l"] * ("self.l*" in branch)
    if cfg.stack == "residual" or (kind.skip and cfg.skip_scale != 1):
        # The branch comes first, as in the app: the forward order fixes the order in which autograd sums gradients.
        branch, forward_lines = "branch", [f"branch = {branch}"]
    title = "The stream plus the branch." if kind.skip else "The branch alone: nothing carries the stream past it."
    if kind.repeats > 1:
        forward_lines.append(f"once = {sum_code(cfg, kind, _attribute, branch)}")
        forward_lines.append(f"return {sum_code(cfg, kind, _attribute, 'once', 'norm_again')}")
        title = "The stream plus the branch, and the stream once more."
    elif cfg.stack == "residual":
        # Without skip and norm the sum must still be a new tensor: the branch gets gradients from two streams.
        total = sum_code(cfg, kind, _attribute, branch)
        forward_lines.append(f"return {'0.0 + branch' if total == 'branch' else total}, branch")
        title = "What the stream becomes, and the branch for the second stream."
    else:
        forward_lines.append(f"return {sum_code(cfg, kind, _attribute, branch)}")
    return class_code(name, title, init_lines, forward_lines, argument)


def _attribute(slot: str) -> str:
    return f"self.{slot}"


def norm_of(cfg: RunConfig, norm: str, width: str) -> str:
    """Code that constructs a norm; EPS is a constant of the script."""
    return "nn.Identity()" if norm == "none" else norm_code(norm, width, "EPS", affine=cfg.affine)


def class_code(name: str, title: str, init_lines: list[str], forward_lines: list[str], argument: str = "") -> str:
    """Code of a module from the lines of its `__init__` and `forward`."""
    line_start = "\n        "
    opening = f"    def __init__(self{', ' + argument if argument else ''}):{line_start}super().__init__(){line_start}"
    return (
        f'class {name}(nn.Module):\n    """{title}"""\n\n{opening.rstrip()}'
        + "".join(line_start + line for line in init_lines)
        + "\n\n    def forward(self, x):"
        + "".join(line_start + line for line in forward_lines)
    )
