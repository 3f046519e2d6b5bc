"""A run as a connection sends it to a browser: what has been sent of its tape, and the messages for the rest."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from addnorm.player import HEAD
from components.charts.parts import rounded
from components.charts.tasks import PICTURES
from components.stage.asked import AskedRun
from models import answers
from models.insight.fate import fate
from models.insight.said import said_at
from models.service.client import Requester, RunHistory, Source, Trainer, question_message, tape_key
from models.service.recorded import recorded
from models.spec import TASKS, RunConfig
from models.trace import SCALARS, Columns, Frame, Trace, rows_of

PIECE_BYTES = 2**18
INKS = "0123456789abcdefg"  # a letter for each darkness of a pixel, from 0 to 16


def header(cfg: RunConfig, seeds: int, columns: Columns) -> dict[str, Any]:
    """Where the numbers of a row stand, and the last row that this tape can have."""
    places = {name: slice(at, at + 1) for at, name in enumerate(SCALARS)} | columns.slices
    tracks = [{"name": name, "start": part.start, "width": part.stop - part.start} for name, part in places.items()]
    return {
        "seeds": seeds,
        "width": columns.width,
        "tracks": tracks,
        "sites": columns.sites,
        "depth": columns.depth,
        "last": cfg.steps,
    }


def frame_json(cfg: RunConfig, frame: Frame) -> dict[str, Any]:
    """A frame for the browser: its numbers, None where they are not finite, and its picture as a figure or as text.

    `ten`: ten digits, the same in every frame, with a letter of INKS per pixel, and the net's answers, None where its
    output is not finite. `journey`: ten samples after each of `blocks`, from the input (0) on: `size`, the RMS of each;
    `turn`, the angle of its direction in the plane that holds most, in radians; `held`, how much of it lies there.
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


def opening(cfg: RunConfig, traces: Sequence[Trace], *, recorded: bool = False) -> dict[str, Any]:
    """A whole run before training: header, row 0 of every seed, and the frame and the sentences of the first seed."""
    first = traces[0]
    numbers = np.concatenate([rows_of(trace)[0] for trace in traces]).tolist()
    said = said_at(cfg, first, 0)
    return {
        "header": header(cfg, len(traces), Columns(first.sites, first.branches, first.weight_grad_rms.shape[1])),
        "row": [value if math.isfinite(value) else repr(value) for value in numbers],
        "frames": [frame_json(cfg, frame) for frame in first.frames[:1]],
        "said": {kind: [[0, sentence]] for kind, sentence in said.items()},
        "recorded": recorded,
    }


def before(trainer: Source, cfg: RunConfig, seeds: int, wait: float = 0.0) -> dict[str, Any] | None:
    """A run before training; None until row 0 is there."""
    found = trainer.before(cfg, seeds, wait)
    return None if found is None or found.value is None else opening(cfg, found.value)


class RunFeed:
    """A run of a connection, by its number there. `owner`: on whose behalf it may be trained; None: not at all."""

    def __init__(self, number: int, asked: AskedRun, owner: Requester | None, turn: int = 0) -> None:
        self.number, self.turn = number, turn
        self.cfg, self.seeds, self.want = asked.cfg, asked.seeds, asked.want
        self.key = tape_key(asked.cfg, asked.seeds)
        self.owner = owner if owner is not None and self.key in owner.runs else None
        self.sent = asked.have
        self._opened = ""  # where the browser's header came from: a recording, a profile or the tape
        self._frames = [0] * asked.seeds
        self._said: Counter[str] = Counter()
        self._state: dict[str, Any] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the news to follow: the tape's, and that of the question after its row 0."""
        return self.key, question_message(answers.OPENED, self.cfg, {"seeds": self.seeds})["key"]

    def wish(self, trainer: Trainer, seconds: float) -> None:
        """Renews the wish for the rows wanted, or ends it if there are none."""
        tape = trainer.tape(self.cfg, self.seeds)
        if self.owner is not None and (self.want > tape.length or tape.wanted):
            trainer.want(self.cfg, self.want, seconds, self.seeds, self.owner)

    def messages(self, trainer: Source, *, rate: bool) -> Iterator[str | bytes]:
        """What the browser does not have yet, in order. `rate`: with the speed of the run."""
        tape = trainer.tape(self.cfg, self.seeds)
        # Before the rows: if the run ends meanwhile, the browser must not hear of it before it has them all.
        state = self._state_of(trainer, tape, rate)
        if tape.columns is not None:
            if self._opened != "tape":
                yield self._json(header(self.cfg, self.seeds, tape.columns) | {"kind": "header"})
                self._opened = "tape"
            yield from self._frame_messages(tape)
            yield from self._rows(tape)
            yield from self._sentences(tape)
        elif self.sent == 0:
            yield from self._before(trainer)
        if state != self._state:
            self._state = state
            yield self._json({"kind": "state"} | state)

    def _rows(self, tape: RunHistory) -> Iterator[bytes]:
        assert tape.columns is not None
        width = tape.columns.width * self.seeds
        most = max(1, PIECE_BYTES // (4 * width))
        while self.sent < tape.length:
            rows = tape.log.rows(self.sent, most)
            yield HEAD.pack(self.number, self.sent, len(rows), self.turn) + np.ascontiguousarray(rows, "<f4").tobytes()
            self.sent += len(rows)

    def _frame_messages(self, tape: RunHistory) -> Iterator[str]:
        for seed in range(self.seeds):
            frames = tape.log.frames(seed)[self._frames[seed] :]
            if frames:
                self._frames[seed] += len(frames)
                new = [frame_json(self.cfg, frame) for frame in frames]
                yield self._json({"kind": "frames", "seed": seed, "frames": new})

    def _sentences(self, tape: RunHistory) -> Iterator[str]:
        new = {kind: changes for kind, changes in tape.log.said(self._said).items() if changes}
        if new:
            for kind, changes in new.items():
                self._said[kind] += len(changes)
            yield self._json({"kind": "said", "said": new})

    def _before(self, trainer: Source) -> Iterator[str]:
        """The net before training; a recording of it while the trainer starts."""
        if self.owner is not None and self._opened != "profile" and (found := before(trainer, self.cfg, self.seeds)):
            self._opened = "profile"
            yield self._json({"kind": "opening"} | found)
        elif not self._opened and self.seeds == 1 and (trace := recorded(self.cfg)) is not None:
            self._opened = "recording"
            yield self._json({"kind": "opening"} | opening(self.cfg, [trace], recorded=True))

    def _state_of(self, trainer: Source, tape: RunHistory, rate: bool) -> dict[str, Any]:
        """The state of this run: whether it is over, how it ended, what it waits for."""
        fates = [
            None if fate is None else {"step": fate.step, "sentence": fate.sentence()} for fate in tape.divergences
        ]
        asks = self.owner and not tape.length and not tape.error and trainer.status().state != "failed"
        refused = trainer.before(self.cfg, self.seeds) if asks else None
        moving = float(f"{tape.rate:.2g}") if rate and not tape.done else self._state.get("rate", 0.0)
        return {
            "done": tape.done,
            "fates": fates,
            "error": tape.error or (refused.error if refused is not None else ""),
            "place": trainer.place(tape),
            "rate": 0.0 if tape.done else moving,
            "recomputing": tape.recomputing,
            "parameters": tape.parameters,
            "device": tape.device,
        }

    def _json(self, message: dict[str, Any]) -> str:
        return json.dumps(message | {"run": self.number, "turn": self.turn}, allow_nan=False, separators=(",", ":"))


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
        "held": np.hypot(across, up).round(2).tolist(),
        "plane": rounded(picture["ten_plane"]),
        "cosine": rounded(picture["ten_cosine"]),
        "fate": fate(picture),
    }
