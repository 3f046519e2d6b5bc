"""The anatomy page: three views of one plan, and a block that is changed alone."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from addnorm.player.declare import COLUMNS
from components.anatomy.stack_row import _block
from models.service.client import key_of
from models.spec.code import block_code
from models.spec.equation import equation
from models.spec.overrides import set_override
from tests.app_page import SMALL, address, by_link, charts, configuration, line, sound, unfolded, words
from tests.player_page import declared, panels

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


def anatomy(**query: str) -> AppTest:
    return by_link("anatomy.py", **(SMALL | query))


def test_moving_the_norm_moves_it_in_equation_code_and_diagram() -> None:
    page = unfolded(anatomy())
    page.selectbox(key="placement").select("post-norm")
    sound(page.run())
    cfg = configuration(page)
    assert cfg.placement == "post-norm"
    assert page.latex[0].value.strip("$\n ") == equation(cfg, 2)
    assert page.code[0].value.endswith(block_code(cfg, 2))
    assert r"\operatorname{LN}(x + F(x))" in page.latex[0].value


def drawn(page: AppTest) -> str:
    """The diagram's SVG."""
    (svg,) = (data["svg"] for one in page.get("bidi_component") if "svg" in (data := json.loads(one.proto.json)))
    return str(svg)


def test_mix_ln_is_named_and_each_of_its_blocks_is_shown_as_it_is() -> None:
    page = anatomy(arrangement="Mix-LN", depth="8")
    assert "**Mix-LN**" in words(page)
    assert "2412.13795" in words(page)
    for block, placement, code in (
        (2, "post-norm", "x = norm(x + W2("),
        (3, "pre-norm", "x = x + W2(relu(W1(norm(x))))"),
    ):
        page.number_input(key="anatomy_block").set_value(block)
        sound(page.run())
        assert f"block {block} of 8; {8 - (2 if block == 2 else 6)} other blocks are set differently" in drawn(page)
        assert f"Block diagram: mlp, {placement}, layer norm" in drawn(page)
        assert code in page.code[0].value
        assert page.latex[0].value.strip("$\n ") == equation(configuration(page), block)


def test_the_three_views_lose_what_the_chosen_block_loses_and_the_history_says_so() -> None:
    page = anatomy()
    page.number_input(key="anatomy_block").set_value(2)
    sound(page.run())
    assert "norm(" in page.code[0].value
    page.toggle(key="anatomy_norm").set_value(False)
    sound(page.run())
    assert "norm(" not in page.code[0].value
    assert "LN" not in page.latex[0].value.split("F(z)")[0]
    assert ">LayerNorm<" not in drawn(page)
    assert "**pre-norm**, except block 2: no norm. Every other block: The branch reads" in words(page)
    page.toggle(key="anatomy_identity").set_value(True)
    sound(page.run())
    assert page.code[0].value == "x = x  # taken out"
    assert "F(z)" not in page.latex[0].value
    assert ">taken out<" in drawn(page)
    assert page.toggle(key="anatomy_norm").disabled
    assert page.toggle(key="anatomy_residual").disabled, "a block that is not there has neither"
    page.toggle(key="anatomy_identity").set_value(False)
    sound(page.run())
    assert not page.toggle(key="anatomy_norm").disabled


def test_a_blocks_missing_skip_keeps_the_previous_profile() -> None:
    page = anatomy()
    whole = line(page, "Signal by depth")
    page.number_input(key="anatomy_block").set_value(2)
    sound(page.run())
    page.toggle(key="anatomy_residual").set_value(False)
    sound(page.run())
    assert page.session_state["overrides"] == ((2, "residual", False),)
    assert address(page)["overrides"] in ("2.residual.false", ["2.residual.false"])
    broken = line(page, "Signal by depth")
    assert broken is not None
    assert whole is not None
    assert broken[:2] == whole[:2], "nothing changes before the block"
    assert broken[2] != whole[2]
    assert line(page, "Signal by depth", "previous") == whole


def test_ten_samples_travel_through_the_changed_net_with_its_loss_beside_them() -> None:
    page = anatomy(overrides="2.residual.false")
    (paths,) = panels(page, "paths").values()
    assert list(charts(page)) == ["Loss", "Signal by depth", "Gradient by depth"]
    (run,) = declared(page)["runs"]
    assert run["link"] == key_of(configuration(page))
    assert paths["span"] + panels(page, "chart")["Loss"]["span"] == COLUMNS


def test_a_block_is_taken_out_and_all_blocks_are_put_back() -> None:
    page = anatomy()
    page.number_input(key="anatomy_block").set_value(3)
    sound(page.run())
    page.toggle(key="anatomy_identity").set_value(True)
    sound(page.run())
    out = line(page, "Signal by depth")
    assert out is not None
    assert out[3] == out[2], "an identity hands the stream on"
    switches = [page.toggle(key=f"anatomy_{name}") for name in ("residual", "norm")]
    assert [switch.disabled for switch in switches] == [True, True], "nothing of it is left to switch"
    page.button(key="anatomy_back").click()
    sound(page.run())
    assert not page.toggle(key="anatomy_residual").disabled
    assert page.session_state["overrides"] == ()


def test_attention_and_feed_forward_net_of_a_block_are_taken_out_one_by_one() -> None:
    page = anatomy(net="transformer", heads="2")
    page.number_input(key="anatomy_block").set_value(3)
    sound(page.run())
    whole = line(page, "Signal by depth")
    page.segmented_control(key="anatomy_taken_out").set_value("feed-forward net")
    sound(page.run())
    assert page.session_state["overrides"] == ((3, "identity", "ffn"),)
    out = line(page, "Signal by depth")
    assert whole is not None
    assert out is not None
    assert out[:6] == whole[:6]
    assert out[6] == out[5], "after attention the block adds nothing"
    assert r"F_\text{ffn}" not in page.latex[0].value
    assert _block(configuration(page), 3)["says"] == "Block 3: residual, norm, attention only"
    page.segmented_control(key="anatomy_taken_out").set_value("nothing")
    sound(page.run())
    assert page.session_state["overrides"] == ()


def test_an_exception_is_set_replaced_and_taken_back() -> None:
    once = set_override((), 3, "norm", "none")
    assert set_override(once, 3, "norm", "rms norm") == ((3, "norm", "rms norm"),)
    assert set_override(once, 3, "norm", None) == ()


def test_an_exception_for_a_block_that_does_not_exist_is_ignored_and_said() -> None:
    page = anatomy(overrides="9.norm.none")
    assert page.session_state["overrides"] == ()
    assert "overrides ignored" in words(page)


def test_a_block_gets_an_activation_of_its_own_and_dropout_stands_in_all_three_views() -> None:
    page = anatomy(branch_dropout="0.25", stream_dropout="0.125")
    page.selectbox(key="anatomy_activation").select("tanh")
    sound(page.run())
    assert page.session_state["overrides"] == ((2, "activation", "tanh"),)
    assert "**pre-norm**, except block 2: tanh." in words(page)
    assert "x = drop_stream(x + drop_branch(W2(tanh(W1(norm(x))))))" in page.code[0].value
    assert "drop_branch = nn.Dropout(0.25)" in page.code[0].value
    assert r"\operatorname{tanh}(W_1 z)" in page.latex[0].value
    assert r"\operatorname{D}_{0.125}(x + \operatorname{D}_{0.25}(F(\operatorname{LN}(x))))" in page.latex[0].value
    for label in (">tanh<", ">dropout 0.25<", ">dropout 0.125<"):
        assert label in drawn(page)
    page.selectbox(key="anatomy_activation").select("relu")
    sound(page.run())
    assert page.session_state["overrides"] == ()
