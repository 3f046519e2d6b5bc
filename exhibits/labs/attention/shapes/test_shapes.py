"""Shapes of many heads, and of attention between two sequences."""

from exhibits.labs.attention.shapes.numbers import Sizes, encoder_decoder_shapes, multi_head_shapes


def test_values_may_be_of_another_size_than_keys():
    shapes = dict(multi_head_shapes(Sizes(tokens=3, d_model=12, heads=4, d_v=5, others=2)))
    assert shapes["q and k of one head"] == (3, 3)
    assert shapes["v of one head"] == (3, 5)
    assert shapes["W_O"] == (20, 12)
    assert shapes["result, as X"] == (3, 12)


def test_cross_attention_asks_with_one_sequence_and_answers_with_the_other():
    found = encoder_decoder_shapes(Sizes(tokens=3, d_model=16, heads=2, d_v=6, others=5))
    cross = found["decoder, cross"]
    assert (cross["queries from"], cross["keys and values from"]) == ("decoder", "encoder")
    assert (cross["Q"], cross["K"], cross["V"]) == ((3, 8), (5, 8), (5, 6))
    assert (cross["weights"], cross["output"]) == ((3, 5), (3, 6))
    assert (found["encoder, self"]["weights"], found["decoder, self"]["weights"]) == ((5, 5), (3, 3))
    assert [name for name, rows in found.items() if rows["mask"] == "causal"] == ["decoder, self"]
    assert found["decoder, self"]["keys and values from"] == "decoder"
