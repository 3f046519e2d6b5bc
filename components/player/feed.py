"""The feed of a run: its log as messages for a browser, over a connection, with a page or in a file."""

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from addnorm.player import PIECE_HEAD
from components.charts.parts import rounded
from components.charts.tasks import PICTURES
from components.player.browser_messages import ShownRun
from models import answers
from models.insight.path_outcome import MAX_VISIBLE_GROWTH, drawn_angles, path_details, path_outcome, unseparated
from models.runlog import LogHead, RunLog
from models.service.client import RequestedLog, Requester, Trainer, log_key, question_message
from models.service.recorded import recorded_log
from models.spec import TASKS, RunConfig
from models.trace import SCALARS, Frame

MESSAGE_BYTES = 2**18  # approximate size of a message with rows
KEPT_FRAMES = 500  # as text, of some 20 kB each; a class's nets have a hundred
INKS = "0123456789abcdefg"  # characters for the darkness of a pixel, from 0 to 16


def header_json(head: LogHead) -> dict[str, Any]:
    """The tracks of a row, each with its columns, and the last row that this log can have."""
    columns = head.columns
    slices = {name: slice(column, column + 1) for column, name in enumerate(SCALARS)} | columns.slices
    tracks = [{"name": name, "start": part.start, "width": part.stop - part.start} for name, part in slices.items()]
    return {
        "seeds": head.seeds,
        "width": columns.width,
        "tracks": tracks,
        "sites": columns.sites,
        "depth": columns.depth,
        "last": head.cfg.steps,
    }


def frame_json(cfg: RunConfig, frame: Frame) -> dict[str, Any]:
    """A frame for the browser: its numbers, None if not finite, and its picture as a figure or as text.

    `ten`: ten digits, the same in every frame, with a character of INKS per pixel; and the net's answers, None where
    its output is not finite.
    `journey`: ten samples after each of `blocks`, where 0 is the input. `size`: RMS of each sample. `turn`: angle of
    its direction, in radians, in the plane that fits all directions best. `in_plane`: length of the direction's
    projection on that plane. `outcome`, `directions`, `alike`: what becomes of them, in words. `unseparated`: stops at
    which they have vanished or merged. `edge`: the size at the frame's edge, in units of the input's size.
    """
    picture = frame.picture
    draw = PICTURES.get(TASKS[cfg.task].kind) if "kind" in picture else None
    message: dict[str, Any] = {}
    if "ten" in picture:
        message["ten"] = _ten_digits(picture)
    if "ten_size" in picture:
        message["journey"] = _sample_paths(picture)
    return message | {
        "step": frame.step,
        "sample_cosine": rounded(frame.sample_cosine),
        "update_to_weight": rounded(frame.update_to_weight),
        "dead_units": rounded(frame.dead_units),
        "held_out_loss": rounded([frame.held_out_loss])[0],
        "held_out_accuracy": rounded([frame.held_out_accuracy])[0],
        "train_mode_loss": rounded([frame.train_mode_loss])[0],
        "picture": draw(picture) if draw else text_json(picture),
    }


def text_json(picture: Mapping[str, Any]) -> dict[str, Any] | None:
    """The text that a net wrote: `prompt`, `sample` with the probability `p` of each character, and `next`.

    `next`: the likeliest characters after the prompt, each with its probability. None if the net writes no text.
    """
    if "prompt" not in picture:
        return None
    likeliest = zip(picture["candidates"], rounded(picture["candidate_p"]), strict=True)
    return {
        "prompt": picture["prompt"],
        "sample": picture["sample"],
        "p": rounded(picture["p"]),
        "next": [list(pair) for pair in likeliest],
    }


def messages(
    log: RunLog, number: int = 0, since: int = 0, until: int | None = None, turn: int = 0
) -> Iterator[str | bytes]:
    """Messages with header, frames, sentences, and the rows from `since` to before `until` of a log.

    Each message repeats `number` and `turn`. The rows come last, so that a browser with a row also has its sentences,
    and can resume there. Frames start one row earlier, because the frame of row 0 is a draft until the run is trained.
    """
    head = log.head
    end = log.length if until is None else min(until, log.length)
    if head is None or not end:
        return
    if since == 0:
        yield _json(number, turn, "header", header_json(head))
    for seed in range(head.seeds):
        frames = [_frame_text(head.cfg, frame) for frame in log.frames(seed) if since - 1 <= frame.step < end]
        if frames:
            yield f'{_json(number, turn, "frames", {"seed": seed})[:-1]},"frames":[{",".join(frames)}]}}'
    sentences = {kind: changes for kind, changes in log.sentences(since, end).items() if changes}
    if sentences:
        yield _json(number, turn, "sentences", {"sentences": sentences})
    rows_per_message = max(1, MESSAGE_BYTES // (4 * head.seeds * head.columns.width))
    for row in range(since, end, rows_per_message):
        rows = log.rows(row, min(rows_per_message, end - row))
        yield PIECE_HEAD.pack(number, row, len(rows), turn) + np.ascontiguousarray(rows, "<f4").tobytes()


def run_state(log: RunLog, **service_state: Any) -> dict[str, Any]:
    """The state of a run: whether and how it ended, and `service_state`, which its log does not know."""
    outcomes = [
        None if divergence is None else {"step": divergence.step, "sentence": divergence.sentence()}
        for divergence in log.divergences
    ]
    parameters, device = (log.head.parameters, log.head.device) if log.head else (0, "")
    state = {"done": log.done, "outcomes": outcomes, "parameters": parameters, "device": device}
    state |= {"unsaved": log.in_memory}
    return state | {"error": "", "place": 0, "rate": 0.0, "recomputing": False, "recorded": False, **service_state}


def all_messages(log: RunLog, number: int) -> Iterator[str | bytes]:
    """A run with all rows that its log has, for a browser without a connection."""
    yield from messages(log, number)
    error = log.error if isinstance(log, RequestedLog) else ""
    yield _json(number, 0, "state", run_state(log, error=error, unsaved=False))


class RunFeed:
    """Sends a run to a connection, which knows it by a number. The run is trained only if a page of `owner` shows it.

    `sent`: the number of rows in the browser. `recorded`: whether these are of the recorded log that comes with the
    app; rows of the run's own log replace them.
    """

    def __init__(self, number: int, shown: ShownRun, owner: Requester | None, turn: int = 0) -> None:
        self.number, self.turn = number, turn
        self.cfg, self.seeds, self.target_row = shown.cfg, shown.seeds, shown.target_row
        self.key = log_key(shown.cfg, shown.seeds)
        self.owner = owner if owner is not None and self.key in owner.runs else None
        self.sent, self.recorded = shown.sent_rows, False
        self._state: dict[str, Any] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys to follow: those of the log and of the question for its row 0."""
        return self.key, question_message(answers.OPENED, self.cfg, {"seeds": self.seeds})["key"]

    def request(self, trainer: Trainer, seconds: float) -> None:
        """Renews the request for rows for `seconds`, or ends it if the log has them all."""
        log = trainer.log(self.cfg, self.seeds)
        if self.owner is not None and (self.target_row > log.length or log.is_requested):
            trainer.request_rows(self.cfg, self.target_row, seconds, self.seeds, self.owner)

    def messages(self, trainer: Trainer, *, rate: bool = False, until: int | None = None) -> Iterator[str | bytes]:
        """The rows before `until` that the browser lacks, in order, and a new state. `rate`: update its speed, too."""
        own_log = trainer.log(self.cfg, self.seeds)
        error = ""
        is_unopened = not own_log.length and not own_log.error
        if self.owner and is_unopened and trainer.status().state != "failed":
            answer = trainer.open_log(self.cfg, self.seeds)
            own_log = trainer.log(self.cfg, self.seeds)
            error = answer.error if answer else ""
        log = self._choose_log(own_log)
        # Read before the rows: if the run ends meanwhile, the browser must not hear of it before it has all rows.
        state = self._current_state(trainer, own_log, rate) | {"error": own_log.error or error}
        length = log.length
        end = length if until is None else min(length, until)
        if self.sent < end or (state["done"] and not self._state.get("done")):
            yield from messages(log, self.number, self.sent, end, self.turn)
            self.sent = max(self.sent, end)
        if state != self._state and (until is None or 0 < length <= until):
            self._state = state
            yield _json(self.number, self.turn, "state", state)

    def _choose_log(self, own_log: RequestedLog) -> RunLog:
        """The run's own log; while it has no row, the recorded one that comes with the app."""
        recording = None
        if self.seeds == 1 and not own_log.length and (self.recorded or not self.sent):
            recording = recorded_log(self.cfg)
        if self.recorded != (recording is not None):
            self.sent, self.recorded = 0, recording is not None
        return recording or own_log

    def _current_state(self, trainer: Trainer, own_log: RequestedLog, rate: bool) -> dict[str, Any]:
        """The state of the run itself, even while the browser shows a recorded log."""
        rows_per_second = float(f"{own_log.rate:.2g}") if rate else self._state.get("rate", 0.0)
        return run_state(
            own_log,
            place=trainer.queue_position(own_log),
            rate=0.0 if own_log.done else rows_per_second,
            recomputing=own_log.is_recomputing,
            recorded=self.recorded,
        )


def _json(number: int, turn: int, kind: str, content: dict[str, Any]) -> str:
    return _text({"kind": kind, "run": number, "turn": turn} | content)


@lru_cache(KEPT_FRAMES)
def _frame_text(cfg: RunConfig, frame: Frame) -> str:
    """A frame as JSON, kept because a whole class asks for it: a deep net's takes 30 ms."""
    return _text(frame_json(cfg, frame))


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _ten_digits(picture: dict[str, Any]) -> dict[str, Any]:
    answers = zip(picture["ten_guess"], picture["ten_confidence"], strict=True)
    return {
        "images": ["".join(INKS[ink] for ink in image.ravel()) for image in picture["ten"]],
        "answers": [guess if math.isfinite(confidence) else None for guess, confidence in answers],
    }


def _sample_paths(picture: dict[str, Any]) -> dict[str, Any]:
    across, up = np.moveaxis(picture["ten_at"], -1, 0)
    directions, alike = path_details(picture)
    return {
        "names": picture["ten_names"],
        "blocks": picture["ten_blocks"],
        "size": [rounded(sizes) for sizes in picture["ten_size"]],
        "turn": drawn_angles(picture).round(2).tolist(),
        "in_plane": np.hypot(across, up).round(2).tolist(),
        "plane": rounded(picture["ten_plane"]),
        "cosine": rounded(picture["ten_cosine"]),
        "outcome": path_outcome(picture),
        "directions": directions,
        "alike": alike,
        "unseparated": unseparated(picture),
        "edge": MAX_VISIBLE_GROWTH,
    }
