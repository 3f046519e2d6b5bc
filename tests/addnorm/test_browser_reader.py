"""The reader in the browser beside the one in Python: the same numbers, faults and words of the same bytes."""

import json
import math
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from addnorm.findings import HELPS, findings
from addnorm.format import SCALARS, SERIES
from addnorm.law import law_in_words, likeness
from addnorm.recording import Reader, Recording
from addnorm.words import first_not_finite, how_it_stands, jumps, shared_prefix, updates, verdict
from components.shell.player import FOLDER
from tests.addnorm.loops import net, recorded
from tests.addnorm.test_read import END, FAULTS, HEADER, ROW, SITE

NODE = which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no node on this machine")

MIDNIGHT = 1_795_305_600  # when HEADER was created, in seconds since 1970
NOWS = [MIDNIGHT + later for later in (-5, 30, 61, 500, 7100, 7300, 170_000, 180_000)]

CODE = """
const fed = (parts) => {
  const tape = new recording.RecordedTape({ link: "", recording: null })
  for (const part of parts) tape.feed(new Uint8Array(Buffer.from(part, "base64")))
  tape.finish()
  const bare = (value) => (value === undefined ? null : Number.isFinite(value) ? value : String(value))
  const rows = Array.from({ length: tape.count }, (_, row) => ({
    step: tape.step(row),
    skipped: tape.skipped.has(row),
    summed: tape.summed.get(row) ?? 0,
    numbers: Object.keys(tape.tracks).map((track) => tape.at(track, row).map(bare)),
    words: ["verdict", "law", "update", "findings"].map((kind) => tape.sentence(kind, tape.step(row))),
  }))
  const [names, blocks] = [tape.sites.map(({ name }) => name), tape.blocks.map(({ name }) => name)]
  const stands = tape.header ? NOWS.map((now) => words.howItStands(tape, now)) : []
  return { problem: tape.problem, ended: tape.ended, names, blocks, rows, like: tape.like, stands }
}
"""


def in_browser(files: list[list[bytes]]) -> list[dict[str, Any]]:
    """What the browser's reader makes of some files, each in pieces."""
    from base64 import b64encode

    given_files = json.dumps([[b64encode(part).decode() for part in parts] for parts in files])
    script = f'import * as recording from "{(FOLDER / "recording.js").as_uri()}"\n'
    script += f'import * as words from "{(FOLDER / "words.js").as_uri()}"\nconst NOWS = {NOWS}\n{CODE}\n'
    script += 'import { readFileSync } from "node:fs"\n'
    script += 'console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(fed)))'
    assert NODE is not None
    command = [NODE, "--input-type=module", "-e", script]
    done = subprocess.run(command, input=given_files, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout, parse_int=float))


def in_python(data: bytes) -> dict[str, Any]:
    reader = Reader()
    reader.feed(data)
    found = reader.finish()
    rows = [
        {
            "step": step,
            "skipped": at in found.skipped,
            "summed": found.summed.get(at, 0),
            "numbers": [_row(found, name, at) for name in SCALARS + SERIES],
            "words": [
                " ".join(filter(None, (verdict(found, at), jumps(found, at), first_not_finite(found)))),
                law_in_words(found, at),
                updates(found, at),
                findings(found, at),
            ],
        }
        for at, step in enumerate(found.steps)
    ]
    names, blocks = [site.name for site in found.sites], [block.name for block in found.blocks]
    like = likeness(found) if len(found) else ""
    stands = [how_it_stands(found, now) for now in NOWS] if found.header else []
    seen = {"problem": found.problem, "ended": found.end, "names": names, "blocks": blocks}
    return seen | {"rows": rows, "like": like, "stands": stands}


def _row(found: Recording, name: str, at: int) -> list[float | str | None]:
    values = [found.scalars[name][at]] if name in SCALARS else found.row(name, at)
    word = {math.inf: "Infinity", -math.inf: "-Infinity"}
    return [
        None if not known else value if math.isfinite(value) else word.get(value, "NaN")
        for value, known in zip(values, found.measured(name, at), strict=True)
    ]


def lines(*entries: Any) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def deep(kind: bytes, levels: int, closed: bool) -> bytes:
    opening, closing = {b"[": (b"[", b"]"), b"{": (b'{"a":', b"}")}[kind]
    return b'{"step":1,"x":' + opening * levels + b"1" + (closing * levels if closed else b"") + b"}\n"


NUMBERS = ("1", "1.0", "1e0", "-0", "-0.0", "0.1e-400", "1e308", "1e309", "9" * 400, "9" * 5000, "-1", "9007199254740991",
           "9007199254740992", "9007199254740993", "true", "null", '"NaN"', '"nan"', '"1"', "NaN", "Infinity", "01", "1.", ".5",
           "+1", "0x1", "[]", "{}")  # fmt: skip
ODD = [
    b"", b"\n", b"\n\n", b"\r\n", b"\xef\xbb\xbf" + lines(HEADER), lines(HEADER)[:-1] + b"\r\n", b" " + lines(HEADER, ROW, END),
    b"\x00\n", b"\xff\n", b"\xed\xa0\x80\n", b"null\n", b"[]\n", b'"addnorm"\n', b"{}\n", b'{"addnorm":1}\n',
    lines(HEADER) + b'{"end":"done","end":"error","reason":"\\ud800","rows":1,"dropped":0}\n', lines(HEADER, END, END),
    lines({**HEADER, "sites": [{**SITE, "name": "\U0001f600" * 1000}]}, {**ROW, "act": [1.0], "grad": [1.0]}),
    lines({**HEADER, "sites": [{**SITE, "name": "\U0001f600" * 1001}]}),
    lines(HEADER) + b'{"__proto__":{"step":1},"constructor":1}\n', lines({**HEADER, "versions": None}),
    lines({**HEADER, "optimizer": []}), lines({**HEADER, "addnorm": 1.5}), lines({**HEADER, "addnorm": True}),
    lines(HEADER, {**ROW, "skipped": None}), lines(HEADER, {**ROW, "skipped": True}), lines(HEADER, {**ROW, "update": None}),
    *(lines(HEADER, {**ROW, "loss_sum_of": count}) for count in (4, 0, None, 2.5, "4", True)),
    lines(HEADER, {**ROW, "sample_cosine": None}),
    lines(HEADER, {**ROW, "sample_cosine": [0.5]}), lines(HEADER, {**ROW, "sample_cosine": [1e308, -1e308]}),
    lines(HEADER, {**ROW, "sample_cosine": {}}), lines(HEADER, {**ROW, "sample_cosine": [0.5, None]}),
    lines(HEADER, {**ROW, "sample_cosine": ["NaN", "Infinity"]}), lines(HEADER, {**ROW, "sample_cosine": [0.25, 0.97]}),
    lines(HEADER, {**ROW, "act": None}), lines({**HEADER, "sites": []}, {**ROW, "act": [], "grad": []}),
    *(lines(HEADER) + deep(kind, levels, closed) for kind in (b"[", b"{") for levels in (6, 7, 8, 50_000)
      for closed in (True, False)),
    *(lines(HEADER) + json.dumps({**ROW, key: 77777}).replace("77777", number).encode() + b"\n"
      for key in ("step", "loss", "seconds") for number in NUMBERS),
]  # fmt: skip


def test_both_readers_make_the_same_of_every_fault_and_oddity() -> None:
    files = [lines(*entries) + raw for entries, raw, _ in FAULTS.values()] + ODD
    for data, found in zip(files, in_browser([[data] for data in files]), strict=True):
        assert found == in_python(data), data[:200]


def test_both_readers_say_the_same_of_a_real_recording_in_whatever_pieces_it_comes(tmp_path: Path) -> None:
    recorded(net(8), tmp_path, 12)
    data = (tmp_path / "run.jsonl").read_bytes()
    draw, pieces, at = random.Random(0), [], 0
    while at < len(data):
        pieces.append(data[at : at + draw.randint(1, 900)])
        at += len(pieces[-1])
    whole, cut = in_browser([pieces, [data[: len(data) * 2 // 3]]])
    assert whole == in_python(data)
    assert whole["rows"][3]["words"][2].startswith("The update of step 2 changed ")
    assert cut == in_python(data[: len(data) * 2 // 3])
    assert "is cut off" in cut["problem"]


VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    3.0,
    "",
    "NaN",
    "x",
    [],
    {},
    [None],
    [1, "NaN"],
    {"a": 1},
    [[]],
    2**60,
    -0.0,
    1e-320,
]


def test_both_readers_make_the_same_of_what_nobody_would_write() -> None:
    draw, files = random.Random(1), []
    for at in range(1500):
        entries: list[Any] = [dict(HEADER), dict(ROW), {**ROW, "step": 1}, dict(END)]
        changed = entries[at % 4]
        for _ in range(draw.randint(1, 2)):
            changed[draw.choice([*HEADER, *ROW, *END])] = draw.choice(VALUES)
        data = bytearray(lines(*entries))
        if at % 5 == 0:
            for _ in range(draw.randint(1, 3)):
                data[draw.randrange(len(data))] = draw.choice(b'\n"{}[]:,01eE.-\x00\xc3x ')
        files.append(bytes(data))
    for data, found in zip(files, in_browser([[data] for data in files]), strict=True):
        assert found == in_python(data), data


def test_both_readers_say_the_same_of_a_recording_without_its_last_line() -> None:
    times = [
        "2026-11-22T00:00:00Z",
        "2026-11-22T00:00:00.5+00:00",
        "2026-11-22T00:00:00",
        "2026-13-22T00:00:00Z",
        "today",
    ]
    files = [lines({**HEADER, "created": time}) for time in times]
    for seconds in (0.0, 59.0, 500.0, 1e5, None, "Infinity", "-Infinity", "NaN"):
        files.append(lines(HEADER, *({**ROW, "step": step, "seconds": seconds} for step in range(5))))
    found = in_browser([[data] for data in files])
    assert found == [in_python(data) for data in files]
    assert {one["stands"][1] for one in found} == {"growing", "not ended"}
    assert {one["stands"][-1] for one in found} >= {"no row for 2 days: paused or killed", "growing"}


def test_the_prefix_that_names_share_ends_at_a_dot_and_is_the_same_in_both_languages() -> None:
    alphabet = ["a", "h", "0", "1", "10", "block", "x y"]
    draw = random.Random(3)
    deep = [".".join(draw.choice(alphabet) for _ in range(draw.randint(1, 3))) for _ in range(300)]
    cases = [[f"model.{name}" if draw.random() < 0.9 else name for name in draw.choices(deep, k=6)] for _ in range(200)]
    inner = [["x"], ["a.x", "a.y"], ["a.x", "a.y", "a.z"], ["a.b", "a.bc", "a.b.c"], ["h.1", "h.10", "h.11"]]
    cases += [[], *(["start", *names, "end"] for names in inner)]
    script = f'''import {{ sharedPrefix }} from "{(FOLDER / "recording.js").as_uri()}"
      console.log(JSON.stringify({json.dumps(cases)}.map((names) => sharedPrefix([names]))))'''
    assert NODE is not None
    command = [NODE, "--input-type=module", "-e", script]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
    assert found == [shared_prefix(names) for names in cases]
    assert found[-6:] == ["", "", "", "a.", "a.", "h."]


def test_a_file_that_was_dropped_does_not_grow_on_the_page() -> None:
    data = lines({**HEADER, "created": datetime.now(UTC).isoformat(timespec="seconds")}, ROW).decode()
    script = f'''import {{ RecordedTape }} from "{(FOLDER / "recording.js").as_uri()}"
      const facts = [null, "run.jsonl"].map((recording) => {{
        const tape = new RecordedTape({{ link: "", recording }})
        tape.feed(new TextEncoder().encode({json.dumps(data)}))
        if (tape.local) tape.finish()
        return [tape.facts().split(", ").at(-1), tape.over]
      }})
      console.log(JSON.stringify(facts))'''
    assert NODE is not None
    command = [NODE, "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == [["not ended when it was read", True], ["growing", False]]


def test_both_readers_name_the_same_site_of_the_largest_jump() -> None:
    draw, files = random.Random(2), []
    for _ in range(300):
        kinds = [draw.choice(("sum", "sum", "start")) for _ in range(5)]
        sites = [{**SITE, "kind": kind, "name": f"site {at}"} for at, kind in enumerate(kinds)]
        sizes: list[Any] = [0.0, 1.0, 2.0, 3.0, 1e-320, 1e300, -1.0, None, "NaN", "Infinity"]
        act, grad = ([draw.choice(sizes[:6] if draw.random() < 0.7 else sizes) for _ in kinds] for _ in "ab")
        files.append(lines({**HEADER, "sites": sites}, {**ROW, "act": act, "grad": grad}, END))
    found = in_browser([[data] for data in files])
    assert found == [in_python(data) for data in files]
    for said in ("grows most at site ", "falls most on the way back through ", "falls to exactly 0 at ", "rises from "):
        assert sum(said in one["rows"][0]["words"][0] for one in found) > 5


@pytest.mark.full
def test_both_readers_find_the_same_of_a_run_that_goes_wrong() -> None:
    """Losses that stall, blocks that stand still and a gradient that is lost, from some step on or not at all."""
    draw, files = random.Random(5), []
    sites = [{**SITE, "kind": "output", "name": f"layer {at}"} for at in range(8)]
    blocks = [{"name": f"block {at}", "site": at, "parameters": 4} for at in range(3)]
    cosines: list[Any] = [None, None, [None] * 8, ["NaN"] + [0.1] * 7, [None, 0.2, *[0.99] * 5, None]]
    for _ in range(60):
        turn = [draw.randint(1, 90) for _ in range(4)]
        shrink, step, entries = draw.choice((1.0, 0.5)), 0, []
        for at in range(70):
            step += draw.choice((1, 1, 5))
            loss = 0.98 ** min(at, turn[0]) + draw.gauss(0, 0.002)
            act = [shrink**place for place in range(8)]
            grad = [(0.5 if at > turn[1] or shrink < 1 else 0.9) ** (7 - place) for place in range(8)]
            update = [1e-6 if at > turn[2 + block % 2] else 1e-3 for block in range(3)] if at % 4 == 0 else [None] * 3
            row = {**ROW, "step": step, "loss": draw.choice((loss,) * 30 + (None,)), "act": act, "grad": grad}
            alike = [0.3, *[0.5] * 6, 0.99 if at > turn[0] else 0.9]
            row["sample_cosine"] = alike if at % 4 == 0 else draw.choice(cosines)
            lr = draw.choice((0.1, 0.1, 0.0, None))
            entries.append({**row, "weight_grad": [0.1] * 3, "update": update, "lr": lr, "skipped": at % 9 == 8})
        if draw.random() < 0.1:
            entries[-1]["act"][3] = "NaN"
        files.append(lines({**HEADER, "sites": sites, "blocks": blocks}, *entries, END))
    found = in_browser([[data] for data in files])
    assert found == [in_python(data) for data in files]
    said = [row["words"][3] for one in found for row in one["rows"]]
    for words in (" the mean loss has fallen by less than 2% (", "blocks stand still now", " by 0.001% of its size.",
                  "less than 1/30 of the gradient comes back to layer 0.", HELPS["plain"],
                  " on inputs become alike over depth: the mean cosine between different ones is 0.3 at layer 0 and 0.99 "):  # fmt: skip
        assert 0 < sum(words in one for one in said) < len(said)


def test_both_readers_name_the_same_law_and_the_same_arrangement() -> None:
    """Sizes of every law and of laws between them, streams that sum and layers that do not, with and without noise."""
    draw, files = random.Random(4), []
    grown: list[Callable[[int, float], float]] = [
        lambda at, c: math.sqrt(1 + c * at),
        lambda at, c: 1 + c * at,
        lambda at, c: math.exp(0.1 * c * at),
        lambda at, c: math.exp(-0.1 * c * at),
        lambda at, c: (1 + c * at) ** 0.75,
        lambda at, c: (1 + c * at) ** -0.5,
        lambda at, c: 1 + 0.01 * math.sin(at) * c,
        lambda at, c: 1.0,
    ]
    for _ in range(600):
        kind, count, c = draw.choice(("sum", "output")), draw.randint(5, 40), draw.choice((0.5, 1.0, 2.0))
        noise = draw.choice((0.0, 0.0, 0.01))
        stream, gradient = draw.choice(grown), draw.choice(grown)
        if draw.random() < 0.5:
            gradient = stream  # as it is in the arrangements that have names
        act = [stream(at, c) * math.exp(draw.gauss(0, noise)) for at in range(count)]
        grad = [gradient(at, c) * math.exp(draw.gauss(0, noise)) for at in range(count)][::-1]
        sites = [{**SITE, "kind": kind, "name": f"site {at}"} for at in range(count)]
        rows = [{**ROW, "step": step, "act": act, "grad": grad} for step in range(2)]
        files.append(lines({**HEADER, "sites": sites}, *rows, END))
    found = in_browser([[data] for data in files])
    assert found == [in_python(data) for data in files]
    named = Counter(one["like"] for one in found)
    assert set(named) == {"", "little", "pre-norm", "post-norm", "residual only", "ReZero", "plain", "plain + norm"}
    said = " ".join(one["rows"][1]["words"][1] for one in found)
    for words in ("square root", "in proportion to depth", "grows, by the best fit, exp", "shrinks",
                  "the same size", "hardly change"):  # fmt: skip
        assert words in said


def test_the_bounds_are_the_same() -> None:
    from addnorm import recording

    script = f'import {{ BOUNDS }} from "{(FOLDER / "recording.js").as_uri()}"\nconsole.log(JSON.stringify(BOUNDS))'
    assert NODE is not None
    said = subprocess.run(
        [NODE, "--input-type=module", "-e", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(said.stdout) == {"line": recording.LONGEST_LINE, "numbers": recording.MOST_NUMBERS}
