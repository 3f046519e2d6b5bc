"""The net of a stand-alone script: the stack of sublayers, what is around it, and its initialisation."""

from itertools import groupby

from models.export.script.model import class_code, kind_of, kinds_of, norm_of
from models.spec import INITS, TASKS, RunConfig, plan
from models.spec.code import number_code
from models.spec.parametrization import branch_gain, head_gain, output_factor

WATCH = '''\
SEEN = {}  # the points of the stream in the last forward pass, by site


def watch(site, x):
    """Keeps a point of the stream and asks autograd to keep its gradient; x passes unchanged."""
    if x.requires_grad:
        x.retain_grad()
    SEEN[site] = x
    return x
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


def net_code(cfg: RunConfig) -> str:
    """The code that defines `watch`, `block`, `Stream`, `Net` and `initialise` for a configuration."""
    parts = [WATCH, _block_function(cfg), STACKS[cfg.stack](cfg), _net_class(cfg), _initialise(cfg)]
    return "\n\n\n".join(part.rstrip("\n") for part in parts)


def _block_function(cfg: RunConfig) -> str:
    """The code of the function that makes block l, with a case for every run of equal blocks."""
    name_of = {kind: name for name, kind in kinds_of(cfg).items()}
    by_block = groupby(plan(cfg).sublayers, key=lambda sublayer: sublayer.block)
    made = [(block, tuple((s.kind, name_of[kind_of(s)]) for s in group)) for block, group in by_block]
    number = "l" if cfg.input_scale != "one" else ""
    lines = ["def block(l):", '    """Block l, counted from 1: its sublayers by name."""']
    for sublayers, run in groupby(made, key=lambda row: row[1]):
        last = list(run)[-1][0]
        code = "return nn.ModuleDict({" + ", ".join(f'"{kind}": {name}({number})' for kind, name in sublayers) + "})"
        lines += [f"    {code}"] if last == cfg.depth else [f"    if l <= {last}:", f"        {code}"]
    return "\n".join(lines)


def _walk(cfg: RunConfig, *steps: str) -> list[str]:
    """The code of the loop over a block's sublayers; an MLP has only one."""
    if cfg.net == "mlp":
        return [f"    {step}".format(sublayer='sublayers["mlp"]', site="name") for step in steps]
    pad = "        "
    return ["    for kind, sublayer in sublayers.items():"] + [
        pad + step.format(sublayer="sublayer", site='f"{name}.{kind}"') for step in steps
    ]


def _single(cfg: RunConfig) -> str:
    body = ['x = watch("x0", x)', "for name, sublayers in self.blocks.items():"]
    body += [*_walk(cfg, "x = watch({site}, {sublayer}(x))"), "return x"]
    return class_code("Stream", "One stream through all blocks: (B, T, D) -> (B, T, D).", [BLOCKS], body)


def _residual(cfg: RunConfig) -> str:
    made = [BLOCKS, f"self.norm_collected = {norm_of(cfg, cfg.norm, 'WIDTH')}"]
    body = ['x = y = watch("x0", x)', "for name, sublayers in self.blocks.items():"]
    body += _walk(cfg, "x, branch = {sublayer}(x)", "watch({site}, x)", "y = y + branch")
    body.append("return x + self.norm_collected(y)")
    return class_code("Stream", "ResiDual: x is normed after every add, y only collects the branches.", made, body)


def _dlcl(cfg: RunConfig) -> str:
    made = [
        BLOCKS,
        f"self.norms = nn.ModuleList({norm_of(cfg, cfg.norm, 'WIDTH')} for _ in range(DEPTH + 1))",
        "self.weights = nn.ParameterList(torch.full((count,), 1 / count) for count in range(1, DEPTH + 2))",
    ]
    body = [
        'normed = [self.norms[0](watch("x0", x))]',
        "for at, (name, sublayers) in enumerate(self.blocks.items()):",
        "    x = self.summed(at, normed)",
        *_walk(cfg, "x = watch({site}, {sublayer}(x))"),
        "    normed.append(self.norms[at + 1](x))",
        "return self.summed(DEPTH, normed)",
    ]
    summed = '        return torch.einsum("k,kbtd->btd", self.weights[at], torch.stack(normed))'
    title = "DLCL: every block, and the head, reads a learned weighted sum of all earlier blocks."
    return class_code("Stream", title, made, body) + f"\n\n    def summed(self, at, normed):\n{summed}"


STACKS = {"single": _single, "residual": _residual, "dlcl": _dlcl}


def _net_class(cfg: RunConfig) -> str:
    task, final_norm = TASKS[cfg.task], plan(cfg).final_norm
    position = cfg.position if cfg.net == "transformer" else "none"
    inputs = task.inputs(cfg.net)
    made = [
        f"self.embed = nn.Linear({inputs}, WIDTH)" if inputs else f"self.embed = nn.Embedding({task.vocabulary}, WIDTH)"
    ]
    if position == "sinusoidal":
        made.append("self.position = Positions(sinusoids(TOKENS, WIDTH), learned=False)")
    if position == "learned":
        made.append("self.position = Positions(torch.zeros(TOKENS, WIDTH), learned=True)")
    made.append("self.stream = Stream()")
    made += [f"self.final_norm = {norm_of(cfg, final_norm, 'WIDTH')}"] * (final_norm != "none")
    made.append(f"self.head = nn.Linear(WIDTH, {task.classes})")
    start = "self.position(self.embed(x))" if position in ("sinusoidal", "learned") else "self.embed(x)"
    end = "self.final_norm(x)" if final_norm != "none" else "x"
    if output_factor(cfg) != 1:
        end = f"{number_code(output_factor(cfg))} * {end}"
    body = [f"x = self.stream({start})", f"return self.head({end})"]
    return class_code("Net", f"Batch of the task -> logits (B, T, {task.classes}).", made, body)


def _initialise(cfg: RunConfig) -> str:
    init = INITS[cfg.init]
    branch = ["outputs, inputs = p.shape"] * ("inputs" in init.draw) + [init.draw]
    outputs = (
        ('".w_o.weight"', '".w2.weight"')
        if cfg.net == "transformer"
        else (f'".w{"2" * (cfg.layers_per_branch - 1)}.weight"',)
    )
    ends = f"({', '.join(outputs)})" if len(outputs) > 1 else outputs[0]
    if init.on_outputs:
        branch += [f"if name.endswith({ends}):", f"    p.mul_({init.on_outputs})"]
    if init.past_scores:
        shrink = f"p.mul_({init.past_scores})"
        queries = ['if not name.endswith((".w_q.weight", ".w_k.weight")):', f"    {shrink}"]
        branch += queries if cfg.net == "transformer" else [shrink]
    branch += [f"p.mul_({branch_gain(cfg)!r})"] * (branch_gain(cfg) != 1)
    if TASKS[cfg.task].vocabulary:
        embed = ["p.normal_(generator=source)"]
    else:
        inputs = TASKS[cfg.task].inputs(cfg.net)
        embed = ["nn.init.orthogonal_(p, generator=source)", f"p.mul_(math.sqrt(max(WIDTH, {inputs}) / {inputs}))"]
    head = f".mul_({head_gain(cfg)!r})" if head_gain(cfg) != 1 else ""
    code = INITIALISE.format(
        title=f"{init.title}; the stream starts at unit mean square.",
        branch=_indented(branch),
        embed=_indented(embed),
        head=head,
    )
    if cfg.net == "transformer" and cfg.position == "learned":
        code += (
            '        elif name == "position.table_TD":\n            p.normal_(generator=source).mul_(math.sqrt(0.5))\n'
        )
    return code


def _indented(lines: list[str]) -> str:
    return "\n".join(" " * 12 + line for line in lines)
