"""Several heads: what one that is off takes from the stream."""

import numpy as np

from components.shell.text import vector
from exhibits.labs.attention.heads.numbers import head_contributions
from exhibits.labs.attention.heads.page import first_w_o, writes_sentence
from models.labs.attention import heads
from models.labs.attention_examples import PROJECTIONS
from tests.app_page import charts, sound, words
from tests.labs_page import lab


def test_a_head_that_is_switched_off_takes_its_write_from_the_stream(trainer_in_this_process):
    page = lab("attention")
    page.segmented_control(key="attention_head_closer").set_value("Multi-head attention")
    sound(page.run())
    example = PROJECTIONS["A sentence"]
    parts = heads(example.x, example.w_q, example.w_k, example.w_v, 2)
    written = head_contributions(parts, first_w_o(4, 4))[:, 4]
    assert writes_sentence(written, (), 4) in words(page)
    page.multiselect(key="attention_heads_off").set_value([1])
    sound(page.run())
    joined = np.concatenate([parts[0].output, 0 * parts[1].output], axis=1) @ first_w_o(4, 4)
    assert f"and {vector(joined[4])} is left" in words(page)
    assert [trace["name"] for trace in charts(page)["Written into the stream"]["data"]] == [
        "head 1",
        "all heads together",
    ]
    page.text_area(key="attention_heads_wo_paste").set_value("1 2\n3 4")
    page.button(key="attention_heads_wo_use").click()
    sound(page.run())
    assert "W_O needs 4 rows" in words(page)
    assert {"Head 1", "Head 2, off"} <= {*charts(page)}
    assert not charts(page)["Head 2, off"]["data"]
    page.text_area(key="attention_head_w_v_paste").set_value("\n".join(["1 2 3"] * 4))
    page.button(key="attention_head_w_v_use").click()
    sound(page.run())
    assert "a value 3: they cannot be divided" in words(page)
