"""The reader in the browser beside the one in Python: the same numbers, faults and sentences of the same bytes."""

import json
import math
import random
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from addnorm import recording
from addnorm.format import SCALARS, SERIES
from addnorm.recording import Reader, Recording
from addnorm.words import STATUS, common_prefix, recording_status
from tests.addnorm.loops import net, recorded
from tests.addnorm.test_read import END, FAULTS, HEADER, ROW, SITE
from tests.drawn import run

MIDNIGHT = 1_795_305_600  # when HEADER was created, in seconds since 1970
NOWS = [MIDNIGHT + later for later in (-5, 30, 61, 500, 7100, 7300, 170_000, 180_000)]

KINDS = ["verdict", "law", "update", "findings", "weight", "kind"]  # as the player asks for them
PARTS = [["verdict", "jumps", "lost"], ["law"], ["update"], ["findings", "ids", "helps"], ["weight"], ["kind"]]

CODE = """
const fed = (parts) => {
  const log = new runlog.RunLog({ link: "", recording: null })
  const { decoder } = log
  for (const part of parts) decoder.feed(new Uint8Array(Buffer.from(part, "base64")))
  decoder.finish()
  const bare = (value) => (value === undefined ? null : Number.isFinite(value) ? value : String(value))
  const about = log.header?.about
  const old = about?.addnorm === 1 || !Object.keys(log.sentences).length // Python forms what is not said
  const rows = log.steps.map((step, row) => ({
    step,
    numbers: Object.keys(log.tracks).map((track) => log.values(track, row).map(bare)),
    shares: log.frames[0].find((frame) => frame.step === step)?.histogram?.map((one) => bare(one ?? NaN)) ?? [],
    words: old ? [] : KINDS.map((kind) => log.sentence(kind, step)),
  }))
  const [names, blocks] = ["sites", "blocks"].map((key) => (about?.[key] ?? []).map(({ name }) => name))
  const stands = about ? NOWS.map((now) => decoder.status(STANDS, now)) : []
  return { problem: decoder.problem, ended: decoder.ending, names, blocks, rows, like: old ? "" : log.like, stands }
}
return JSON.stringify(files.map(fed))
"""


def in_browser(files: list[list[bytes]]) -> list[dict[str, Any]]:
    """What the browser's reader makes of some files, each in pieces."""
    sent = [[b64encode(part).decode() for part in parts] for parts in files]
    text = run(CODE, files=sent, NOWS=NOWS, STANDS=STATUS, KINDS=KINDS)
    return list(json.loads(text, parse_int=float))  # large numbers are written in fewer digits than integers have


def in_python(data: bytes) -> dict[str, Any]:
    reader = Reader()
    reader.feed(data)
    found = reader.finish()
    old = found.header.get("addnorm") == 1 or not found.sentence_changes
    rows = [
        {
            "step": step,
            "numbers": [_row(found, name, at) for name in SCALARS + SERIES],
            "shares": [
                one if math.isfinite(one) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(one, "NaN")
                for one in found.histograms.get(at, [])
            ],
            "words": []
            if old
            else [" ".join(filter(None, (found.sentence(one, at) for one in parts))) for parts in PARTS],
        }
        for at, step in enumerate(found.steps)
    ]
    names, blocks = [site.name for site in found.sites], [block.name for block in found.blocks]
    like = found.sentence("like", 0) if len(found) and not old else ""
    stands = [recording_status(found, now) for now in NOWS] if found.header else []
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
    lines({**HEADER, "sites": [{**SITE, "name": "\U0001f600" * 1000}]}, {**ROW, "act_rms": [1.0], "grad_rms": [1.0]}),
    lines({**HEADER, "sites": [{**SITE, "name": "\U0001f600" * 1001}]}),
    lines(HEADER) + b'{"__proto__":{"step":1},"constructor":1}\n', lines({**HEADER, "versions": None}),
    lines({**HEADER, "optimizer": []}), lines({**HEADER, "addnorm": 1.5}), lines({**HEADER, "addnorm": True}),
    lines(HEADER, {**ROW, "skipped": None}), lines(HEADER, {**ROW, "skipped": True}), lines(HEADER, {**ROW, "update_to_weight": None}),
    *(lines(HEADER, {**ROW, "loss_sum_of": count}) for count in (4, 0, None, 2.5, "4", True)),
    lines(HEADER, {**ROW, "sample_cosine": None}),
    lines(HEADER, {**ROW, "sample_cosine": [0.5]}), lines(HEADER, {**ROW, "sample_cosine": [1e308, -1e308]}),
    lines(HEADER, {**ROW, "sample_cosine": {}}), lines(HEADER, {**ROW, "sample_cosine": [0.5, None]}),
    lines(HEADER, {**ROW, "sample_cosine": ["NaN", "Infinity"]}), lines(HEADER, {**ROW, "sample_cosine": [0.25, 0.97]}),
    *(lines({**HEADER, "bins": 2}, {**ROW, "histogram": shares}, END) for shares in (
      [0.5, 0.5, 1, 0], [0.5, None, "NaN", "Infinity"], [0.5] * 3, None, {}, [True] * 4, [[0.5] * 2] * 2)),
    lines({**HEADER, "bins": 2}, {**ROW, "histogram": [0.5] * 4, "update_to_weight": [0.1]}, {**ROW, "step": 1, "update_to_weight": [0.2]}),
    *(lines({**HEADER, "bins": bins}, {**ROW, "histogram": [0.5] * 2}) for bins in (0, 1.0, 1.5, 256, 257, -1, None, "2", True)),
    lines(HEADER, {**ROW, "histogram": [0.5]}), lines({**HEADER, "sites": [], "bins": 0}, {**ROW, "act_rms": [], "grad_rms": [], "histogram": []}),
    lines(HEADER, {**ROW, "act_rms": None}), lines({**HEADER, "sites": []}, {**ROW, "act_rms": [], "grad_rms": []}),
    *(lines(HEADER) + deep(kind, levels, closed) for kind in (b"[", b"{") for levels in (6, 7, 8, 50_000)
      for closed in (True, False)),
    *(lines(HEADER) + json.dumps({**ROW, key: 77777}).replace("77777", number).encode() + b"\n"
      for key in ("step", "loss", "seconds") for number in NUMBERS),
]  # fmt: skip


SAID: list[list[Any]] = [
    [HEADER, ROW, {"said": {"verdict": [[0, "At step {step}."]], "kind": [[0, "diverged"]], "like": [[0, "plain"]]}}],
    [HEADER, ROW, {"said": {"law": [[0, "a"]]}}, {**ROW, "step": 9}, {"said": {"law": [[9, "b"]], "lost": [[0, "c"]]}}],
    [HEADER, ROW, {"said": {"law": [[0, "a"]]}}, {**ROW, "step": 9}, {"said": {"law": [[4, "b"], [9, ""]]}}],
    [HEADER, ROW, {**ROW, "step": 9}, {"said": {"law": [[4, "b"], [4, "c"]]}}],
    [HEADER, ROW, {"said": {}, "step": 7}, {"said": {"__proto__": [[0, "a"]], "law": [[0.0, "{step}{step}"]]}}],
    [HEADER, ROW, {"said": {"law": [[0, "\U0001f600" * 5000]]}}],
    [HEADER, ROW, {"said": {"law": [[0, "\U0001f600" * 5001]]}}],
    [HEADER, ROW, {"said": {"k" * 1001: [[0, "a"]]}}],
    [HEADER, ROW, {"said": {"law": [[0, "a"]] * 20_001}}],
    [HEADER, ROW, {"said": {}}, {"said": None}],
    [HEADER, ROW, {"said": {"law": []}}],
    *(
        [HEADER, ROW, {"said": {"law": [change]}}]
        for change in (0, [], [0], [0, "a", 1], [-1, "a"], ["0", "a"], [0, None])
    ),
]


def test_both_readers_make_the_same_of_what_is_said() -> None:
    files = [lines(*entries, END) for entries in SAID]
    found = in_browser([[data] for data in files])
    assert found == [in_python(data) for data in files]
    assert [row["words"][1] for row in found[2]["rows"]] == ["a", ""]
    assert found[0]["rows"][0]["words"][0] == "At step 0."


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
    found = run("return cases.map((list) => names.commonPrefix([list]))", cases=cases)
    assert found == [common_prefix(names) for names in cases]
    assert found[-6:] == ["", "", "", "a.", "a.", "h."]


def test_a_file_that_was_dropped_does_not_grow_on_the_page() -> None:
    data = lines({**HEADER, "created": datetime.now(UTC).isoformat(timespec="seconds")}, ROW).decode()
    code = """
    return [null, "run.jsonl"].map((recording) => {
      const log = new runlog.RunLog({ link: "", recording })
      log.decoder.feed(new TextEncoder().encode(text))
      if (log.isLocal) log.decoder.finish()
      return [log.decoder.facts(STANDS).split(", ").at(-1), log.isOver]
    })
    """
    said = run(code, text=data, STANDS=STATUS)
    assert said == [["not ended when it was read", True], ["growing", False]]


def test_the_bounds_are_the_same() -> None:
    said = run("return lines.BOUNDS")
    assert said == {"line": recording.MAX_LINE_BYTES, "numbers": recording.MAX_NUMBERS}
