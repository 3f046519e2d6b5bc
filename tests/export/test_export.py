"""What leaves the page: configuration, table and words; and what comes back in by paste."""

import base64
import csv
import gzip
import io
import json
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addnorm.player import player_html
from models.export import about_html, configuration_from, configuration_json, digest_of, findings, trace_csv
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.trace import Columns, Divergence, Trace, trace_of
from models.training import Run

TRANSFORMER = RunConfig.arranged(
    "sandwich", net="transformer", depth=2, width=8, heads=2, batch=4, steps=3, device="cpu"
)


def trained(cfg: RunConfig) -> Trace:
    run = Run(cfg)
    run.advance(cfg.steps)
    return run.trace()


# --- configuration ---


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_a_configuration_survives_export_and_import(arrangement: str) -> None:
    cfg = RunConfig.arranged(arrangement, depth=9, lr=0.3, seed=12, affine=False, branch_scale="1/sqrt(2)")
    assert configuration_from(configuration_json(cfg)) == (cfg, [])


@pytest.mark.parametrize("opening", ["https://example.org/compare/?", "?", "", "http://localhost:8501/?"])
def test_a_link_is_a_configuration_too(opening: str) -> None:
    cfg = RunConfig.arranged("Mix-LN", depth=7, net="transformer")
    link = opening + urlencode(cfg.to_query() | {"digest": "1.2.3.AA"}) + "#top"
    assert configuration_from(f"  {link}\n") == (cfg, [])


def test_a_link_without_a_query_is_the_default_run() -> None:
    assert configuration_from("https://example.org/play") == (RunConfig(), [])


def test_what_a_link_or_a_file_has_too_much_or_too_little_is_said() -> None:
    assert configuration_from("?depth=999&speed=3")[1] == [
        "Depth 999 is out of range (1 to 128): 128 instead",
        "there is no setting speed: ignored",
    ]
    content = json.loads(configuration_json(RunConfig(depth=5)))
    del content["configuration"]["width"]
    content["configuration"]["<b>colour"] = 3
    cfg, notes = configuration_from(json.dumps(content))
    assert cfg == RunConfig(depth=5)
    assert notes == ["there is no setting bcolour: ignored", "width is not given: 64"]


def altered(**fields: object) -> str:
    content = json.loads(configuration_json(RunConfig()))
    return json.dumps(content | {"configuration": content["configuration"] | fields})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "This is not valid JSON: Expecting property name enclosed in double quotes, line 1, column 2."),
        ("[" * 50_000, "This JSON holds a number or a nesting that no configuration has."),
        (
            '{"configuration": {"depth": ' + "9" * 5000 + "}}",
            "This JSON holds a number or a nesting that no configuration has.",
        ),
        ("[1]", "This JSON is not an exported configuration: it has no field configuration."),
        (
            '{"format": 1, "configuration": 3}',
            "This JSON is not an exported configuration: it has no field configuration.",
        ),
        ('{"format": 2, "configuration": {}}', "This configuration has format 2; this version reads format 1."),
        ('{"configuration": {}}', "This configuration has format None; this version reads format 1."),
        ('{"format": true, "configuration": {}}', "This configuration has format True; this version reads format 1."),
        ("x" * 100_001, "This is 100001 characters long; a configuration has at most 100000."),
        ("hello", "This is neither an exported configuration (JSON) nor a link."),
        ("", "This is neither an exported configuration (JSON) nor a link."),
        (altered(depth=0), "This configuration cannot be run: Depth 0 is out of range (1 to 128)"),
    ],
)
def test_what_is_no_configuration_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(sentence) + "$"):
        configuration_from(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def refusal(text: str) -> str:
    """Why a text is refused; empty where it is a configuration."""
    try:
        cfg, _ = configuration_from(text)
    except ValueError as error:
        return str(error)
    assert isinstance(cfg, RunConfig)
    return ""


@given(st.sampled_from(list(knobs())), json_values)
def test_no_value_of_a_field_breaks_the_import(field: str, value: object) -> None:
    assert re.fullmatch(r"(This (configuration|JSON) .{1,250})?", refusal(altered(**{field: value})))


@given(st.text(max_size=60))
def test_no_text_breaks_the_import(text: str) -> None:
    for opening in ("", "{", "https://[", "?a="):
        assert re.match(r"This|$", refusal(opening + text))


# --- table ---


@pytest.mark.parametrize(
    "cfg",
    [RunConfig(depth=3, width=8, batch=4, steps=4, clip=0.01, device="cpu"), TRANSFORMER],
    ids=["mlp", "transformer"],
)
def test_the_table_holds_every_number_to_the_last_bit(cfg: RunConfig) -> None:
    trace = trained(cfg)
    rows = list(csv.DictReader(io.StringIO(trace_csv(trace))))
    assert len(rows) == cfg.steps * len(trace.sites)
    assert tuple(row["site"] for row in rows[: len(trace.sites)]) == trace.sites

    def column(name: str) -> np.ndarray:
        return np.float32([row[name] or "nan" for row in rows]).reshape(cfg.steps, -1)

    np.testing.assert_array_equal(column("act_rms"), trace.act_rms)
    np.testing.assert_array_equal(column("grad_rms"), trace.grad_rms)
    np.testing.assert_array_equal(column("branch_rms")[:, 1:], trace.branch_rms)
    assert np.isnan(column("branch_rms")[:, 0]).all()
    per_block = cfg.sublayers // cfg.depth
    np.testing.assert_array_equal(column("weight_grad_rms")[:, per_block::per_block], trace.weight_grad_rms)
    assert np.isfinite(column("weight_grad_rms")).sum() == cfg.steps * cfg.depth
    for name in ("loss", "lr", "grad_norm", "clip_factor"):
        np.testing.assert_array_equal(column(name), np.repeat(getattr(trace, name)[:, None], len(trace.sites), axis=1))
    assert [int(row["step"]) for row in rows[:: len(trace.sites)]] == list(range(cfg.steps))


def test_the_row_after_the_last_update_has_no_rate_and_no_update() -> None:
    cfg = RunConfig(depth=3, width=8, batch=4, steps=4, device="cpu")
    run = Run(cfg)
    run.advance(cfg.steps)
    run.close()
    rows = list(csv.DictReader(io.StringIO(trace_csv(run.trace()))))
    last = [row for row in rows if row["step"] == "4"]
    assert len(last) == 4
    assert all(row["loss"] and row["grad_norm"] and row["held_out_loss"] for row in last)
    assert {(row["lr"], row["update_to_weight"]) for row in last} == {("", "")}
    assert {row["lr"] for row in rows if row["step"] != "4"} == {str(np.float32(cfg.lr))}


@pytest.mark.parametrize("cfg", [RunConfig(depth=3, width=8, batch=4, steps=7, device="cpu"), TRANSFORMER])
def test_the_table_holds_the_frames_at_their_steps_and_is_empty_there_at_all_others(cfg: RunConfig) -> None:
    trace = trained(cfg)
    rows = list(csv.DictReader(io.StringIO(trace_csv(trace))))
    frames = {frame.step: frame for frame in trace.frames}
    assert {0, 1, 2} <= set(frames)
    ends = cfg.sublayers // cfg.depth
    for step in range(cfg.steps):
        own = [row for row in rows if row["step"] == str(step)]
        names = ("sample_cosine", "update_to_weight", "dead_units", "held_out_loss", "held_out_accuracy")
        if step not in frames:
            assert {row[name] for row in own for name in names} == {""}
            continue
        found = {name: np.float32([row[name] or "nan" for row in own]) for name in names}
        frame = frames[step]
        np.testing.assert_array_equal(found["sample_cosine"], frame.sample_cosine)
        np.testing.assert_array_equal(found["held_out_loss"], np.float32(frame.held_out_loss))
        np.testing.assert_array_equal(found["held_out_accuracy"], np.float32(frame.held_out_accuracy))
        for name in ("update_to_weight", "dead_units"):
            np.testing.assert_array_equal(found[name][ends::ends], getattr(frame, name))
            assert np.isfinite(found[name]).sum() <= cfg.depth


@given(st.floats(width=32))
def test_any_float32_survives_the_table(number: float) -> None:
    columns = Columns(("x0", "b01"), ("b01",), 1)
    text = trace_csv(trace_of(columns, np.full((1, columns.width), number, np.float32)))
    cell = next(csv.DictReader(io.StringIO(text)))["act_rms"]
    np.testing.assert_array_equal(np.float32(cell), np.float32(number))


def test_an_empty_trace_is_a_table_with_a_header() -> None:
    columns = Columns(("x0", "b01"), ("b01",), 1)
    assert trace_csv(trace_of(columns, np.zeros((0, columns.width), np.float32))).count("\n") == 1


# --- what a file says of a run ---


def test_a_file_says_what_was_found_and_how_it_was_made() -> None:
    trace = trained(TRANSFORMER)
    page = about_html(TRANSFORMER, trace, {"torch": "2.13.0+cpu"})
    for sentence in findings(TRANSFORMER, trace):
        assert sentence.replace("'", "&#x27;") in page
    assert "x = x + norm_out2(W2(relu(W1(norm_in2(x)))))" in page
    assert "<tr><td>torch</td><td>2.13.0+cpu</td></tr>" in page
    assert f"<tr><td>seed</td><td>{TRANSFORMER.seed}</td></tr>" in page
    assert digest_of(trace, "2.13.0+cpu") in page
    assert '<tr class="changed"><td>Width</td><td>width</td><td>8</td></tr>' in page
    assert "<tr><td>Seed</td><td>seed</td><td>0</td></tr>" in page


def test_no_word_of_a_file_is_taken_for_markup() -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    assert hostile not in about_html(TRANSFORMER, trained(TRANSFORMER), {hostile: hostile})
    page = player_html(hostile, [{"name": hostile}], [json.dumps({"said": hostile}), hostile.encode()])
    assert hostile not in page
    assert "<img" not in page[page.index("<body>") :]
    (parts,) = re.findall(r'<script type="application/json">(.*?)</script>', page, flags=re.DOTALL)
    messages, _plotly = re.findall(r'<script type="application/gzip">([A-Za-z0-9+/=]*)</script>', page)
    assert json.loads(parts) == [{"name": hostile}]
    assert json.loads(gzip.decompress(base64.b64decode(messages))) == [
        {"said": hostile},
        base64.b64encode(hostile.encode()).decode(),
    ]


def test_a_file_asks_for_nothing_outside_it() -> None:
    page = player_html("A run", [], [])
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", page)
    assert "default-src 'none'" in page
    assert not re.search(r"^(?:import|export (?!{))", page, re.MULTILINE)


def test_a_file_of_a_diverged_run_says_where_it_ended() -> None:
    columns = Columns(("x0", "b01"), ("b01",), 1)
    rows = np.full((2, columns.width), np.nan, np.float32)
    trace = trace_of(columns, rows, divergence=Divergence(1, "activation", "b01", 1))
    cfg = RunConfig(depth=1)
    assert findings(cfg, trace)[0] == "Diverged at step 1: the numbers overflow first in the activation of block 1."
    assert findings(cfg, trace)[0] in about_html(cfg, trace, {})
    assert "<td>1 of 300</td>" in about_html(cfg, trace, {})


def test_the_findings_read_the_frame_of_their_row() -> None:
    cfg = RunConfig(depth=3, width=16, batch=16, steps=20, device="cpu")
    run = Run(cfg)
    run.advance(6)
    part = run.trace()
    run.advance(14)
    run.close()
    whole = run.trace()
    assert [frame.step for frame in part.frames] == [0, 1, 2, 4]
    assert f"held-out accuracy {part.frames[-1].held_out_accuracy:.0%} at step 4;" in findings(cfg, part)[0]
    assert f"held-out accuracy {whole.frames[-1].held_out_accuracy:.0%};" in findings(cfg, whole)[0]
    assert whole.frames[-1].step == 20
    assert whole.frames[-1].held_out_accuracy > part.frames[-1].held_out_accuracy > whole.frames[0].held_out_accuracy
