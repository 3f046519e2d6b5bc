"""Batch norm in training and at inference: running statistics, and what happens when the data shift afterwards."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import streamlit as st

from components.controls import form
from components.controls import number_table as table
from components.labs.parts import draw_note
from components.shell.session import Key
from models.content import Texts
from models.labs.normalization import MOMENTUM, Running, initial_running, normalise, updated_running
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization"

RUNNING: Key[Running | None] = Key("normalization_running", None)  # batch norm's memory
LEARNING_REFUSAL = Key("normalization_refused", "")


@dataclass(frozen=True)
class Inference(Settings):
    mode: Annotated[str, Knob("Mode", choices=dict.fromkeys(("train", "eval")), control="segments")] = "train"
    shift: Annotated[float, Knob("Shift of the data at inference", -100.0, 100.0, 0.5, width=220)] = 0.0


def draw_memory(values: np.ndarray, counted: np.ndarray | None) -> tuple[np.ndarray, Running | None]:
    """Draws running statistics and mode. Returns the table to normalise and, in eval mode, the statistics to use."""
    _, features = table.axis_names(KEY)
    running = RUNNING.get() or initial_running(len(features))
    if len(running.mean) != len(features):
        running = initial_running(len(features))
    mode = form.draw(Inference, KEY, only=["mode"]).mode

    def learn(batches: int) -> None:
        try:
            RUNNING.put(updated_running(running, values, counted, batches))
        except ValueError as problem:
            LEARNING_REFUSAL.put(str(problem))

    with st.container(horizontal=True):
        st.button("Train on this batch once", key=f"{KEY}_learn_1", on_click=learn, args=(1,))
        st.button("Train on it 10 times", key=f"{KEY}_learn_10", on_click=learn, args=(10,))
        st.button("Reset the statistics", key=f"{KEY}_forget", on_click=RUNNING.put, args=(None,))
    if refusal := LEARNING_REFUSAL.pop():
        st.error(refusal)
    _draw_statistics(values, counted, running, features)
    if mode == "train":
        return values, None
    return _draw_shift(values, running), running


def _draw_statistics(values: np.ndarray, counted: np.ndarray | None, running: Running, features: list[str]) -> None:
    """The statistics of this batch and the running ones."""
    batch = values if counted is None else values[counted]
    rows = {"batch mean": batch.mean(0), "batch variance, / n": batch.var(0)} if len(batch) else {}
    if len(batch) > 1:
        rows["batch variance, / (n - 1)"] = batch.var(0, ddof=1)
    rows |= {"running mean": running.mean, "running variance": running.variance}
    st.dataframe(pd.DataFrame(rows, index=features).T, alt="Statistics of the batch and running statistics, table")
    st.caption(TEXTS("running statistics", batches=running.batches, old=1 - MOMENTUM, new=MOMENTUM))


def _draw_shift(values: np.ndarray, running: Running) -> np.ndarray:
    """Returns the data shifted at inference; draws how far that moves batch norm and layer norm."""
    shift = form.draw(Inference, KEY, only=["shift"]).shift
    shifted = values + shift
    moves = {}
    for method, statistics in (("batch norm", running), ("layer norm", None)):
        before, after = (normalise(table, method, running=statistics).values for table in (values, shifted))
        moves[method] = np.abs(after - before).max()
    draw_note(TEXTS("shift", shift=shift, batch=moves["batch norm"], layer=moves["layer norm"]))
    return shifted
