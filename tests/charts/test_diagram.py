"""The block diagram is well formed, tells the truth about its plan, and escapes what it writes."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from components.charts.diagram import COMPACT, MIN_SCALE, NUMBERED, block_diagram, small_diagram
from components.player.panels import blocks_with_diagrams
from models.spec import ARRANGEMENTS, NORMS, PLACEMENTS, RunConfig, plan
from tests import hand
from tests.strategies import configs

NETS = ("mlp", "transformer")
N = "LayerNorm"


def _drawn(placement, *inner):
    """The words of a sublayer in their order, by the placement's equation in `tests/hand.py`; None in F is its norm's place."""

    def function(read, middle=lambda words: words):
        return [*read, *(word for part in inner for word in (middle([]) if part is None else [part]))]

    def norm(words):
        return [*words, N]

    places = SimpleNamespace(first=norm, mid=norm, out=norm, add=norm)
    return hand.PLACEMENTS[placement](
        [], function, places, lambda words: words, lambda words: [*words, "residual", "+"]
    )


MLP = ("W₁", None, "relu", "W₂")


@pytest.mark.parametrize(("arrangement", "net"), list(product(ARRANGEMENTS, NETS)))
def test_every_arrangement_is_a_well_formed_drawing_with_a_name_and_all_of_it_inside(arrangement, net):
    root = ElementTree.fromstring(block_diagram(RunConfig.arranged(arrangement, net=net, depth=8)))
    assert root.tag == "svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.findtext("title")
    _, _, width, height = map(float, root.get("viewBox").split())
    for box in root.iter("rect"):
        assert 0 <= float(box.get("x")) <= width - float(box.get("width"))
        assert 0 <= float(box.get("y")) <= height - float(box.get("height"))


@pytest.mark.parametrize(("arrangement", "net"), list(product(ARRANGEMENTS, NETS)))
def test_a_small_drawing_has_the_boxes_of_its_block_inside_of_it(arrangement, net):
    cfg = RunConfig.arranged(arrangement, net=net, depth=8)
    root = ElementTree.fromstring(small_diagram(cfg, 2))
    width = float(root.get("viewBox").split()[2])
    drawn = [box.get("class") for box in root.iter("rect")]
    if cfg.skip_repeats == 1:
        assert drawn.count("norm") == sum(norm != "none" for one in plan(cfg).block_sublayers(2) for norm in one.norms)
    assert all(float(box.get("x")) + float(box.get("width")) <= width for box in root.iter("rect"))
    assert width <= 330, "beside the stack its letters keep their size"
    assert ("single" in root.get("class").split()) == (len(plan(cfg).block_sublayers(2)) == 1)


def test_a_numbered_drawing_has_the_ways_through_and_past_its_branch_which_meet_at_the_sum():
    for residual, ways in ((True, ["way through", "way past"]), (False, ["way through"])):
        root = ElementTree.fromstring(small_diagram(RunConfig(residual=residual, depth=4), 2, NUMBERED))
        (plus,) = root.iter("circle")
        paths = [path for path in root.iter("path") if path.get("class") in ways]
        assert [path.get("class") for path in paths] == ways
        ends = [float(path.get("d").rsplit("H", 1)[1]) for path in paths]
        assert [end - float(path.get("data-tail")) for end, path in zip(ends, paths, strict=True)] == [
            float(plus.get("cx"))
        ] * len(ways)
        assert [text.get("class") for text in root.iter("text") if "number" in text.get("class")] == [
            "number enters",
            "number made",
            "number leaves",
        ]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_norms_stand_where_the_placement_has_them(placement):
    final = [f"final {N}"] * PLACEMENTS[placement].final_norm
    words = _words(RunConfig(placement=placement, depth=4))
    assert words == ["x", *_drawn(placement, *MLP), *final, "head", "block 4 of 4"]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_transformer_block_is_attention_then_feed_forward(placement):
    final = [f"final {N}"] * PLACEMENTS[placement].final_norm
    attention = _drawn(placement, "attention", None, *["W"] * PLACEMENTS[placement].norm_mid)
    words = _words(RunConfig(net="transformer", placement=placement, depth=4))
    assert words == ["x", *attention, *_drawn(placement, *MLP), *final, "head", "block 4 of 4"]


@pytest.mark.parametrize("norm", [norm for norm in NORMS if norm != "none"])
def test_every_norm_has_its_name_in_the_boxes(norm):
    assert _boxes(RunConfig(norm=norm), "norm") == 2
    assert NORMS[norm].short in _words(RunConfig(norm=norm))


@pytest.mark.parametrize(("arrangement", "net"), list(product(ARRANGEMENTS, NETS)))
def test_the_drawing_has_as_many_norms_as_the_plan(arrangement, net):
    cfg = RunConfig.arranged(arrangement, net=net, depth=8)
    arranged = plan(cfg)
    filled = 0
    for sublayer in arranged.sublayers[-(2 if net == "transformer" else 1) :]:
        slots = [sublayer.norm_in, sublayer.norm_mid, sublayer.norm_out, *[sublayer.norm_add] * sublayer.repeats]
        filled += sum(norm != "none" for norm in slots)
    collected = cfg.stack == "residual"
    assert _boxes(cfg, "norm") == filled + (arranged.final_norm != "none") + collected


@pytest.mark.parametrize("net", NETS)
def test_without_the_residual_there_is_no_skip_line_and_no_add(net):
    on, off = RunConfig(net=net), RunConfig(net=net, residual=False)
    sublayers = 2 if net == "transformer" else 1
    assert len(_classed(on, "line", "skip")) == len(_classed(on, "circle", "add")) == sublayers
    assert not _classed(off, "line", "skip")
    assert not _classed(off, "circle", "add")
    assert _words(off).count("no residual") == sublayers


@pytest.mark.parametrize(
    ("scale", "label"),
    [(1.0, "residual"), (2.0, "residual × 2"), ("deepnorm", "residual × 2.38"), ("depth", "residual × 32")],
)
def test_the_weight_of_the_skip_is_written_on_it(scale, label):
    assert label in _words(RunConfig(skip_scale=scale))


@pytest.mark.parametrize(
    ("scale", "label"),
    [(0.5, "× 0.5"), ("1/sqrt(2)", "× 0.707"), ("zero gate", "× zero gate"), ("layer scale", "× layer scale")],
)
def test_the_weight_or_gate_of_the_branch_is_its_last_box(scale, label):
    words = _words(RunConfig(branch_scale=scale, placement="sandwich"))
    assert words[words.index("residual") - 2 : words.index("residual")] == [N, label]


@pytest.mark.parametrize(("size", "label"), [(1, "depth attention"), (4, "depth attention of Σ 4")])
def test_attention_over_depth_says_what_it_sums(size, label):
    cfg = RunConfig.arranged("attention residuals", depth_block=size)
    assert label in _words(cfg)
    assert ("in blocks of 4" in block_diagram(cfg)) == (size == 4)


@pytest.mark.parametrize("net", NETS)
def test_a_block_that_is_taken_out_is_drawn_so(net):
    words = _words(RunConfig(net=net, depth=4, overrides=((4, "identity", True),)))
    out = ["taken out"] * (2 if net == "transformer" else 1)
    assert words == ["x", *out, f"final {N}", "head", "block 4 of 4; 3 other blocks are set differently"]


def test_what_is_written_is_escaped(monkeypatch):
    monkeypatch.setitem(NORMS, "layer norm", replace(NORMS["layer norm"], short='<script>"&'))
    drawing = block_diagram(RunConfig())
    assert "<script" not in drawing
    assert '<script>"&' in [text.text for text in ElementTree.fromstring(drawing).iter("text")]


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("net", ["mlp", "transformer"])
def test_a_whole_small_drawing_fits_a_phone(arrangement, net):
    drawing = small_diagram(RunConfig.arranged(arrangement, depth=8, net=net), 8, COMPACT)
    assert float(ElementTree.fromstring(drawing).get("viewBox").split()[2]) <= (390 - 2 * 16) / MIN_SCALE


def test_a_drawing_is_as_wide_as_each_row():
    cfg = RunConfig(stack="learned scalars", placement="sandwich", net="transformer", skip_scale=0.5, branch_scale=0.25)
    root = ElementTree.fromstring(small_diagram(cfg, cfg.depth, COMPACT))
    assert len(root.findall("g")) > len(plan(cfg).block_sublayers(cfg.depth))
    assert max(float(wire.get("x2")) for wire in root.iter("line")) <= float(root.get("viewBox").split()[2])


@pytest.mark.parametrize("arrangement", ["sandwich", "pre-norm", "plain", "DeepNorm", "mHC"])
def test_a_whole_small_drawing_has_the_end_of_the_net(arrangement):
    cfg = RunConfig.arranged(arrangement, depth=8)
    root = ElementTree.fromstring(small_diagram(cfg, 8, COMPACT))
    words = [text.text for text in root.iter("text")]
    ends = ["final norm", "head"] if plan(cfg).final_norm != "none" else ["head"]
    assert words[-len(ends) :] == ends
    assert words.count("norm") + words.count("final norm") == sum(word.endswith(N) for word in _words(cfg))


def _words(cfg: RunConfig) -> list[str]:
    """The texts of a drawing in the order of writing."""
    return [text.text or "" for text in ElementTree.fromstring(block_diagram(cfg)).iter("text")]


def _classed(cfg: RunConfig, tag: str, kind: str) -> list[ElementTree.Element]:
    return [part for part in ElementTree.fromstring(block_diagram(cfg)).iter(tag) if part.get("class") == kind]


def _boxes(cfg: RunConfig, kind: str) -> int:
    return len(_classed(cfg, "rect", kind))


@settings(max_examples=60)
@given(configs())
def test_a_stack_has_the_diagram_of_every_block_and_each_diagram_once(cfg):
    stack = blocks_with_diagrams(cfg)
    drawn = [small_diagram(cfg, block) for block in range(1, cfg.depth + 1)]
    assert [stack["diagrams"][block["diagram"]] for block in stack["blocks"]] == drawn
    assert sorted(stack["diagrams"]) == sorted(set(drawn))
