"""The net of a stand-alone script: stack of sublayers, embedding, head and initialisation."""

from itertools import groupby

from models.export.script.model import arguments, class_code, norm_constructor, sublayer_classes, without_place
from models.spec import INITS, TASKS, RunConfig, plan
from models.spec.code import number_code
from models.spec.parametrization import branch_gain, head_gain, output_factor
from models.spec.plan import depth_sources
from models.spec.vocabulary import MANY_STREAMS

RECORD_SITE = '''\
STREAM = {}  # tensors of the stream in the last forward pass, by site


def record(site, x):
    """Records a point of the stream and retains its gradient; returns x unchanged."""
    if x.requires_grad:
        x.retain_grad()
    STREAM[site] = x
    return x
'''

RECORD_MEAN = '''\
def record_mean(site, h):
    """Records the mean of the streams, whose gradient is the sum of theirs; returns h plus 0."""
    mean = h.mean(-2)
    return h + (record(site, mean.view_as(mean)) - mean).unsqueeze(-2)
'''

BLOCKS = 'self.blocks = nn.ModuleDict({f"b{l:02d}": block(l) for l in range(1, DEPTH + 1)})'

INITIALISE = '''\
@torch.no_grad()
def initialise(net):
    """{title}

    Every weight has its own generator, from the seed and the weight's name.
    """
    for name, p in net.named_parameters():
        source = generator(SEED, name)
        if name.endswith("bias"):
            p.zero_()
        elif ".function.w" in name:
{branch}
        elif name == "embed.weight":
{embed}
        elif name == "head.weight":
            p.normal_(generator=source).mul_(WIDTH**-0.5){head}
'''


NOISE = """\
        elif name.endswith((".connection.alpha", ".connection.offset")):
            p[-{count}:].add_(torch.randn({count}, generator=source), alpha={noise!r})
"""


def net_code(cfg: RunConfig) -> str:
    """Code that defines `record`, `block`, `Stream`, `Net` and `initialise` for a configuration."""
    records = [RECORD_SITE, RECORD_MEAN] if cfg.stack in MANY_STREAMS else [RECORD_SITE]
    parts = [*records, _block_function(cfg), STACKS[cfg.stack](cfg), _net_class(cfg), _initialise(cfg)]
    return "\n\n\n".join(part.rstrip("\n") for part in parts)


def _block_function(cfg: RunConfig) -> str:
    """Code of the function that builds block l, with one case per run of equal blocks."""
    class_names = {sublayer: name for name, sublayer in sublayer_classes(cfg).items()}
    by_block = groupby(plan(cfg).sublayers, key=lambda sublayer: sublayer.block)
    blocks = [(block, tuple((s.kind, class_names[without_place(s)]) for s in group)) for block, group in by_block]
    lines = ["def block(l):", '    """Block l, counted from 1: its sublayers by name."""']
    for classes, equal_blocks in groupby(blocks, key=lambda entry: entry[1]):
        last_block = list(equal_blocks)[-1][0]
        calls = {kind: f"{name}({', '.join(arguments(cfg, kind).values())})" for kind, name in classes}
        entries = ", ".join(f'"{kind}": {call}' for kind, call in calls.items())
        code = f"return nn.ModuleDict({{{entries}}})"
        lines += [f"    {code}"] if last_block == cfg.depth else [f"    if l <= {last_block}:", f"        {code}"]
    return "\n".join(lines)


def _sublayer_loop(cfg: RunConfig, *steps: str) -> list[str]:
    """Code of the loop over a block's sublayers; an MLP block has only one."""
    if cfg.net == "mlp":
        return [f"    {step}".format(sublayer='sublayers["mlp"]', site="name") for step in steps]
    body = [step.format(sublayer="sublayer", site='f"{name}.{kind}"') for step in steps]
    return ["    for kind, sublayer in sublayers.items():", *(f"        {line}" for line in body)]


def _single(cfg: RunConfig) -> str:
    """Code of `Stream` for a stack with one stream."""
    forward_lines = ['x = record("x0", x)', "for name, sublayers in self.blocks.items():"]
    forward_lines += [*_sublayer_loop(cfg, "x = record({site}, {sublayer}(x))"), "return x"]
    return class_code("Stream", "One stream through all blocks: (B, T, D) -> (B, T, D).", [BLOCKS], forward_lines)


def _scalars(cfg: RunConfig) -> str:
    """Code of `Stream` for one stream with learned scalars."""
    init_lines = [BLOCKS, "self.scalars = nn.ModuleList(LearnedScalars() for _ in range(DEPTH))"]
    forward_lines = [
        'x = x0 = record("x0", x)',
        "for scalars, (name, sublayers) in zip(self.scalars, self.blocks.items()):",
        "    x = scalars(x, x0)",
        *_sublayer_loop(cfg, "x = record({site}, {sublayer}(x))"),
        "return x",
    ]
    title = "One stream; before each block two learned numbers weigh it and its start."
    return class_code("Stream", title, init_lines, forward_lines)


def _residual(cfg: RunConfig) -> str:
    """Code of `Stream` for ResiDual's two streams."""
    init_lines = [BLOCKS, f"self.norm_collected = {norm_constructor(cfg, cfg.norm, 'WIDTH')}"]
    forward_lines = ['x = y = record("x0", x)', "for name, sublayers in self.blocks.items():"]
    forward_lines += _sublayer_loop(cfg, "x, branch = {sublayer}(x)", "record({site}, x)", "y = y + branch")
    forward_lines.append("return x + self.norm_collected(y)")
    return class_code(
        "Stream", "ResiDual: x is normed after every add, y only collects the branches.", init_lines, forward_lines
    )


def _dlcl(cfg: RunConfig) -> str:
    """Code of `Stream` for DLCL's weighted sums of blocks."""
    init_lines = [
        BLOCKS,
        f"self.norms = nn.ModuleList({norm_constructor(cfg, cfg.norm, 'WIDTH')} for _ in range(DEPTH + 1))",
        "self.weights = nn.ParameterList(torch.full((count,), 1 / count) for count in range(1, DEPTH + 2))",
    ]
    forward_lines = [
        'normed = [self.norms[0](record("x0", x))]',
        "for index, (name, sublayers) in enumerate(self.blocks.items()):",
        "    x = self.weighted_sum(index, normed)",
        *_sublayer_loop(cfg, "x = record({site}, {sublayer}(x))"),
        "    normed.append(self.norms[index + 1](x))",
        "return self.weighted_sum(DEPTH, normed)",
    ]
    summed = '        return torch.einsum("k,kbtd->btd", self.weights[block], torch.stack(normed))'
    title = "DLCL: every block, and the head, reads a learned weighted sum of all earlier blocks."
    return (
        class_code("Stream", title, init_lines, forward_lines)
        + f"\n\n    def weighted_sum(self, block, normed):\n{summed}"
    )


def _hyper(cfg: RunConfig) -> str:
    """Code of `Stream` for n streams."""
    forward_lines = [
        f'h = record("x0", x).unsqueeze(-2).expand(*x.shape[:-1], {cfg.streams}, WIDTH)',
        "for name, sublayers in self.blocks.items():",
        *_sublayer_loop(cfg, "h = record_mean({site}, {sublayer}(h))"),
        "return h.sum(-2)",
    ]
    title = f"{cfg.streams} streams through all blocks, copies at first; the head reads their sum."
    return class_code("Stream", title, [BLOCKS], forward_lines)


def _attention_residuals(cfg: RunConfig) -> str:
    """Code of `Stream` for attention over the outputs of all earlier sublayers."""
    active = sum(not sublayer.identity for sublayer in plan(cfg).sublayers)
    init_lines = [BLOCKS, f"self.reads = nn.ModuleList(DepthAttention(WIDTH, EPS) for _ in range({active}))"]
    steps = ["v.append({sublayer}(x))", "x = next(reads)(torch.stack(v))"]
    begins = []
    if cfg.depth_block > 1:
        begins = [f"begins = {{{', '.join(repr(group[0].site) for group in depth_sources(cfg))}}}"]
        steps[:1] = ["if {site} in begins:", f"    {steps[0]}", "else:", "    v[-1] = v[-1] + {sublayer}(x)"]
    if active < cfg.sublayers:
        steps = ["if not isinstance({sublayer}, TakenOut):", *(f"    {step}" for step in steps)]
    forward_lines = [
        'x = record("x0", x)',
        "v, reads = [x], iter(self.reads)",
        *begins,
        "for name, sublayers in self.blocks.items():",
        *_sublayer_loop(cfg, *steps, "record({site}, x)"),
        "return x",
    ]
    title = "Every sublayer, and the head, reads all earlier outputs."
    if begins:
        title = f"Every sublayer, and the head, reads sums of {cfg.depth_block} earlier outputs."
    return class_code("Stream", title, init_lines, forward_lines)


STACKS = {
    "single": _single,
    "learned scalars": _scalars,
    "residual": _residual,
    "dlcl": _dlcl,
    **dict.fromkeys(MANY_STREAMS, _hyper),
    "attention residuals": _attention_residuals,
}


def _net_class(cfg: RunConfig) -> str:
    """Code of `Net`: embedding, stream, final norm and head."""
    task, final_norm = TASKS[cfg.task], plan(cfg).final_norm
    position = cfg.position if cfg.net == "transformer" else "none"
    inputs = task.inputs(cfg.net)
    embedding = f"nn.Linear({inputs}, WIDTH)" if inputs else f"nn.Embedding({task.vocabulary}, WIDTH)"
    init_lines = [f"self.embed = {embedding}"]
    if position == "sinusoidal":
        init_lines.append("self.position = Positions(sinusoids(TOKENS, WIDTH), learned=False)")
    if position == "learned":
        init_lines.append("self.position = Positions(torch.zeros(TOKENS, WIDTH), learned=True)")
    init_lines.append("self.stream = Stream()")
    if final_norm != "none":
        init_lines.append(f"self.final_norm = {norm_constructor(cfg, final_norm, 'WIDTH')}")
    init_lines.append(f"self.head = nn.Linear(WIDTH, {task.classes})")
    start = "self.position(self.embed(x))" if position in ("sinusoidal", "learned") else "self.embed(x)"
    end = "self.final_norm(x)" if final_norm != "none" else "x"
    if output_factor(cfg) != 1:
        end = f"{number_code(output_factor(cfg))} * {end}"
    forward_lines = [f"x = self.stream({start})", f"return self.head({end})"]
    return class_code("Net", f"Batch of the task -> logits (B, T, {task.classes}).", init_lines, forward_lines)


def _initialise(cfg: RunConfig) -> str:
    """Code of the function `initialise`."""
    head = f".mul_({head_gain(cfg)!r})" if head_gain(cfg) != 1 else ""
    code = INITIALISE.format(
        title=f"{INITS[cfg.init].title}; the stream starts at unit mean square.",
        branch=_indented(_branch_init_lines(cfg)),
        embed=_indented(_embedding_init_lines(cfg)),
        head=head,
    )
    if cfg.net == "transformer" and cfg.position == "learned":
        code += (
            '        elif name == "position.table_TD":\n            p.normal_(generator=source).mul_(math.sqrt(0.5))\n'
        )
    if cfg.mixing_noise and cfg.stack in MANY_STREAMS:
        code += NOISE.format(count=cfg.streams**2, noise=cfg.mixing_noise)
    return code


def _branch_init_lines(cfg: RunConfig) -> list[str]:
    """Lines that initialise a weight p of a branch."""
    init = INITS[cfg.init]
    lines = ["outputs, inputs = p.shape"] if "inputs" in init.draw else []
    lines.append(init.draw)
    if init.on_outputs:
        suffixes = '".w.weight"' if cfg.layers_per_branch == 1 else '".w2.weight"'
        if cfg.net == "transformer":
            suffixes = '(".w_o.weight", ".w2.weight")'
        lines += [f"if name.endswith({suffixes}):", f"    p.mul_({init.on_outputs})"]
    if init.past_scores:
        shrink = f"p.mul_({init.past_scores})"
        not_scores = ['if not name.endswith((".w_q.weight", ".w_k.weight")):', f"    {shrink}"]
        lines += not_scores if cfg.net == "transformer" else [shrink]
    if branch_gain(cfg) != 1:
        lines.append(f"p.mul_({branch_gain(cfg)!r})")
    return lines


def _embedding_init_lines(cfg: RunConfig) -> list[str]:
    """Lines that initialise the embedding p."""
    task = TASKS[cfg.task]
    if task.vocabulary:
        return ["p.normal_(generator=source)"]
    inputs = task.inputs(cfg.net)
    return ["nn.init.orthogonal_(p, generator=source)", f"p.mul_(math.sqrt(max(WIDTH, {inputs}) / {inputs}))"]


def _indented(lines: list[str]) -> str:
    return "\n".join(" " * 12 + line for line in lines)
