"""Finds updates that are too small, too large or rounded away, and a learning rate that stays 0."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from addnorm.rules import RULES, Diagnostic
from addnorm.words import number

if TYPE_CHECKING:
    from addnorm.recording import Recording

SMALL_UPDATE = RULES["AN-U1"].threshold  # a block stands still if a step changes less than this share of its size
LARGE_UPDATE = RULES["AN-U2"].threshold  # times a block's size
LOST = RULES["AN-U3"].threshold  # share of a block's numbers with a gradient that an update left as they were
MIN_IDLE_ROWS = int(RULES["AN-R1"].threshold)
MIN_WORSE = 1.5  # times the first loss: one block's large update counts if the loss has become so much worse
MIN_LOST_MEASUREMENTS = 3
SOLVED = 1e-3  # a loss below this leaves no gradient
DECAYED = 0.01  # times the largest rate so far: such a rate makes small updates
MIN_RATE_PART = 0.5  # of the largest rate so far: a rate that has decayed loses updates in any run


class LargeUpdate(NamedTuple):
    """An update of a block, over the size of its weights, and the learning rate."""

    step: int
    block: int
    size: float
    rate: float


class Updates:
    """Checks the updates of a recording in order.

    `moved`: how many times their size the weights have been changed in all, by the median over the blocks.
    """

    def __init__(self) -> None:
        self.moved = 0.0
        self._pace = 0.0  # the latest median change by one step
        self._last_step = 0
        self._still_since: dict[int, int] = {}  # block -> step since which its updates are small
        self._starts_at_zero: set[int] = set()  # blocks whose weights were zeros at some update
        self._lost_since: dict[int, list[int]] = {}  # block -> steps of the latest successive rows that lost updates
        self._largest_rate = 0.0
        self._is_done = False  # small updates are no fault any more
        self._idle_since: int | None = None
        self._idle_rows = 0
        self._idle_updates = 0  # measured while the rate was 0
        self._large: Diagnostic | None = None
        self._large_block: LargeUpdate | None = None  # of a single block
        self._small: Diagnostic | None = None
        self._lost: Diagnostic | None = None

    def check(
        self, recording: Recording, row: int, losses: Sequence[float], *, learned: bool
    ) -> Iterable[Diagnostic | None]:
        """The findings up to a row. `losses`: those so far. `learned`: they have fallen clearly."""
        rate = self._rate(recording, row)
        self._largest_rate = max(self._largest_rate, rate or 0.0)
        self._is_done = learned or (len(losses) > 0 and losses[-1] < SOLVED)
        sizes = recording.values_at("update_to_weight", row)
        step = recording.steps[row]
        self.moved += self._pace * max(0, step - self._last_step)
        self._last_step = step
        if any(size is not None for size in sizes) and row not in recording.skipped:
            usual = [size for size in sizes if size is not None and math.isfinite(size)]
            self._pace = median(usual) if usual else 0.0
            self._check_small(recording, row, sizes)
            self._check_large(recording, row, sizes)
            self._check_lost(recording, row)
        self._check_worse(recording, losses)
        return self._small, self._large, self._lost, self._check_rate(recording, row, sizes)

    def _rate(self, recording: Recording, row: int) -> float | None:
        (rate,) = recording.values_at("lr", row)
        return rate

    def _check_rate(self, recording: Recording, row: int, sizes: Sequence[float | None]) -> Diagnostic | None:
        """Finds a rate that is 0 for half of all rows, at which no update has changed anything."""
        if self._rate(recording, row) != 0 or any(sizes) or self._is_done:
            self._idle_since = None
            self._idle_rows = self._idle_updates = 0
            return None
        if self._idle_since is None:
            self._idle_since = recording.steps[row]
        self._idle_rows += 1
        self._idle_updates += any(size is not None for size in sizes)
        since = self._idle_since
        is_long = self._idle_rows >= MIN_IDLE_ROWS and 2 * since <= recording.steps[row] + 1
        if not is_long or self._idle_updates < 1:
            return None
        start = f"Since step {since} the" if since else "The"
        sentence = (
            f"{start} learning rate is 0 in each of {MIN_IDLE_ROWS} rows and more: no update changes the weights."
        )
        return Diagnostic.from_rule("AN-R1", since, sentence, place="the optimizer", rate=0.0, rows=self._idle_rows)

    def _check_small(self, recording: Recording, row: int, sizes: Sequence[float | None]) -> None:
        """Looks for blocks that the update hardly changes although the learning rate is not 0."""
        rate = self._rate(recording, row)
        if rate is not None and rate <= DECAYED * self._largest_rate:
            self._still_since = {}
            self._small = None
            return
        has_gradient = recording.measured("weight_grad_rms", row)
        for block, size in enumerate(sizes):
            if not has_gradient[block]:  # stochastic depth has left the block out of this pass
                continue
            if size is not None and size < SMALL_UPDATE and block not in recording.unheld_blocks:
                self._still_since.setdefault(block, recording.steps[row])
            else:
                self._still_since.pop(block, None)
        self._small = None
        all_stand = len(self._still_since) == sum(has_gradient)
        if not self._still_since or (all_stand and self._is_done):
            return
        first_block = min(self._still_since)
        since = self._still_since[first_block]
        name = recording.blocks[first_block].name
        count = len(self._still_since)
        others = f"; {count} of {len(recording.blocks)} blocks stand still now" if count > 1 else ""
        self._small = Diagnostic.from_rule(
            "AN-U1",
            since,
            f"No update measured since step {since} changed {name} by {SMALL_UPDATE:.3%} of its size{others}.",
            place=name,
            update_to_weight=sizes[first_block] or 0.0,
            blocks=count,
        )

    def _check_large(self, recording: Recording, row: int, sizes: Sequence[float | None]) -> None:
        """Looks for updates larger than the weights, in half of the blocks. Weights that start at zero do not count."""
        if self._large is not None:
            return
        self._starts_at_zero.update(block for block, size in enumerate(sizes) if size in (0, math.inf))
        size_of_block = {
            block: size
            for block, size in enumerate(sizes)
            if size is not None and not math.isnan(size) and block not in self._starts_at_zero
        }
        large = [block for block, size in size_of_block.items() if size > LARGE_UPDATE]
        if not large:
            return
        block = max(large, key=size_of_block.__getitem__)
        update = LargeUpdate(recording.steps[row], block, size_of_block[block], self._rate(recording, row) or 0.0)
        if len(large) > 1 and 2 * len(large) >= len(recording.blocks):
            self._report_large(recording, update, len(large), "")
        elif self._large_block is None:
            self._large_block = update

    def _check_worse(self, recording: Recording, losses: Sequence[float]) -> None:
        """Reports the large update of a single block once the loss has become much worse than the first."""
        if self._large is not None or self._large_block is None or len(losses) < MIN_IDLE_ROWS:
            return
        first, now = losses[0], median(losses[-MIN_IDLE_ROWS:])
        if first > 0 and not now <= MIN_WORSE * first:
            clause = f", and the loss has gone from {number(first)} to {number(now)}"
            self._report_large(recording, self._large_block, 1, clause)

    def _report_large(self, recording: Recording, update: LargeUpdate, count: int, clause: str) -> None:
        step, block, size, rate = update
        name = recording.blocks[block].name
        others = f" and {count - 1} more" if count > 1 else ""
        sentence = (
            f"The update of step {step} changed {name} by {number(100 * size)}% of its size{others}{clause}: the "
            f"learning rate{f', {number(rate)},' if rate else ''} is too large."
        )
        numbers = {"update_to_weight": size, "blocks": count, "rate": rate}
        self._large = Diagnostic.from_rule("AN-U2", step, sentence, place=name, **numbers)

    def _check_lost(self, recording: Recording, row: int) -> None:
        """Looks for blocks most of whose numbers low precision leaves as they were, at a rate that has not decayed."""
        rate = self._rate(recording, row)
        if rate is not None and rate < MIN_RATE_PART * self._largest_rate:
            return
        for block, share in enumerate(recording.values_at("update_lost", row)):
            if share is not None and share > LOST:
                self._lost_since.setdefault(block, []).append(recording.steps[row])
            elif share is not None:
                self._lost_since.pop(block, None)
        lasting = {block: steps for block, steps in self._lost_since.items() if len(steps) >= MIN_LOST_MEASUREMENTS}
        self._lost = None
        if not lasting:
            return
        shares = recording.row("update_lost", row)
        block = max(lasting, key=lambda index: shares[index])
        since = min(steps[0] for steps in lasting.values())
        name = recording.blocks[block].name
        sentence = (
            f"Low precision rounds updates away: in {len(lasting)} of {len(recording.blocks)} blocks more than "
            f"{LOST:.0%} of the numbers with a gradient stay as they are, in {name} {shares[block]:.1%}."
        )
        numbers = {"share": shares[block], "blocks": len(lasting)}
        self._lost = Diagnostic.from_rule("AN-U3", since, sentence, place=name, **numbers)
