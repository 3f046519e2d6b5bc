"""The map of a transformer: its norms are those of torch's layers and of the app's own net, and every box leads somewhere."""

import re
from xml.etree import ElementTree

import pytest
from torch import nn

from components.labs.entrance import BOXES, DECODER_ALONE, FALLBACK_BOXES, parts_on_map, transformer_svg
from models.labs.transformer_map import stacks
from models.nets.build import build_model
from models.spec import RunConfig
from tests.app_page import address, by_link, sound, words

ARRANGEMENTS = ("post-norm", "pre-norm")


def norms(module: nn.Module) -> int:
    return sum("Norm" in type(part).__name__ for part in module.modules())


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_encoder_and_decoder_have_the_norms_of_torchs_layers(arrangement):
    first = arrangement == "pre-norm"
    layers = [kind(8, 2, 16, norm_first=first) for kind in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)]
    drawn = stacks(arrangement, decoder_only=False)
    assert [stack.norms for stack in drawn] == [norms(layer) for layer in layers] == [2, 3]
    assert [stack.final_norm for stack in drawn] == [first, first]
    assert all(sublayer.norm_in == first != sublayer.norm_add for stack in drawn for sublayer in stack.sublayers)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_a_decoder_alone_has_the_norms_of_the_net_that_is_trained_here(arrangement):
    (stack,) = stacks(arrangement, decoder_only=True)
    for depth in (1, 3):
        net = build_model(
            RunConfig.arranged(arrangement, net="transformer", task="copy", depth=depth, width=8, heads=2)
        )
        assert norms(net) == depth * stack.norms + stack.final_norm


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("decoder_only", [False, True])
def test_the_picture_has_a_button_for_each_part_and_every_part_leads_to_a_lab(arrangement, decoder_only):
    drawn = stacks(arrangement, decoder_only=decoder_only)
    svg, boxes = transformer_svg(drawn)
    buttons = [
        group.get("data-box") for group in ElementTree.fromstring(svg).iter("g") if group.get("role") == "button"
    ]
    assert {*buttons} == {*boxes} <= {*BOXES}
    assert all(map(parts_on_map, boxes))
    norm = "norm" if arrangement == "pre-norm" else "add & norm"
    assert buttons.count(norm) == sum(stack.norms for stack in drawn)
    assert buttons.count("residual") == sum(len(stack.sublayers) for stack in drawn)
    assert buttons.count("final norm") == sum(stack.final_norm for stack in drawn)
    assert ("cross-attention" in boxes) is not decoder_only
    assert {FALLBACK_BOXES[name] for name in {*BOXES} - {*boxes}} <= {*boxes} | {"add & norm", "norm"}


@pytest.mark.usefixtures("trainer_in_this_process")
def test_the_page_names_a_part_and_its_lab_and_a_link_opens_at_a_part():
    page = by_link("labs.py")
    assert "5 sublayers, 5 norms." in words(page)
    page.segmented_control(key="labs_norm").set_value("pre-norm")
    sound(page.run())
    assert "5 sublayers, 5 norms, and 2 final norms." in words(page)
    assert "the stream beside it stays as it is" in words(page)
    page.segmented_control(key="labs_net").set_value(DECODER_ALONE)
    sound(page.run())
    assert "2 sublayers, 2 norms, and 1 final norm." in words(page)
    assert address(page) == {"net": "decoder-alone-gpt", "norm": "pre-norm"}
    linked = by_link("labs.py", box="cross-attention")
    assert "Queries come from the decoder" in words(linked)
    assert "There is no part with that name" not in words(linked)
    assert re.search("no box with that name", words(by_link("labs.py", box="engine")))
