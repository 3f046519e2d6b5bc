"""A configuration as one stand-alone PyTorch script, which prints the page's numbers and reads from top to bottom."""

import re
from textwrap import indent

from models.export.script.data import data_code, embedded
from models.export.script.model import model_code
from models.export.script.net import net_code
from models.export.script.quote import quoted
from models.spec import RunConfig, arrangement_of
from models.spec.code import block_code
from models.spec.parametrization import ADAM, depth_ratio, has_uniform_rates, width_ratio
from models.spec.plan import has_dropout

HEADER = '''\
"""{title}

What the last block does to the stream x:

{code}

Prints the loss and, for every point of the stream, the RMS of its activation and of its gradient. On the same machine,
with the same version of PyTorch, these are the numbers of the Add & Norm Playground. Needs only torch:

    python {name}        # every tenth of the run
    python {name} 1      # every step
"""
'''

# Import lines, each with the pattern of code that needs it.
IMPORTS = {
    "import base64": r"\bbase64\.",
    "import hashlib": r"\bhashlib\.",
    "import math": r"\bmath\.",
    "import sys": r"\bsys\.",
    "import zlib": r"\bzlib\.",
    "from functools import cache": r"@cache",
    "": r"",
    "import torch": r"",
    "import torch.nn.functional as F": r"",
    "from typing import Any": r"\bAny\b",
    "from torch import Tensor, nn": r"\bTensor\b",
    "from torch import nn": r"",
}

OPTIMIZERS = {
    "sgd": "torch.optim.SGD({given}, fused=True)",
    "momentum": "torch.optim.SGD({given}, momentum=0.9, fused=True)",
    "adam": "torch.optim.Adam({given}, fused=True)",
    "adamw": "torch.optim.AdamW({given}, weight_decay=0.0, fused=True)",
}

REPORT = '''\
def rms(x):
    """The root of the mean square; squares of 1e-25 leave float32, so the sum is taken in {dtype}."""
    return (x.detach().norm(dtype=torch.{dtype}) / x.numel() ** 0.5).float().item()


def report(k, loss):
    """One look at step k, before its update: the loss, and the stream from its start to its end."""
    print(f"step {{k}}  loss {{loss.item():.9g}}")
    for site, x in SEEN.items():
        print(f"  {{site:9}} activation {{rms(x):<15.9g}} gradient {{rms(x.grad):.9g}}")


@torch.no_grad()
def score(net):
    """Loss and accuracy on samples that no batch contains."""
    x, y = (tensor.to(DEVICE) for tensor in held_out())
    net.eval()
    logits = net(x)
    net.train()
    taken = y != -100
    loss, right = F.cross_entropy(logits[taken], y[taken]), (logits.argmax(-1) == y)[taken]
    return loss.item(), right.float().mean().item()
'''

TRAIN = '''\
def train(every):
    """Trains the net and looks at it every so many steps."""
    net = Net()
    initialise(net)
    net.to(DEVICE)
{optimizer}
    for k in range(STEPS):
        x, y = (tensor.to(DEVICE) for tensor in batch(k))
{masks}        loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        finite = loss.isfinite().item()
        if k % every == 0 or k == STEPS - 1 or not finite:
            report(k, loss)
        if not finite:
            print(f"Diverged: the loss is not finite at step {{k}}.")
            return
{update}        optimizer.step()
    loss, accuracy = score(net)
    print(f"held out  loss {{loss:.9g}}  accuracy {{accuracy:.9g}}")
'''

MAIN = """\
if __name__ == "__main__":
    torch.set_num_threads(1)  # with more, sums are taken in another order and the last digits differ
    train(int(sys.argv[1]) if len(sys.argv) > 1 else max(1, STEPS // 10))
"""


def standalone_script(cfg: RunConfig, name: str = "run.py") -> str:
    """The script of a configuration; `name` is its file name in its own usage lines."""
    body = [
        quoted(("models.generator", "generator")),
        data_code(cfg),
        model_code(cfg),
        net_code(cfg),
        REPORT.format(dtype=_dtype(cfg)),
        _train(cfg),
    ]
    code = "\n\n\n".join(part.strip("\n") for part in body)
    data = embedded(cfg.task)
    tail = "\n\n\n" + "\n\n".join(part for part in (data, MAIN) if part)
    constants = _constants(cfg, code)
    opening = HEADER.format(title=_title(cfg), code=indent(block_code(cfg), " " * 4), name=name)
    return f"{opening}\n{_imports(constants + code + tail.replace(data, ''))}\n\n{constants}\n\n\n{code}{tail}"


def _title(cfg: RunConfig) -> str:
    name = arrangement_of(cfg) or f"{'Residual' if cfg.residual else 'No residual'}, {cfg.placement}, {cfg.norm}"
    net = f"{'an MLP' if cfg.net == 'mlp' else 'a transformer'} of {cfg.depth} blocks and width {cfg.width}"
    return f"{name[0].upper()}{name[1:]}: {net} on the task {cfg.task}, in plain PyTorch."


def _constants(cfg: RunConfig, code: str) -> str:
    """The constants that the code needs, one per line."""
    device = '"cuda" if torch.cuda.is_available() else "cpu"' if cfg.device == "auto" else repr(cfg.device)
    values = {
        "SEED": cfg.seed,
        "DEVICE": device,
        "STEPS": cfg.steps,
        "BATCH": cfg.batch,
        "TOKENS": cfg.tokens,
        "DEPTH": cfg.depth,
        "M": f"{cfg.sublayers}  # sublayers",
        "WIDTH": cfg.width,
        "HIDDEN": f"{cfg.expansion} * WIDTH" if cfg.expansion > 1 else "WIDTH",
        "HEADS": cfg.heads,
        "EPS": repr(cfg.eps),
        "LR": repr(cfg.lr),
        "WARMUP": cfg.warmup,
        "CLIP": repr(cfg.clip),
        "WEIGHT_DECAY": repr(cfg.weight_decay),
        "HELD_OUT": 359,
    }
    return "\n".join(f"{name} = {value}" for name, value in values.items() if re.search(rf"\b{name}\b", code))


def _imports(code: str) -> str:
    lines = [line for line, sign in IMPORTS.items() if re.search(sign, code)]
    return "\n".join(lines[:-1] if "from torch import Tensor, nn" in lines else lines)


def _dtype(cfg: RunConfig) -> str:
    return "float32" if cfg.device == "mps" else "float64"


def _train(cfg: RunConfig) -> str:
    """The code of the training loop, with only the parts that this configuration needs."""
    update, rate = "", _learning_rate(cfg)
    own = "" if has_uniform_rates(cfg) else ' * group["rate"]'
    if cfg.clip:
        update += "        clip(net)\n"
    if rate:
        update += f'        for group in optimizer.param_groups:\n            group["lr"] = learning_rate(k){own}\n'
    given, optimizer = "net.parameters(), lr=LR", ""
    if not has_uniform_rates(cfg):
        adam = cfg.optimizer in ADAM
        where = " if p.ndim > 1 else 0.0" if cfg.decayed == "matrices" else ""
        optimizer = SCALED.format(
            ratios=f"{width_ratio(cfg)!r}, {depth_ratio(cfg)!r}, {adam}",
            decay=f'\n        group["weight_decay"] = decay * WEIGHT_DECAY{where}' * bool(cfg.weight_decay),
            eps='\n        group["eps"] = 1e-8 * eps' * adam,
        )
        given = "groups.values()"
    elif cfg.weight_decay and cfg.decayed == "all":
        optimizer = '    groups = [{"params": list(net.parameters()), "weight_decay": WEIGHT_DECAY}]\n'
        given = "groups, lr=LR"
    elif cfg.weight_decay:
        optimizer = (
            "    matrices = [p for p in net.parameters() if p.ndim > 1]\n"
            "    others = [p for p in net.parameters() if p.ndim <= 1]  # not decayed\n"
            '    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others}]\n'
        )
        given = "groups, lr=LR"
    optimizer += f"    optimizer = {OPTIMIZERS[cfg.optimizer].format(given=given)}"
    quote = "" if has_uniform_rates(cfg) else quoted(("models.spec.parametrization", "scaling_factors"))
    parts = [
        rate,
        quote,
        CLIP.format(dtype=_dtype(cfg)) if cfg.clip else "",
        TRAIN.format(optimizer=optimizer, update=update, masks=MASKS * has_dropout(cfg)),
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts if part)


SCALED = """\
    groups = {{}}
    for name, p in net.named_parameters():
        rate, decay, eps = scaling_factors(name, p.numel(), {ratios})
        group = {{"params": [], "rate": rate, "lr": LR * rate}}{decay}{eps}
        groups.setdefault(tuple(group.values())[1:], group)["params"].append(p)
"""

MASKS = """\
        for name, part in net.named_modules():
            if isinstance(part, Dropout):
                part.mask_key = (SEED, "dropout", k, name)
"""

CLIP = '''\
@torch.no_grad()
def clip(net):
    """Shortens the gradient of all weights together to CLIP where it is longer."""
    grads = [p.grad for p in net.parameters() if p.grad is not None]
    length = torch.stack([grad.norm(dtype=torch.{dtype}) for grad in grads]).norm()
    factor = (CLIP / (length + 1e-6)).clamp(max=1.0).float()
    for grad in grads:
        grad.mul_(factor)
'''


def _learning_rate(cfg: RunConfig) -> str:
    """The code of `learning_rate(k)`; empty if the rate never changes."""
    lines = []
    factors = ["LR"]
    if cfg.warmup:
        lines.append("    warm = min(1.0, (k + 1) / WARMUP)")
        factors.append("warm")
    if cfg.schedule == "cosine":
        half = "0.5 * (1 + math.cos(math.pi * {k} / max(1, {n})))"
        cosine = half.format(k="k", n="STEPS")
        if cfg.warmup:
            cosine = half.format(k="(k - WARMUP)", n="STEPS - WARMUP") + " if k >= WARMUP else 1.0"
        lines.append(f"    fall = {cosine}")
        factors.append("fall")
    if not lines:
        return ""
    reading = " and ".join(
        ["rises over the first WARMUP steps"] * bool(cfg.warmup) + ["falls along half a cosine"] * ("fall" in factors)
    )
    opening = f'def learning_rate(k):\n    """The learning rate of update k: it {reading}."""\n'
    return opening + "\n".join(lines) + f"\n    return {' * '.join(factors)}"
