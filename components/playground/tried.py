"""What I tried: the nets of a visit as small profiles; a pressed one, and the previous, lie over the run."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from addnorm.words import number
from components.charts.colour import GRADIENT, SIGNAL
from components.player.view import View
from components.shell import session
from components.shell.component import component
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.naming import ARRANGEMENT_FIELDS, settings_text
from components.shell.session import Key
from models.content import Texts
from models.service.client import key_of, trainer
from models.spec import RunConfig, arrangement_of
from models.spec.pairings import differing_fields

TEXTS = Texts("playground")

KEY = "tried"
MAX_NETS = 12
MAX_FIELDS = 4  # in a text; further ones are counted
# A picture, in pixels, and the decades that it shows at least and at most.
WIDTH, HEIGHT = 96, 36
MIN_DECADES, LOWEST, HIGHEST = 4, -8.0, 4.0
MAX_POINTS = 33

_component = component(__file__, '<div class="tried" role="group"><p></p><ul></ul><p role="status"></p></div>')


class Tried(NamedTuple):
    """A net of this visit, the furthest step shown, and its measured profiles at that step, or before it diverged."""

    cfg: RunConfig
    step: int
    row: int
    signal: np.ndarray  # (S,)
    gradient: np.ndarray  # (S,)


class Beside(NamedTuple):
    """A net whose curves lie over the present run: its role in words, its name, and the style of its lines."""

    cfg: RunConfig
    role: str
    name: str
    style: str


TRIED: Key[tuple[Tried, ...]] = Key("tried_nets", ())  # the newest first, the present one among them
PREVIOUS: Key[RunConfig | None] = Key("tried_previous", None)  # before the last change
PRESSED: Key[RunConfig | None] = Key("tried_pressed", None)


def remember(view: View) -> None:
    """Puts the net of a view first. Beyond MAX_NETS, the oldest one that was never trained goes."""
    signal, gradient = view.trace.act_rms[: view.row + 1], view.trace.grad_rms[: view.row + 1]
    finite = np.flatnonzero(np.isfinite(signal).all(1) & np.isfinite(gradient).all(1))
    row = int(finite[-1]) if len(finite) else view.row
    now = Tried(view.cfg, view.row, row, signal[row], gradient[row])
    before = next((tried for tried in TRIED.get() if tried.cfg == view.cfg), now)
    nets = [now if now.step >= before.step else before, *(net for net in TRIED.get() if net.cfg != view.cfg)]
    if len(nets) > MAX_NETS:
        nets.remove(next((net for net in reversed(nets[1:]) if not net.step), nets[-1]))
    TRIED.put(tuple(nets))


def beside(cfg: RunConfig) -> list[Beside]:
    """The nets that lie over this one: the previous one, and the one that was pressed."""
    pressed, previous = PRESSED.get(), PREVIOUS.get()
    roles = {"previous": (None if previous == pressed else previous, "previous"), "tried": (pressed, "pinned")}
    return [
        Beside(net, role, f"{role}: {_difference(net, cfg)}".removesuffix(": "), style)
        for role, (net, style) in roles.items()
        if net is not None and net != cfg and not obstacle(net, cfg)
    ]


def obstacle(net: RunConfig, cfg: RunConfig) -> str:
    """Why the curves of a net cannot lie over those of another; empty if they can."""
    if net.net != cfg.net:
        return TEXTS("other net")
    if net.task != cfg.task:
        return TEXTS("other task", task=net.task, other=cfg.task)
    return TEXTS("too deep") if net.depth > 2 * cfg.depth else ""


def draw(cfg: RunConfig, step: int, load: Callable[[RunConfig], None]) -> None:
    """Draws all nets but the present one, at a step of the playhead; `load` is a callback with the net to set.

    Nothing where a link hides the verdict, or a setting that the texts would tell.
    """
    nets = [tried for tried in TRIED.get() if tried.cfg != cfg]
    if not nets or is_hidden("verdict") or any_hidden(differing_fields([cfg, *(tried.cfg for tried in nets)])):
        return
    over = [other.cfg for other in beside(cfg)]
    low, high = _decades(nets)

    def picture(values: np.ndarray) -> str:
        return path(values, low, high)

    def pressed(event: str) -> RunConfig | None:
        """The net of a press, which comes from a browser."""
        key = getattr(session.widget_value(KEY), event, None)
        return next((tried.cfg for tried in nets if key_of(tried.cfg) == key), None)

    def toggle() -> None:
        net = pressed("over")
        if net is None:
            return
        if net in over:
            for key in (PREVIOUS, PRESSED):
                key.put(None if key.get() == net else key.get())
        elif not obstacle(net, cfg):
            PRESSED.put(net)

    def set_controls() -> None:
        if (net := pressed("load")) is not None:
            load(net)

    entries = [
        {
            "key": key_of(net),
            "text": _difference(net, cfg),
            "step": TEXTS("at step" if row == reached else "diverged", step=reached),
            "says": TEXTS("profile", signal=_ends(signal), gradient=_ends(gradient), step=row),
            "signal": picture(signal),
            "gradient": picture(gradient),
            "pressed": net in over,
            "unfit": obstacle(net, cfg),
        }
        for net, reached, row, signal, gradient in nets
    ]
    data = {
        "label": TEXTS("tried"),
        "hint": TEXTS("how to lay over"),
        "load": TEXTS("load"),
        "size": [WIDTH, HEIGHT],
        "hues": [SIGNAL, GRADIENT],
        "nets": entries,
        "note": " ".join(filter(None, (_shortfall(tried, cfg, step) for tried in nets if tried.cfg in over))),
    }
    _component(key=KEY, data=data, on_over_change=toggle, on_load_change=set_controls)


def path(values: np.ndarray, low: float, high: float) -> str:
    """The line of a profile, as the `d` of an SVG path, between two powers of ten; a gap where it is not finite.

    What lies beyond them, and zero, stands at the edge.
    """
    chosen = np.unique(np.linspace(0, len(values) - 1, min(len(values), MAX_POINTS)).round().astype(int))
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = (1 - (np.clip(np.log10(values[chosen]), low, high) - low) / (high - low)) * (HEIGHT - 4) + 2
    drawn, is_new = [], True
    for place, height, value in zip(chosen, heights, values[chosen], strict=True):
        if np.isfinite(value):
            drawn.append(f"{'M' if is_new else 'L'}{WIDTH * place / max(1, len(values) - 1):.0f} {height:.1f}")
        is_new = not np.isfinite(value)
    return "".join(drawn)


def _decades(nets: list[Tried]) -> tuple[float, float]:
    """The powers of ten between which all pictures are drawn, so that they can be compared by eye."""
    values = np.concatenate([np.concatenate([tried.signal, tried.gradient]) for tried in nets])
    logs = np.log10(values[np.isfinite(values) & (values > 0)])
    low, high = (float(logs.min()), float(logs.max())) if len(logs) else (0.0, 0.0)
    low, high = max(low, LOWEST), min(high, HIGHEST)
    missing = max(0.0, MIN_DECADES - (high - low)) / 2
    return low - missing, high + missing


def _difference(net: RunConfig, cfg: RunConfig) -> str:
    """What a net has that the present one has not: its arrangement's name, and fields in words, but no hidden ones."""
    fields = [field for field in differing_fields([net, cfg]) if not is_hidden(field)]
    name = None if any_hidden(("arrangement", *ARRANGEMENT_FIELDS)) else arrangement_of(net)
    words = []
    if name and name != arrangement_of(cfg):
        words.append(name)
        covered = {*ARRANGEMENT_FIELDS} - ({"norm"} if net.norm not in ("none", RunConfig.norm) else set())
        fields = [field for field in fields if field not in covered]
    words += [settings_text(net, [field]) for field in fields]
    more = len(words) - MAX_FIELDS
    return ", ".join(words[:MAX_FIELDS] + ([TEXTS("more", count=more)] if more > 0 else []))


def _ends(values: np.ndarray) -> str:
    return TEXTS("from to", first=number(float(values[0])), last=number(float(values[-1])))


def _shortfall(tried: Tried, cfg: RunConfig, step: int) -> str:
    """Why a net that lies over the present one has no curve at a step; empty if it has one."""
    last = trainer().log(tried.cfg).length - 1
    if last >= step:
        return ""
    dropped = "no longer kept" if last < tried.step else "not so far"
    return TEXTS(dropped, net=_difference(tried.cfg, cfg), last=max(last, 0), step=step)
