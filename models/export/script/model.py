"""The sublayers of a stand-alone script: only the classes that its configuration needs."""

from dataclasses import replace

from models.export.script.quote import Definition, quoted
from models.spec import RunConfig, plan
from models.spec.code import DROPOUTS, RELATIVE, branch_code, filled_slots, norm_call, norm_code, sum_code
from models.spec.parametrization import score_scale
from models.spec.plan import SublayerPlan, activations_of, has_dropout, is_one_layer, norms_of
from models.spec.vocabulary import ACTIVATIONS, NORMS

CLASS_NAMES = {"mlp": "MLP", "attn": "Attention", "ffn": "FeedForward"}


def model_code(cfg: RunConfig) -> str:
    """The code that defines the norms, branches and sublayers of a configuration, one class per kind."""
    kinds = kinds_of(cfg)
    branches = dict.fromkeys(
        (kind.kind, kind.norm_mid, kind.activation) for kind in kinds.values() if not kind.identity
    )
    parts = [_quoted_parts(cfg)]
    parts += [_branch_class(cfg, *branch) for branch in branches]
    parts += [_sublayer_class(cfg, name, kind) for name, kind in kinds.items()]
    return "\n\n\n".join([part for part in parts if part])


def _quoted_parts(cfg: RunConfig) -> str:
    """The app's own code for norms, activations, rotations, biases and position tables."""
    classes = {NORMS[norm].code.partition("(")[0] for norm in norms_of(cfg)}
    wanted: list[Definition] = [("models.nets.norms", name) for name in sorted(classes) if not name.startswith("nn.")]
    used = [ACTIVATIONS[activation].code for activation in sorted(activations_of(cfg))]
    wanted += [("models.nets.branches", code.removesuffix("()")) for code in used if code.endswith("()")]
    wanted += [("models.nets.sublayer", "Dropout")] * has_dropout(cfg)
    if cfg.net == "transformer":
        wanted += [("models.nets.branches", "Rotary")] * (cfg.position == "rotary")
        wanted += [("models.nets.branches", RELATIVE[at][0]) for at in RELATIVE if at == cfg.position]
        wanted += [("models.nets.embedding", "Positions")] * (cfg.position in ("sinusoidal", "learned"))
        wanted += [("models.nets.embedding", "sinusoids")] * (cfg.position == "sinusoidal")
    return quoted(*wanted)


def kinds_of(cfg: RunConfig) -> dict[str, SublayerPlan]:
    """The different sublayers of a net by class name, apart from what only their blocks tell apart."""
    kinds = list(dict.fromkeys(kind_of(sublayer) for sublayer in plan(cfg).sublayers))
    by_name: dict[str, SublayerPlan] = {}
    for kind in kinds:
        name = "TakenOut" if kind.identity else CLASS_NAMES[kind.kind] + "Sublayer"
        alike = sum(known.rstrip("0123456789") == name for known in by_name)
        by_name[name + (str(alike + 1) if alike else "")] = kind
    return by_name


def kind_of(sublayer: SublayerPlan) -> SublayerPlan:
    """A sublayer's plan without its place in the net, which its class does not know."""
    if sublayer.identity:
        return SublayerPlan("", 0, "", "none", "none", "none", "none", 1.0, 1.0, "", 1.0, 1, True, "", 0.0, 0.0)
    # Without a norm, block 1 reads the stream itself, not 1 * x: autograd would add up gradients in another order.
    same = 1.0 if sublayer.norm_in != "none" or sublayer.input_scale == 1 else 0.0
    return replace(sublayer, site="", block=0, input_scale=same)


def _branch_name(cfg: RunConfig, kind: str, norm_mid: str, activation: str) -> str:
    words = norm_mid.split() * (norm_mid != "none") + activation.split() * (activation not in ("", cfg.activation))
    return CLASS_NAMES[kind] + "".join(word.capitalize() for word in words)


def _branch_class(cfg: RunConfig, kind: str, norm_mid: str, activation: str) -> str:
    """The class of F: attention, one layer or two."""
    if kind == "attn":
        return _attention_class(cfg, norm_mid)
    single = is_one_layer(cfg, kind)
    first, width = ("w", "WIDTH") if single else ("w1", "HIDDEN")
    made = [f"self.{first} = nn.Linear(WIDTH, {width})"]
    made += [f"self.norm_mid = {norm_of(cfg, norm_mid, width)}"] * (norm_mid != "none")
    made += [] if single else ["self.w2 = nn.Linear(HIDDEN, WIDTH)"]
    inner = norm_call(norm_mid, "self.norm_mid", f"self.{first}(x)")
    if activation != "identity":
        inner = f"{ACTIVATIONS[activation].code}({inner})"
    formula = inner if single else f"self.w2({inner})"
    title = "one layer" if single else "two layers, token by token"
    return class_code(
        _branch_name(cfg, kind, norm_mid, activation), f"The branch: {title}.", made, [f"return {formula}"]
    )


def _attention_class(cfg: RunConfig, norm_mid: str) -> str:
    made = ["self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))"]
    query, key = "self.w_q(x)", "self.w_k(x)"
    heads = ".unflatten(-1, (HEADS, -1)).transpose(1, 2)"
    query, key, value = query + heads, key + heads, "self.w_v(x)" + heads
    if cfg.qk_norm:
        made += [f"self.norm_{x} = {norm_of(cfg, 'rms norm', 'WIDTH // HEADS')}" for x in ("q", "k")]
        query, key = f"self.norm_q({query})", f"self.norm_k({key})"
    if cfg.position == "rotary":
        made.append("self.rotation = Rotary(TOKENS, WIDTH // HEADS)")
        query, key = f"self.rotation({query})", f"self.rotation({key})"
    causal, how = cfg.mask == "causal", f"is_causal={cfg.mask == 'causal'}"
    if cfg.position in RELATIVE:
        ways = f", bidirectional={not causal}" if cfg.position == "relative bias" else ""
        made.append(f"self.relative = {RELATIVE[cfg.position][0]}(HEADS{ways})")
        how = f"attn_mask=self.relative(x.shape[1], {causal})"
    if (scale := score_scale(cfg)) is not None:
        how += f", scale={scale!r}"
    made += [f"self.norm_mid = {norm_of(cfg, norm_mid, 'WIDTH')}"] * (norm_mid != "none")
    body = [
        f"q = {query}",
        f"k = {key}",
        f"v = {value}",
        f"mixed = F.scaled_dot_product_attention(q, k, v, {how})",
        f"return self.w_o({norm_call(norm_mid, 'self.norm_mid', 'mixed.transpose(1, 2).flatten(2)')})",
    ]
    title = "The branch: attention of every token to itself and what came before."
    if cfg.mask == "none":
        title = "The branch: attention of every token to all tokens."
    return class_code(_branch_name(cfg, "attn", norm_mid, ""), title, made, body)


def _sublayer_class(cfg: RunConfig, name: str, kind: SublayerPlan) -> str:
    """The class of one kind of sublayer, whose forward pass is its equation."""
    argument = "l" if cfg.input_scale != "one" else ""
    if kind.identity:
        passed = ["return x, 0.0"] if cfg.stack == "residual" else ["return x"]
        return class_code(name, "A sublayer taken out: the stream passes untouched.", [], passed, argument)
    made = [f"self.function = {_branch_name(cfg, kind.kind, kind.norm_mid, kind.activation)}()"]
    slots = [slot for slot in filled_slots(kind) if slot != "norm_mid"]
    made += [
        f"self.{s} = {norm_of(cfg, kind.norm_add if s == 'norm_again' else getattr(kind, s), 'WIDTH')}" for s in slots
    ]
    made += [f"self.{slot} = Dropout({rate!r})" for slot in DROPOUTS if (rate := getattr(kind, slot))]
    if kind.gate:
        channels = "1" if kind.gate == "zero gate" else "WIDTH"
        made.append(f"self.gate = nn.Parameter(torch.full(({channels},), {kind.scale!r}))")
    branch, body = branch_code(cfg, kind, _own, lambda inner: f"self.function({inner})"), []
    made += ["self.l = l"] * ("self.l*" in branch)
    if cfg.stack == "residual" or (kind.skip and cfg.skip_scale != 1):
        # The branch comes first, as in the app: autograd adds up gradients in the order of the forward pass.
        branch, body = "branch", [f"branch = {branch}"]
    title = "The stream plus the branch." if kind.skip else "The branch alone: nothing carries the stream past it."
    if kind.repeats > 1:
        body.append(f"once = {sum_code(cfg, kind, _own, branch)}")
        body.append(f"return {sum_code(cfg, kind, _own, 'once', 'norm_again')}")
        title = "The stream plus the branch, and the stream once more."
    elif cfg.stack == "residual":
        # Without skip and norm the sum must still be a new tensor: the branch gets gradients from two streams.
        total = sum_code(cfg, kind, _own, branch)
        body.append(f"return {'0.0 + branch' if total == 'branch' else total}, branch")
        title = "What the stream becomes, and the branch for the second stream."
    else:
        body.append(f"return {sum_code(cfg, kind, _own, branch)}")
    return class_code(name, title, made, body, argument)


def _own(slot: str) -> str:
    return f"self.{slot}"


def norm_of(cfg: RunConfig, norm: str, width: str) -> str:
    """The code that makes the norm of that name; EPS is a constant of the script."""
    return "nn.Identity()" if norm == "none" else norm_code(norm, width, "EPS", affine=cfg.affine)


def class_code(name: str, title: str, made: list[str], body: list[str], argument: str = "") -> str:
    """The code of a module, from the lines of its `__init__` and of its `forward`."""
    pad = "\n        "
    opening = f"    def __init__(self{', ' + argument if argument else ''}):{pad}super().__init__(){pad}"
    return (
        f'class {name}(nn.Module):\n    """{title}"""\n\n{opening.rstrip()}'
        + "".join(pad + line for line in made)
        + "\n\n    def forward(self, x):"
        + "".join(pad + line for line in body)
    )
