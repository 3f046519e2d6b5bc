"""The sublayers of a stand-alone script: the classes that its configuration needs."""

from dataclasses import replace

from models.export.script.quote import GENERATOR, Definition, quote_definitions
from models.spec import RunConfig, plan
from models.spec.code import (
    CONNECTIONS,
    DROPOUTS,
    MAX_BRANCH_CHARS,
    RELATIVE,
    branch_code,
    connection_code,
    filled_slots,
    norm_call,
    norm_code,
    sum_code,
)
from models.spec.parametrization import score_scale
from models.spec.plan import SublayerPlan, activations_of, has_dropout, is_one_layer, norms_of
from models.spec.scales import GATES
from models.spec.vocabulary import ACTIVATIONS, MANY_STREAMS, NORMS

FIRST_VALUES = "FIRST = {}  # the values of the first attention in the last forward pass"
VALUE_LINES = {"": (), "first": ('FIRST["v"] = v',), "mixed": ('v = 0.5 * FIRST["v"] + 0.5 * v',)}
CLASS_NAMES = {"mlp": "MLP", "attn": "Attention", "ffn": "FeedForward"}


def model_code(cfg: RunConfig) -> str:
    """Code that defines the norms, branches and sublayers of a configuration, one class for all that are equal."""
    classes = sublayer_classes(cfg)
    active = [sublayer for sublayer in classes.values() if not sublayer.identity]
    branches = dict.fromkeys((sub.kind, sub.norm_mid, sub.activation, sub.values) for sub in active)
    parts = [_quoted_parts(cfg), FIRST_VALUES if any(sublayer.values for sublayer in active) else ""]
    parts += [_branch_class(cfg, *branch) for branch in branches]
    parts += [_sublayer_class(cfg, name, sublayer) for name, sublayer in classes.items()]
    return "\n\n\n".join([part for part in parts if part])


def _quoted_parts(cfg: RunConfig) -> str:
    """Code quoted from the app: norms, activations, rotary embeddings, position biases and tables."""
    classes = {NORMS[norm].code.partition("(")[0] for norm in norms_of(cfg)}
    definitions: list[Definition] = [
        ("models.nets.norms", name) for name in sorted(classes) if not name.startswith("nn.")
    ]
    codes = [ACTIVATIONS[activation].code for activation in sorted(activations_of(cfg))]
    definitions += [("models.nets.branches", code.removesuffix("()")) for code in codes if code.endswith("()")]
    if has_dropout(cfg):
        definitions.append(("models.nets.sublayer", "Dropout"))
    if cfg.stack in CONNECTIONS:
        definitions.append(("models.nets.connections", CONNECTIONS[cfg.stack]))
    if cfg.branch_scale in GATES:
        definitions.append(("models.nets.sublayer", "Gate"))
    if cfg.stack == "learned scalars":
        definitions.append(("models.nets.stacks", "LearnedScalars"))
    if cfg.net == "transformer":
        if cfg.position == "rotary":
            definitions.append(("models.nets.branches", "Rotary"))
        if cfg.position in RELATIVE:
            definitions.append(("models.nets.branches", RELATIVE[cfg.position][0]))
        if cfg.position in ("sinusoidal", "learned"):
            definitions.append(("models.nets.embedding", "Positions"))
        if cfg.position == "sinusoidal":
            definitions.append(("models.nets.embedding", "sinusoids"))
    return quote_definitions(*definitions, quoted={GENERATOR})


def sublayer_classes(cfg: RunConfig) -> dict[str, SublayerPlan]:
    """Distinct sublayers of a net by class name, ignoring differences of site and block."""
    by_name: dict[str, SublayerPlan] = {}
    for sublayer in dict.fromkeys(without_place(sublayer) for sublayer in plan(cfg).sublayers):
        name = "TakenOut" if sublayer.identity else CLASS_NAMES[sublayer.kind] + "Sublayer"
        duplicates = sum(other.rstrip("0123456789") == name for other in by_name)
        suffix = str(duplicates + 1) if duplicates else ""
        by_name[name + suffix] = sublayer
    return by_name


def without_place(sublayer: SublayerPlan) -> SublayerPlan:
    """A sublayer's plan without its place in the net, so that equal classes have equal plans."""
    if sublayer.identity:
        return SublayerPlan(
            site="",
            block=0,
            kind="",
            norm_in="none",
            norm_mid="none",
            norm_out="none",
            norm_add="none",
            skip=1.0,
            scale=1.0,
            gate="",
            input_scale=1.0,
            repeats=1,
            identity=True,
            activation="",
            drop_branch=0.0,
            drop_stream=0.0,
        )
    # Without a norm, block 1 reads the stream itself, not 1 * x: autograd would add up gradients in another order.
    input_scale = 1.0 if sublayer.norm_in != "none" or sublayer.input_scale == 1 else 0.0
    return replace(sublayer, site="", block=0, input_scale=input_scale)


def _branch_name(cfg: RunConfig, kind: str, norm_mid: str, activation: str, values: str) -> str:
    """Name of a branch's class: its kind, its inner norm, its activation if the net has several, and its values."""
    words = [*([] if norm_mid == "none" else norm_mid.split()), *([values] if values else [])]
    if activation not in ("", cfg.activation):
        words += activation.split()
    return CLASS_NAMES[kind] + "".join(word.capitalize() for word in words)


def _branch_class(cfg: RunConfig, kind: str, norm_mid: str, activation: str, values: str) -> str:
    """Code of the branch F's class: attention, one layer or two."""
    if kind == "attn":
        return _attention_class(cfg, norm_mid, values)
    single = is_one_layer(cfg, kind)
    layer, width = ("w", "WIDTH") if single else ("w1", "HIDDEN")
    init_lines = [f"self.{layer} = nn.Linear(WIDTH, {width})"]
    if norm_mid != "none":
        init_lines.append(f"self.norm_mid = {norm_constructor(cfg, norm_mid, width)}")
    if not single:
        init_lines.append("self.w2 = nn.Linear(HIDDEN, WIDTH)")
    inner = norm_call(norm_mid, "self.norm_mid", f"self.{layer}(x)")
    if activation != "identity":
        inner = f"{ACTIVATIONS[activation].code}({inner})"
    formula = inner if single else f"self.w2({inner})"
    title = "one layer" if single else "two layers, token by token"
    return class_code(
        _branch_name(cfg, kind, norm_mid, activation, ""), f"The branch: {title}.", init_lines, [f"return {formula}"]
    )


def _attention_class(cfg: RunConfig, norm_mid: str, values: str) -> str:
    """Code of the attention branch's class."""
    init_lines = ["self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))"]
    split_heads = ".unflatten(-1, (HEADS, -1)).transpose(1, 2)"
    query, key, value = (f"self.{weight}(x){split_heads}" for weight in ("w_q", "w_k", "w_v"))
    if cfg.qk_norm:
        init_lines += [f"self.norm_{x} = {norm_constructor(cfg, 'rms norm', 'WIDTH // HEADS')}" for x in ("q", "k")]
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
    scale = score_scale(cfg)
    if scale is not None:
        options += f", scale={scale!r}"
    if norm_mid != "none":
        init_lines.append(f"self.norm_mid = {norm_constructor(cfg, norm_mid, 'WIDTH')}")
    forward_lines = [
        f"q = {query}",
        f"k = {key}",
        f"v = {value}",
        *VALUE_LINES[values],
        f"mixed = F.scaled_dot_product_attention(q, k, v, {options})",
        f"return self.w_o({norm_call(norm_mid, 'self.norm_mid', 'mixed.transpose(1, 2).flatten(2)')})",
    ]
    title = "The branch: attention of every token to itself and what came before."
    if cfg.mask == "none":
        title = "The branch: attention of every token to all tokens."
    return class_code(_branch_name(cfg, "attn", norm_mid, "", values), title, init_lines, forward_lines)


def _sublayer_class(cfg: RunConfig, name: str, sublayer: SublayerPlan) -> str:
    """Code of a sublayer's class, whose forward pass is its equation."""
    argument = ", ".join(arguments(cfg, sublayer.kind))
    if sublayer.identity:
        forward = ["return x, 0.0"] if cfg.stack == "residual" else ["return x"]
        return class_code(name, "A sublayer taken out: the stream passes unchanged.", [], forward, argument)
    init_lines = [
        f"self.function = {_branch_name(cfg, sublayer.kind, sublayer.norm_mid, sublayer.activation, sublayer.values)}()"
    ]
    for slot in filled_slots(sublayer):
        if slot != "norm_mid":  # belongs to the branch
            norm = sublayer.norm_add if slot == "norm_again" else getattr(sublayer, slot)
            init_lines.append(f"self.{slot} = {norm_constructor(cfg, norm, 'WIDTH')}")
    for slot in DROPOUTS:
        rate = getattr(sublayer, slot)
        if rate:
            init_lines.append(f"self.{slot} = Dropout({rate!r})")
    if sublayer.gate:
        channels = "1" if sublayer.gate == "zero gate" else "WIDTH"
        init_lines.append(f"self.scale = Gate({sublayer.scale!r}, {channels})")
    branch = branch_code(cfg, sublayer, _attribute, lambda inner: f"self.function({inner})")
    forward_lines: list[str] = []
    if "self.l*" in branch:
        init_lines.append("self.l = l")
    if cfg.stack in CONNECTIONS:
        return _connected_class(cfg, name, branch, init_lines, argument)
    is_long = len(branch) > MAX_BRANCH_CHARS
    if is_long or cfg.stack == "residual" or (sublayer.skip and cfg.skip_scale != 1):
        # The branch comes first, as in the app: the forward order fixes the order in which autograd sums gradients.
        branch, forward_lines = "branch", [f"branch = {branch}"]
    title = "The stream plus the branch." if sublayer.skip else "The branch alone: nothing carries the stream past it."
    if sublayer.repeats > 1:
        forward_lines.append(f"once = {sum_code(cfg, sublayer, _attribute, branch)}")
        forward_lines.append(f"return {sum_code(cfg, sublayer, _attribute, 'once', 'norm_again')}")
        title = "The stream plus the branch, and the stream once more."
    elif cfg.stack == "residual":
        # Without a skip the sum must still be a new tensor: the branch gets gradients from two streams, and a norm's
        # own parts of the gradient are added up first.
        total = sum_code(cfg, sublayer, _attribute, branch if sublayer.skip else "0.0 + branch")
        forward_lines.append(f"return {total}, branch")
        title = "What the stream becomes, and the branch for the second stream."
    else:
        forward_lines.append(f"return {sum_code(cfg, sublayer, _attribute, branch)}")
    return class_code(name, title, init_lines, forward_lines, argument)


def _connected_class(cfg: RunConfig, name: str, branch: str, init_lines: list[str], argument: str) -> str:
    """Code of the class of a sublayer between n streams, or one whose branch later sublayers read."""
    if cfg.stack == "attention residuals":
        return class_code(name, "The branch, which later sublayers read.", init_lines, [f"return {branch}"], argument)
    init_lines.append(f"self.connection = {connection_code(cfg, 'k', 'WIDTH', 'EPS')}")
    forward_lines = ["x, mixed, beta = self.connection(x)"]
    if len(branch) > MAX_BRANCH_CHARS:
        branch, forward_lines = "branch", [*forward_lines, f"branch = {branch}"]
    forward_lines.append(f"return mixed + beta * ({branch}).unsqueeze(-2)")
    title = "The streams, mixed, plus the branch of their weighted sum."
    return class_code(name, title, init_lines, forward_lines, argument)


def arguments(cfg: RunConfig, kind: str) -> dict[str, str]:
    """What a sublayer's class takes, by name, as code in the function that builds block l: its block and its number."""
    number = "l - 1" if cfg.net == "mlp" else "2 * l - 1" if kind == "ffn" else "2 * l - 2"
    return ({"l": "l"} if cfg.input_scale != "one" else {}) | ({"k": number} if cfg.stack in MANY_STREAMS else {})


def _attribute(slot: str) -> str:
    return "self.scale.gate" if slot == "gate" else f"self.{slot}"


def norm_constructor(cfg: RunConfig, norm: str, width: str) -> str:
    """Code that constructs a norm; EPS is a constant of the script."""
    return "nn.Identity()" if norm == "none" else norm_code(norm, width, "EPS", affine=cfg.affine)


def class_code(name: str, title: str, init_lines: list[str], forward_lines: list[str], argument: str = "") -> str:
    """Code of a module from the lines of its `__init__` and `forward`."""
    parameters = f"self, {argument}" if argument else "self"
    lines = [
        f"class {name}(nn.Module):",
        f'    """{title}"""',
        "",
        f"    def __init__({parameters}):",
        *(f"        {line}" for line in ("super().__init__()", *init_lines)),
        "",
        "    def forward(self, x):",
        *(f"        {line}" for line in forward_lines),
    ]
    return "\n".join(lines)
