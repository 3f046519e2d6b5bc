"""The table that a visitor edits: what is wrong with it gets a sentence, and the last good one stays."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.controls.number_table import MAX_CELLS, parse_table, validated


@pytest.mark.parametrize(
    "text", ["1 2 -1\n3,1,0.5", "1;2;-1\n\n3\t1\t0.5\n", "[[1, 2, -1], [3, 1, 0.5]]", "1.0, 2e0, -1,\n3, 1, .5,"]
)
def test_a_table_is_read_however_its_cells_are_parted(text):
    np.testing.assert_array_equal(parse_table(text), [[1, 2, -1], [3, 1, 0.5]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no number"),
        ("  \n,,\n", "no number"),
        ("1 two 3", "'two' is not a number"),
        ("1 nan", "nan is not a finite number"),
        ("1 inf", "inf is not a finite number"),
        ("1 1e999", "not a finite number"),
        ("1 2 3\n4 5", "here they have 2 to 3 cells"),
        ("1\n2", "at least two features"),
        ("1 2e10", "Numbers up to 1,000,000,000"),
        ("1 2\n" * 5000, "10,000 cells; at most 400"),
        ("<script>alert(1)</script> 2", "is not a number"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_table(text)


def test_the_largest_table_is_taken():
    assert parse_table("\n".join(["1 2"] * (MAX_CELLS // 2))).shape == (MAX_CELLS // 2, 2)


def test_an_emptied_cell_is_named_by_its_place():
    with pytest.raises(ValueError, match="Row 2, column 1"):
        validated(np.array([[1.0, 2.0], [np.nan, 1.0]]))


def script():
    import numpy as np
    import streamlit as st

    from components.controls.number_table import draw_table

    found = draw_table("t", np.array([[1.0, 2.0], [3.0, 4.0]]), name="t", rows=["x", "y"], columns=["a", "b"])
    st.markdown(f"sum {found.sum():g}")


def edited(page, cells):
    """The page after cells were edited: {row: {column: value}}."""
    page.session_state["t_cells_0"] = {"edited_rows": cells, "added_rows": [], "deleted_rows": []}
    return page.run()


def test_a_cell_is_edited_and_an_emptied_one_leaves_the_last_good_table():
    page = edited(AppTest.from_function(script).run(), {0: {"a": 10.0}})
    assert page.markdown[0].value == "sum 19"
    page = edited(page, {0: {"a": None}})
    assert "Row 1, column 1 is not a finite number." in page.error[0].value
    assert page.markdown[0].value == "sum 19"


def test_a_pasted_table_of_equal_size_keeps_names():
    page = AppTest.from_function(script).run()
    for text, names in (("5 6\n7 8", ["x", "y"]), ("1 2\n3 4\n5 6", ["token 1", "token 2", "token 3"])):
        page.text_area(key="t_paste").set_value(text)
        page.button(key="t_use").click()
        page.run()
        assert list(page.dataframe[0].value.index) == names
        assert list(page.dataframe[0].value.columns) == ["a", "b"]
