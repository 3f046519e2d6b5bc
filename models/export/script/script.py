"""A configuration as one stand-alone PyTorch script, readable from top to bottom, that prints the page's numbers."""

import re
from textwrap import indent

from models.export.script.data import data_code, embedded_data
from models.export.script.model import model_code
from models.export.script.net import net_code
from models.export.script.quote import GENERATOR, quote_definitions
from models.spec import RunConfig, arrangement_of
from models.spec.code import block_code
from models.spec.parametrization import ADAM_OPTIMIZERS, depth_ratio, has_uniform_rates, width_ratio
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
    "from collections.abc import Iterable": r"\bIterable\b",
    "from collections.abc import Sequence": r"\bSequence\b",
    "from functools import cache": r"@cache",
    "": r"",
    "import torch": r"",
    "import torch.nn.functional as F": r"",
    "from typing import Any": r"\bAny\b",
    "from torch import Tensor, nn": r"\bTensor\b",
    "from torch import nn": r"",
}

OPTIMIZERS = {
    "sgd": "torch.optim.SGD({arguments}, fused=True)",
    "momentum": "torch.optim.SGD({arguments}, momentum=0.9, fused=True)",
    "adam": "torch.optim.Adam({arguments}, fused=True)",
    "adamw": "torch.optim.AdamW({arguments}, weight_decay=0.0, fused=True)",
    "muon": "Muon(hidden, torch.optim.AdamW({arguments}, weight_decay=0.0, fused=True), lr=LR, weight_decay={decay})",
}

REPORT = '''\
def rms(x):
    """Root mean square; summed in {dtype}, because squares of 1e-25 underflow in float32."""
    return (x.detach().norm(dtype=torch.{dtype}) / x.numel() ** 0.5).float().item()


def report(k, loss):
    """Prints the loss and the stream from start to end, at step k before its update."""
    print(f"step {{k}}  loss {{loss.item():.9g}}")
    for site, x in STREAM.items():
        print(f"  {{site:9}} activation {{rms(x):<15.9g}} gradient {{rms(x.grad):.9g}}")


@torch.no_grad()
def evaluate(net):
    """Loss and accuracy on held-out samples."""
    x, y = (tensor.to(DEVICE) for tensor in held_out())
    net.eval()
    logits = net(x)
    net.train()
    counted = y != -100
    loss = F.cross_entropy(logits[counted], y[counted])
    is_right = (logits.argmax(-1) == y)[counted]
    return loss.item(), is_right.float().mean().item()
'''

TRAIN = '''\
def train(every):
    """Trains the net and reports on it at every `every`-th step."""
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
    loss, accuracy = evaluate(net)
    print(f"held out  loss {{loss:.9g}}  accuracy {{accuracy:.9g}}")
'''

MAIN = """\
if __name__ == "__main__":
    torch.set_num_threads(1)  # more threads change the order of sums, and thus the last digits
    train(int(sys.argv[1]) if len(sys.argv) > 1 else max(1, STEPS // 10))
"""


def standalone_script(cfg: RunConfig, name: str = "run.py") -> str:
    """Script of a configuration; `name`: its file name, for the usage lines."""
    body = [
        quote_definitions(GENERATOR),
        data_code(cfg),
        model_code(cfg),
        net_code(cfg),
        REPORT.format(dtype=_dtype(cfg)),
        _train(cfg),
    ]
    code = "\n\n\n".join(part.strip("\n") for part in body)
    data = embedded_data(cfg.task)
    tail = "\n\n\n" + "\n\n".join(part for part in (data, MAIN) if part)
    constants = _constants(cfg, code)
    opening = HEADER.format(title=_title(cfg), code=indent(block_code(cfg), " " * 4), name=name)
    return f"{opening}\n{_imports(constants + code + tail.replace(data, ''))}\n\n{constants}\n\n\n{code}{tail}"


def _title(cfg: RunConfig) -> str:
    residual = "Residual" if cfg.residual else "No residual"
    name = arrangement_of(cfg) or f"{residual}, {cfg.placement}, {cfg.norm}"
    net = "an MLP" if cfg.net == "mlp" else "a transformer"
    size = f"{cfg.depth} blocks and width {cfg.width}"
    return f"{name[0].upper()}{name[1:]}: {net} of {size} on the task {cfg.task}, in plain PyTorch."


def _constants(cfg: RunConfig, code: str) -> str:
    """Lines of the constants that the code uses."""
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
    lines = [line for line, pattern in IMPORTS.items() if re.search(pattern, code)]
    return "\n".join(lines[:-1] if "from torch import Tensor, nn" in lines else lines)


def _dtype(cfg: RunConfig) -> str:
    return "float32" if cfg.device == "mps" else "float64"


def _train(cfg: RunConfig) -> str:
    """Code of the training loop, with only the parts that the configuration needs."""
    quoted = []
    update = ""
    if cfg.clip:
        quoted.append(("models.training.update", "adjust_gradients"))
        update += CLIP.format(dtype=_dtype(cfg))
    if cfg.warmup or cfg.schedule != "constant":
        quoted.append(("models.spec.schedule", "learning_rate"))
        rate = f"learning_rate(k, LR, WARMUP, {cfg.schedule!r}, STEPS)"
        rate += "" if has_uniform_rates(cfg) and cfg.optimizer != "muon" else ' * group["rate"]'
        update += f'        for group in optimizer.param_groups:\n            group["lr"] = {rate}\n'
    if cfg.optimizer == "muon":
        quoted.append(("models.training.muon", "Muon"))
    if not has_uniform_rates(cfg):
        quoted.append(("models.spec.parametrization", "scaling_factors"))
    masks = MASKS if has_dropout(cfg) else ""
    parts = [quote_definitions(*quoted), TRAIN.format(optimizer=_optimizer(cfg), update=update, masks=masks)]
    return "\n\n\n".join(part.strip("\n") for part in parts if part)


def _optimizer(cfg: RunConfig) -> str:
    """Code that constructs the optimiser, with its parameter groups if it needs any."""
    groups, parameters, decay = "", "net.parameters()", "WEIGHT_DECAY" if cfg.weight_decay else "0.0"
    if cfg.optimizer == "muon":
        groups, parameters = OF_MUON, "rest"
    arguments = f"{parameters}, lr=LR"
    if not has_uniform_rates(cfg):
        groups, arguments = _scaled_groups(cfg), "groups.values()"
    elif cfg.weight_decay:
        arguments = "groups, lr=LR"
        groups += (ALL_DECAYED if cfg.decayed == "all" else MATRICES_DECAYED).format(parameters=parameters)
    return f"{groups}    optimizer = {OPTIMIZERS[cfg.optimizer].format(arguments=arguments, decay=decay)}"


def _scaled_groups(cfg: RunConfig) -> str:
    """Code of parameter groups whose learning rate, weight decay and eps a parametrisation scales."""
    adam = cfg.optimizer in ADAM_OPTIMIZERS
    decay = ""
    if cfg.weight_decay:
        condition = " if p.ndim > 1 else 0.0" if cfg.decayed == "matrices" else ""
        decay = f'\n        group["weight_decay"] = decay * WEIGHT_DECAY{condition}'
    eps = '\n        group["eps"] = 1e-8 * eps' if adam else ""
    return SCALED.format(ratios=f"{width_ratio(cfg)!r}, {depth_ratio(cfg)!r}, {adam}", decay=decay, eps=eps)


OF_MUON = """\
    hidden = [p for name, p in net.named_parameters() if ".function." in name and p.ndim > 1]
    rest = [p for p in net.parameters() if all(p is not one for one in hidden)]
"""

ALL_DECAYED = """\
    groups = [{{"params": list({parameters}), "weight_decay": WEIGHT_DECAY}}]
"""

MATRICES_DECAYED = """\
    matrices = [p for p in {parameters} if p.ndim > 1]
    others = [p for p in {parameters} if p.ndim <= 1]  # not decayed
    groups = [{{"params": matrices, "weight_decay": WEIGHT_DECAY}}, {{"params": others}}]
"""

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

CLIP = """\
        grads = [p.grad for p in net.parameters() if p.grad is not None]
        length = torch.stack([grad.norm(dtype=torch.{dtype}) for grad in grads]).norm()
        adjust_gradients(grads, length, CLIP)
"""
