"""The block diagram is well formed, tells the truth about its plan, and escapes what it writes."""

import re
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from components.charts.diagram import NUMBERED, READABLE, WHOLE, block_diagram, small_diagram
from models.spec import ARRANGEMENTS, NORMS, PLACEMENTS, RunConfig, plan
from models.spec.vocabulary import ACTIVATIONS
from tests import hand

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
def test_every_arrangement_is_a_well_formed_drawing_with_a_name(arrangement, net):
    root = ElementTree.fromstring(block_diagram(RunConfig.arranged(arrangement, net=net, depth=8)))
    assert root.tag == "svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.findtext("title")


@pytest.mark.parametrize(("arrangement", "net"), list(product(ARRANGEMENTS, NETS)))
def test_everything_drawn_lies_inside_the_drawing(arrangement, net):
    root = ElementTree.fromstring(block_diagram(RunConfig.arranged(arrangement, net=net, depth=8)))
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
        assert drawn.count("norm") == sum(norm != "none" for one in plan(cfg).of_block(2) for norm in one.norms)
    assert all(float(box.get("x")) + float(box.get("width")) <= width for box in root.iter("rect"))
    assert width <= 330, "beside the stack its letters keep their size"
    assert ("single" in root.get("class").split()) == (len(plan(cfg).of_block(2)) == 1)


@pytest.mark.parametrize("placement", [name for name in PLACEMENTS if name != "none"])
def test_what_a_small_drawing_lacks_is_faint_where_it_would_stand(placement):
    whole, bare = (
        ElementTree.fromstring(small_diagram(RunConfig(placement=placement, depth=4, **fields), 2))
        for fields in ({}, {"norm": "none", "residual": False})
    )
    kinds = [part.get("class") for part in whole.iter()]
    assert {"skip", "norm"} <= set(kinds)
    assert not [kind for kind in kinds if kind and "lacks" in kind]
    faint = [(kind or "").removesuffix(" lacks") for kind in (part.get("class") for part in bare.iter())]
    drawn = {"norm", "skip", "add"}
    assert [kind for kind in faint if kind in drawn] == [kind for kind in kinds if kind in drawn]
    assert {part.get("class") for part in bare.iter()} & drawn == set()


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


def test_a_skip_weight_of_zero_is_no_skip():
    assert not _classed(RunConfig(skip_scale=0.0), "line", "skip")


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


def test_a_branch_of_weight_one_has_no_box_for_it():
    assert not [word for word in _words(RunConfig()) if "×" in word]


def test_the_input_factor_stands_between_norm_and_branch():
    words = _words(RunConfig(input_scale="1/sqrt(block)", depth=25))
    assert words[1:4] == [N, "× 0.2", "W₁"]


def test_a_branch_of_one_layer_ends_with_its_activation():
    words = _words(RunConfig(layers_per_branch=1, placement="mid-norm"))
    assert words[1:4] == ["W", N, "relu"]


def test_queries_and_keys_are_said_to_be_normed():
    assert "attention, QK-norm" in _words(RunConfig(net="transformer", qk_norm=True))
    assert "attention" in _words(RunConfig(net="transformer"))


def test_dlcl_sums_before_the_block_and_before_the_head():
    words = _words(RunConfig.arranged("DLCL", depth=4))
    assert [at for at, word in enumerate(words) if word.startswith("Σ W")] == [1, words.index("+") + 1]


def test_residual_joins_its_second_stream_at_the_end():
    words = _words(RunConfig.arranged("ResiDual", depth=4))
    assert words[-3:-1] == [f"+ {N}(x₀ + all branches)", "head"]


@pytest.mark.parametrize(("scale", "again"), [(1.0, "+ x"), (2.0, "+ 2 x")])
def test_a_recursive_skip_adds_and_norms_once_more(scale, again):
    words = _words(RunConfig.arranged("recursive skip", depth=4, skip_scale=scale))
    assert words[words.index("+") + 1 : words.index("head")] == [N, again, N]


def test_a_recursive_skip_without_a_skip_only_norms_once_more():
    words = _words(RunConfig.arranged("recursive skip", depth=4, residual=False))
    assert words[words.index("no residual") + 1 : words.index("head")] == [N, N]


@pytest.mark.parametrize("net", NETS)
def test_a_block_that_is_taken_out_is_drawn_so(net):
    words = _words(RunConfig(net=net, depth=4, overrides=((4, "identity", True),)))
    out = ["taken out"] * (2 if net == "transformer" else 1)
    assert words == ["x", *out, f"final {N}", "head", "block 4 of 4; 3 other blocks are set differently"]


def test_other_blocks_that_are_set_differently_are_counted():
    assert _words(RunConfig.arranged("Mix-LN", depth=32))[-1] == "block 32 of 32; 8 other blocks are set differently"
    assert (
        _words(RunConfig(depth=3, overrides=((1, "norm", "none"),)))[-1]
        == "block 3 of 3; 1 other block is set differently"
    )


def test_another_block_than_the_last_leads_to_the_next_one():
    words = [text.text for text in ElementTree.fromstring(block_diagram(RunConfig(depth=4), 2)).iter("text")]
    assert words[-2:] == ["block 3", "block 2 of 4"]
    assert "head" not in words


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_activation_is_named(activation):
    assert activation in _words(RunConfig(activation=activation))


def test_what_is_written_is_escaped(monkeypatch):
    monkeypatch.setitem(NORMS, "layer norm", replace(NORMS["layer norm"], short='<script>"&'))
    drawing = block_diagram(RunConfig())
    assert "<script" not in drawing
    assert '<script>"&' in [text.text for text in ElementTree.fromstring(drawing).iter("text")]


def test_a_phone_scrolls_the_drawing_instead_of_shrinking_its_text():
    root = ElementTree.fromstring(block_diagram(RunConfig.arranged("sandwich", net="transformer")))
    least = float(re.search(r"min-width:(\d+)px", root.get("style")).group(1))
    assert least >= READABLE * float(root.get("width")) - 1
    assert least > 390


@pytest.mark.parametrize("arrangement", ["sandwich", "pre-norm", "plain", "DeepNorm"])
def test_a_whole_small_drawing_has_the_end_of_the_net_and_fits_a_phone(arrangement):
    cfg = RunConfig.arranged(arrangement, depth=8)
    root = ElementTree.fromstring(small_diagram(cfg, 8, WHOLE))
    words = [text.text for text in root.iter("text")]
    ends = ["final norm", "head"] if plan(cfg).final_norm != "none" else ["head"]
    assert words[-len(ends) :] == ends
    assert words.count("norm") + words.count("final norm") == sum(word.endswith(N) for word in _words(cfg))
    assert float(root.get("viewBox").split()[2]) <= (390 - 2 * 16) / READABLE


def test_the_caption_below_a_short_diagram_has_its_room():
    cfg = RunConfig(depth=32, overrides=((16, "identity", True),))
    svg = block_diagram(cfg, 16)
    (caption,) = re.findall(r'class="caption"[^>]*>([^<]*)<', svg)
    assert float(re.search(r'viewBox="0 0 (\d+)', svg)[1]) >= 6 + 6.3 * len(caption)  # pixels of a letter in type of 13


def _words(cfg: RunConfig) -> list[str]:
    """The texts of a drawing in the order of writing."""
    return [text.text or "" for text in ElementTree.fromstring(block_diagram(cfg)).iter("text")]


def _classed(cfg: RunConfig, tag: str, kind: str) -> list[ElementTree.Element]:
    return [part for part in ElementTree.fromstring(block_diagram(cfg)).iter(tag) if part.get("class") == kind]


def _boxes(cfg: RunConfig, kind: str) -> int:
    return len(_classed(cfg, "rect", kind))
