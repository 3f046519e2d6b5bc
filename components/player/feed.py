"""The feed of a run: the messages in which a browser gets its log, over a connection, with a page or in a file."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from addnorm.player import PIECE_HEAD
from components.charts.parts import rounded
from components.charts.tasks import PICTURES
from components.player.asked import AskedRun
from models import answers
from models.insight.path_outcome import GROWN, VANISH, path_outcome
from models.runlog import LogHead, RunLog
from models.service.client import RequestedLog, Requester, Trainer, log_key, question_message
from models.service.recorded import recorded_log
from models.spec import TASKS, RunConfig
from models.trace import SCALARS, Frame

PIECE_BYTES = 2**18
INKS = "0123456789abcdefg"  # a letter for each darkness of a pixel, from 0 to 16


def header(head: LogHead) -> dict[str, Any]:
    """Where the numbers of a row stand, and the last row that this log can have."""
    columns = head.columns
    places = {name: slice(at, at + 1) for at, name in enumerate(SCALARS)} | columns.slices
    tracks = [{"name": name, "start": part.start, "width": part.stop - part.start} for name, part in places.items()]
    return {
        "seeds": head.seeds,
        "width": columns.width,
        "tracks": tracks,
        "sites": columns.sites,
        "depth": columns.depth,
        "last": head.cfg.steps,
    }


def frame_json(cfg: RunConfig, frame: Frame) -> dict[str, Any]:
    """A frame for the browser: its numbers, None where they are not finite, and its picture as a figure or as text.

    `ten`: ten digits, the same in every frame, with a letter of INKS per pixel, and the net's answers, None where its
    output is not finite. `journey`: ten samples after each of `blocks`, from the input (0) on: `size`, the RMS of each;
    `turn`, the angle of its direction in the plane that holds most, in radians; `in_plane`, how much of it lies there;
    `outcome`, with `alike`, what is said beside it; `edge`, the size at the frame's edge, in times the input's.
    """
    draw = PICTURES.get(TASKS[cfg.task].kind) if "kind" in frame.picture else None
    ten = {"ten": _ten(frame.picture)} if "ten" in frame.picture else {}
    journey = {"journey": _journey(frame.picture)} if "ten_size" in frame.picture else {}
    return (
        ten
        | journey
        | {
            "step": frame.step,
            "sample_cosine": rounded(frame.sample_cosine),
            "update_to_weight": rounded(frame.update_to_weight),
            "dead_units": rounded(frame.dead_units),
            "held_out_loss": rounded([frame.held_out_loss])[0],
            "held_out_accuracy": rounded([frame.held_out_accuracy])[0],
            "train_mode_loss": rounded([frame.train_mode_loss])[0],
            "picture": draw(frame.picture) if draw else written(frame.picture),
        }
    )


def written(picture: Mapping[str, Any]) -> dict[str, Any] | None:
    """A text that the net wrote: `prompt`, `sample` with the probability `p` of each character, and the `next` ones.

    `next`: the likeliest characters after the prompt, each with its probability. None where the net writes no text.
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
    """A log from row `since` on, before row `until`: header, frames, sentences and rows.

    The rows come last: whoever has a row has all that is said of it, and can go on from there. Frames begin one row
    earlier, because that of row 0 is a draft until the run is trained.
    """
    head, end = log.head, log.length if until is None else min(until, log.length)
    if head is None or not end:
        return
    if since == 0:
        yield _json(number, turn, "header", header(head))
    for seed in range(head.seeds):
        frames = [frame_json(head.cfg, frame) for frame in log.frames(seed) if since - 1 <= frame.step < end]
        if frames:
            yield _json(number, turn, "frames", {"seed": seed, "frames": frames})
    if said := {kind: changes for kind, changes in log.said(since, end).items() if changes}:
        yield _json(number, turn, "sentences", {"sentences": said})
    most = max(1, PIECE_BYTES // (4 * head.seeds * head.columns.width))
    for at in range(since, end, most):
        rows = log.rows(at, min(most, end - at))
        yield PIECE_HEAD.pack(number, at, len(rows), turn) + np.ascontiguousarray(rows, "<f4").tobytes()


def state_of(log: RunLog, **more: Any) -> dict[str, Any]:
    """The state of a run, `more` of which its log does not know: whether it is over, how, what it waits for."""
    ends = [None if end is None else {"step": end.step, "sentence": end.sentence()} for end in log.divergences]
    parameters, device = (log.head.parameters, log.head.device) if log.head else (0, "")
    known = {"done": log.done, "outcomes": ends, "parameters": parameters, "device": device}
    return known | {"error": "", "place": 0, "rate": 0.0, "recomputing": False, "recorded": False, **more}


def whole(log: RequestedLog, number: int) -> Iterator[str | bytes]:
    """A run as far as it is there, where nothing will follow."""
    yield from messages(log, number)
    yield _json(number, 0, "state", state_of(log, error=log.error))


class RunFeed:
    """A run of a connection, by its number there. `owner`: on whose behalf it may be trained; None: not at all.

    `sent`: how many of its rows the browser has. `recorded`: whether they come with the app, until there are its own.
    """

    def __init__(self, number: int, asked: AskedRun, owner: Requester | None, turn: int = 0) -> None:
        self.number, self.turn = number, turn
        self.cfg, self.seeds, self.want = asked.cfg, asked.seeds, asked.want
        self.key = log_key(asked.cfg, asked.seeds)
        self.owner = owner if owner is not None and self.key in owner.runs else None
        self.sent, self.recorded = asked.have, False
        self._state: dict[str, Any] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the news to follow: the log's, and that of the question after its row 0."""
        return self.key, question_message(answers.OPENED, self.cfg, {"seeds": self.seeds})["key"]

    def request(self, trainer: Trainer, seconds: float) -> None:
        """Renews the request for the rows wanted, or ends it if there are none."""
        wanted = trainer.log(self.cfg, self.seeds)
        if self.owner is not None and (self.want > wanted.length or wanted.is_requested):
            trainer.request_rows(self.cfg, self.want, seconds, self.seeds, self.owner)

    def messages(self, trainer: Trainer, *, rate: bool = False, until: int | None = None) -> Iterator[str | bytes]:
        """What the browser lacks of the rows before `until`, in order. `rate`: with the speed of the run."""
        wanted, error = trainer.log(self.cfg, self.seeds), ""
        if self.owner and not (wanted.length or wanted.error) and trainer.status().state != "failed":
            opened = trainer.open_log(self.cfg, self.seeds)
            wanted, error = trainer.log(self.cfg, self.seeds), opened.error if opened else ""
        log = self._log(wanted)
        # Before the rows: if the run ends meanwhile, the browser must not hear of it before it has them all.
        state, length = self._state_of(trainer, wanted, rate) | {"error": wanted.error or error}, log.length
        end = length if until is None else min(length, until)
        if self.sent < end or (state["done"] and not self._state.get("done")):
            yield from messages(log, self.number, self.sent, end, self.turn)
            self.sent = max(self.sent, end)
        if state != self._state and (until is None or 0 < length <= until):
            self._state = state
            yield _json(self.number, self.turn, "state", state)

    def _log(self, wanted: RequestedLog) -> RunLog:
        """The run's own log; while it has no row, the one that comes with the app."""
        kept = (
            recorded_log(self.cfg)
            if self.seeds == 1 and not wanted.length and (self.recorded or not self.sent)
            else None
        )
        if self.recorded != (kept is not None):
            self.sent, self.recorded = 0, kept is not None
        return kept or wanted

    def _state_of(self, trainer: Trainer, wanted: RequestedLog, rate: bool) -> dict[str, Any]:
        """The state of the run itself: where the one that comes with the app was computed says nothing of this one."""
        moving = float(f"{wanted.rate:.2g}") if rate else self._state.get("rate", 0.0)
        return state_of(
            wanted,
            place=trainer.queue_position(wanted),
            rate=0.0 if wanted.done else moving,
            recomputing=wanted.is_recomputing,
            recorded=self.recorded,
        )


def _json(number: int, turn: int, kind: str, what: dict[str, Any]) -> str:
    return json.dumps({"kind": kind, "run": number, "turn": turn} | what, allow_nan=False, separators=(",", ":"))


def _ten(picture: dict[str, Any]) -> dict[str, Any]:
    answers = zip(picture["ten_guess"], picture["ten_confidence"], strict=True)
    return {
        "images": ["".join(INKS[ink] for ink in image.ravel()) for image in picture["ten"]],
        "answers": [guess if math.isfinite(sure) else None for guess, sure in answers],
    }


def _journey(picture: dict[str, Any]) -> dict[str, Any]:
    across, up = np.moveaxis(picture["ten_at"], -1, 0)
    return {
        "names": picture["ten_names"],
        "blocks": picture["ten_blocks"],
        "size": [rounded(sizes) for sizes in picture["ten_size"]],
        "turn": np.arctan2(up, across).round(2).tolist(),
        "in_plane": np.hypot(across, up).round(2).tolist(),
        "plane": rounded(picture["ten_plane"]),
        "cosine": rounded(picture["ten_cosine"]),
        "outcome": (found := path_outcome(picture)),
        "alike": "" if found == VANISH else f" (mean\u00a0cosine\u00a0{picture['ten_cosine'][-1]:.2f})",
        "edge": GROWN,
    }
