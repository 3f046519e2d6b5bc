"""Surgery: the net's loss when one block is taken out, silenced, stripped of a norm, or swapped with another."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.depth import SHARE_BOUNDS, Series, depth_profile, linear_profile
from components.charts.parts import Figure
from components.instruments.panel import InstrumentPanel, Measured, block_names, branch_weights
from exhibits.instruments.surgery.answer import LESIONS, SURGERY, Lesions
from exhibits.instruments.surgery.numbers import (
    OPERATIONS,
    SKIP,
    SWAP,
    UNNORM,
    cut_sentence,
    lesion_sentence,
    norm_slots,
    swappable_blocks,
)
from models.answers import Question, Value
from models.content import Texts
from models.insight.baseline import label_of_guessing, loss_of_guessing
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import mixes_values, uses_batch_statistics
from models.spec.vocabulary import MANY_STREAMS

WORDS = Texts("instruments/surgery")

MAX_QUICK_MULTIPLICATIONS = 1e10  # about a second; above it, the measurement waits for a button
HELD_OUT = {"image": 359, "points": 300, "text": 64, "sequence": 64}  # samples of the held-out split by kind of task


def draw(panel: InstrumentPanel) -> None:
    passes = 2 * panel.cfg.depth  # for each block, one with it skipped and one with its branches zeroed
    curve = _ask(panel, passes, LESIONS, "Take out each block of the step shown")
    if curve is not None:
        _draw_lesions(panel, curve)
    with st.expander("Operate on one block", key=panel.key("one")):
        _draw_operation(panel)


def _draw_operation(panel: InstrumentPanel) -> None:
    args = _chosen_operation(panel)
    if args is None:
        return
    passes = 2  # before and after the operation
    measured = _ask(panel, passes, SURGERY, "Operate on the step shown", **args)
    if measured is not None:
        panel.write(
            cut_sentence(
                _operation_name(measured.args), measured.value.loss, measured.value.accuracy, measured.value.changed
            )
        )


def loss_chart(names: Sequence[str], value: Lesions, task: str) -> Figure:
    """Held-out loss by cut block, (depth,), beside the loss of the intact net and of guessing."""
    series = [
        Series("block skipped", value.skipped_loss),
        Series("branches zeroed", value.zeroed_loss, "other"),
        Series("intact", np.full(len(names), value.loss), "previous"),
        Series(label_of_guessing(task), np.full(len(names), loss_of_guessing(task)), "formula"),
    ]
    return depth_profile(title="Held-out loss by cut block", unit="cross-entropy", hue=LOSS, sites=names, series=series)


def accuracy_chart(names: Sequence[str], value: Lesions) -> Figure:
    """Held-out accuracy by cut block, (depth,), beside that of the intact net."""
    series = [
        Series("block skipped", value.skipped_accuracy),
        Series("branches zeroed", value.zeroed_accuracy, "other"),
        Series("intact", np.full(len(names), value.accuracy), "previous"),
    ]
    return linear_profile(
        title="Held-out accuracy by cut block", unit="share", hue=LOSS, sites=names, series=series, bounds=SHARE_BOUNDS
    )


def _chosen_operation(panel: InstrumentPanel) -> dict[str, Any] | None:
    """Draws the choice of operation and blocks. Returns None, with a note, if the block does not allow it."""
    first, second, third = st.columns(3)
    operation = first.selectbox("Operation", list(OPERATIONS), key=panel.key("operation"))
    st.caption(WORDS(operation))
    depth = panel.cfg.depth
    with second:
        block = panel.choose("Block to cut", range(1, depth + 1), index=depth // 2)
    args: dict[str, Any] = {"operation": operation, "block": block}
    if operation == SWAP:
        others = swappable_blocks(panel.cfg, block)
        if not others:
            st.info(WORDS("no partner", block=block))
            return None
        with third:
            args["other"] = panel.choose("Swapped with", others, key="other")
    if operation == UNNORM:
        slots = norm_slots(panel.cfg, block)
        if not slots:
            st.info(WORDS("no norm", block=block))
            return None
        args["slot"] = third.selectbox("Norm to remove", list(slots), key=panel.key("slot"))
    return args


def _ask(
    panel: InstrumentPanel, passes: int, question: Question[Value], label: str, **args: Any
) -> Measured[Value] | None:
    """Asks at once if this number of passes over the held-out split is quick, else at a button."""
    cfg = panel.cfg
    if passes * branch_weights(cfg) * cfg.tokens * HELD_OUT[TASKS[cfg.task].kind] <= MAX_QUICK_MULTIPLICATIONS:
        return panel.ask(question, **args)
    return panel.ask_by_button(question, label, **args)


def _operation_name(args: dict[str, Any]) -> str:
    """The operation as the subject of a sentence."""
    block, other = f"Block {args['block']}", args.get("other")
    if args["operation"] == SWAP and other is not None:
        return f"{block} and block {other} swapped"
    if args["operation"] == UNNORM:
        return f"{block} without its {args['slot']}"
    return f"{block} skipped" if args["operation"] == SKIP else f"{block} with its branches zeroed"


def _draw_lesions(panel: InstrumentPanel, measured: Measured[Lesions]) -> None:
    value, cfg = measured.value, measured.cfg
    names = block_names(range(1, cfg.depth + 1))
    panel.row(loss_chart(names, value, cfg.task), accuracy_chart(names, value))
    panel.write(lesion_sentence(names, value.loss, value.skipped_loss, loss_of_guessing(cfg.task)))
    st.caption(" ".join([WORDS("one net"), *_cautions(cfg)]))


def _cautions(cfg: RunConfig) -> list[str]:
    """Limits of a cut's meaning in this net."""
    cautions: list[str] = []
    if cfg.stack == "residual":
        cautions.append(WORDS("residual stack"))
    if cfg.stack == "dlcl":
        cautions.append(WORDS("dlcl stack"))
    if mixes_values(cfg):
        cautions.append(WORDS("value residual"))
    if cfg.stack in MANY_STREAMS:
        cautions.append(WORDS("many streams"))
    if cfg.stack == "attention residuals":
        cautions.append(WORDS("attention residuals"))
    elif any(sublayer.skip == 0 for sublayer in plan(cfg).sublayers if not sublayer.identity):
        cautions.append(WORDS("no residual"))
    if uses_batch_statistics(cfg):
        cautions.append(WORDS("batch norm"))
    return cautions
