"""The columns of a comparison: their state, their address, their controls, and what differs between them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import streamlit as st

from components.controls import form, panel, shown_config
from components.controls.shown_config import LAST_GOOD
from components.shell import address, compare_link, hidden_parts, link, session
from components.shell.address import RESTORED
from components.shell.naming import names_of, settings_text
from components.shell.session import Key
from components.shell.text import badge
from models.content import Texts
from models.insight.theory import law
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec.arrangements import architecture_fields
from models.spec.knob import Knob
from models.spec.overrides import display_value
from models.spec.pairings import MAX_COLUMNS, PAIRINGS, changed_fields, contrasting_pair, differing_fields
from models.spec.query import PAGE_KEYS
from models.spec.settings import Settings

TEXTS = Texts("compare")
NAME = "compare"
# Session keys of the number of seeds, the prepared comparison and the arrangement to add.
SEEDS = "compare_seeds"
PAIRING = "compare_pairing"
ADDED = "compare_add"
ALL = "all"
# A norm levels the gradient if the ratio of the gradient at the input to that at the output is between these bounds.
MIN_LEVEL_RATIO = 0.1
MAX_LEVEL_RATIO = 10.0
LETTERS = compare_link.LETTERS.upper()
FIELDS_FROM_A = ("net", "task", "depth", "width", "steps", "batch", "seed", "lr", "optimizer")  # of an added column
# Fields that the page names where they are equal in all columns.
MAIN_FIELDS = ("net", "task", "depth", "width", "placement", "norm", "optimizer", "lr", "batch", "seed")

COLUMNS: Key[list[RunConfig]] = Key("compare_columns", [])
COLUMN_DRAWN: Key[tuple[str, RunConfig] | None] = Key("compare_drawn", None)  # target and column in the controls
REFUSED = Key("compare_refused", "")  # why an arrangement could not be given to all columns
COMPARE_DEFAULT: Key[list[RunConfig]] = Key("compare_given", [])  # the columns that the page itself chose last
COMPARE_NOTES: Key[list[str]] = Key("compare_notes", [])


@dataclass(frozen=True)
class ChangedColumn(Settings):
    """Which column the controls change."""

    target: Annotated[str, Knob("Change", choices={}, link="change", control="segments")] = ALL


def adopt() -> list[str]:
    """Takes the columns from the address, or keeps the last comparison; runs before the widgets.

    Returns notes on what was corrected in a link.
    """
    query = _query_of_columns()
    with address.adopting(*compare_link.KEYS, *query) as fresh:
        if fresh or not session.has_value(SEEDS):
            columns, seeds, notes = compare_link.from_query(query)
            is_untouched = RESTORED.get() and columns == COMPARE_DEFAULT.get()
            if is_untouched or not set(query) & set(compare_link.LETTERS):
                columns = _default_columns(columns)
            COLUMNS.put(columns)
            session.set_widget(SEEDS, seeds)
            if "digest" in st.query_params:  # a new run is to be compared with it
                compare_link.request_play()
            COMPARE_NOTES.put(notes)
            COLUMN_DRAWN.put(None)
    return COMPARE_NOTES.get()


def _default_columns(fallback: list[RunConfig]) -> list[RunConfig]:
    """The columns before a visitor chooses: the playground's net and its opposite, if this visit had one."""
    COMPARE_DEFAULT.put(contrasting_pair(shown_config.last_good())[0] if LAST_GOOD.is_set else fallback)
    return COMPARE_DEFAULT.get()


def title() -> str:
    return " beside ".join(names_of(COLUMNS.get()))


def write_address() -> None:
    """Writes the columns into the address, after the widgets; drops the link's digest if the columns have changed."""
    old_query = _query_of_columns()
    columns, seeds = COLUMNS.get(), session.widget_value(SEEDS)
    has_changed = compare_link.from_query(old_query)[:2] != (columns, seeds)
    old_keys = [*compare_link.KEYS, *old_query, *(["digest"] if has_changed else [])]
    address.collect_changes(dict.fromkeys(old_keys) | compare_link.to_query(columns, seeds))
    address.write_changes()  # now, because another press may cut short the long rest of the script


def draw_controls() -> str:
    """Draws the controls of one column or of all. Returns why a change was refused, or an empty string.

    The address names the column. A browser that still shows another column sends the old address, by which
    `address.reapply_widgets` recognises that its values belong to that one.
    """
    columns = COLUMNS.get()
    letters = list(LETTERS[: len(columns)])
    if panel.shows_arrangements(knobs()):
        choices = ["choose one", *PAIRINGS]
        st.selectbox("Prepared comparison", choices, key=PAIRING, on_change=_take_pairing, help=_questions())
    target = form.draw(ChangedColumn, "compare", legal={"target": [ALL, *letters]}).target
    index = letters.index(target) if target in letters else 0
    if COLUMN_DRAWN.get() != (target, columns[index]):
        link.put({name: getattr(columns[index], name) for name in knobs()})
    refusal = REFUSED.pop()
    if target == ALL:
        cfg, problem = panel.draw(_differing_values(columns), _arrange_all)
    else:
        cfg, problem = panel.draw()
    if cfg is not None and cfg != columns[index]:
        change = changed_fields(columns[index], cfg)
        problem = _change_columns([change if target in (ALL, letter) else {} for letter in letters])
    COLUMN_DRAWN.put((target, COLUMNS.get()[index]))
    return problem or refusal


def _differing_values(columns: Sequence[RunConfig]) -> dict[str, str]:
    """For each field that differs: its values in words, each with the letters of its columns."""
    texts = {}
    for name in differing_fields(columns):
        letters_by_value: dict[str, list[str]] = {}
        for letter, cfg in zip(LETTERS, columns, strict=False):
            letters_by_value.setdefault(display_value(getattr(cfg, name)), []).append(letter)
        texts[name] = ", ".join(f"{value} ({', '.join(letters)})" for value, letters in letters_by_value.items())
    return texts


def draw_messages(notes: list[str], problem: str) -> None:
    """Draws where column A comes from, what was corrected in a link, and why a change was refused."""
    if LAST_GOOD.is_set and COLUMNS.get() == contrasting_pair(shown_config.last_good())[0]:
        st.caption("A is the network from the playground.")
    if sentence := levelling_sentence(COLUMNS.get()):
        st.caption(f"{sentence} {badge('formula')}")
    if notes:
        st.info("From the link: " + "; ".join(notes) + ".")
    if problem:
        st.error(f"{problem} The columns are unchanged.")


def levelling_sentence(columns: Sequence[RunConfig]) -> str:
    """Why the residual changes little between two columns whose norm levels the gradient, or "".

    Empty unless two columns differ in the residual alone, all four nets of residual x norm have a law, and the norm
    levels the gradient.
    """
    if len(columns) != 2 or differing_fields(columns) != ("residual",) or hidden_parts.is_hidden("residual"):
        return ""
    plain, residual = sorted(columns, key=lambda cfg: cfg.residual)
    nets = {
        "both": residual,
        "norm": plain,
        "residual": replace(residual, norm="none"),
        "neither": replace(plain, norm="none"),
    }
    gradients = {name: law(cfg).gradient for name, cfg in nets.items()}
    at_input = {name: float(gradient[0]) for name, gradient in gradients.items() if gradient is not None}
    if len(at_input) < len(nets) or plain.norm == "none":
        return ""
    if not MIN_LEVEL_RATIO < at_input["norm"] < MAX_LEVEL_RATIO:
        return ""
    return TEXTS("a norm levels the gradient", **at_input)


def draw_column_buttons() -> bool:
    """Draws the buttons that add and remove columns, and the seeds. Returns whether charts show differences from A."""
    columns = COLUMNS.get()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        is_full = len(columns) >= MAX_COLUMNS
        if panel.shows_arrangements(set(knobs()) - set(FIELDS_FROM_A)):
            st.selectbox("Arrangement to add", list(ARRANGEMENTS), key=ADDED, width=200, disabled=is_full)
            tip = TEXTS("most columns", most=MAX_COLUMNS)
            st.button("Add a column", on_click=_add_column, key="compare_add_now", disabled=is_full, help=tip)
        if len(columns) > 2:
            st.button(f"Remove {LETTERS[len(columns) - 1]}", on_click=_remove_column, key="compare_take")
        tip = TEXTS("seeds")
        st.slider("Seeds", 1, compare_link.MAX_SEEDS, key=SEEDS, help=tip, width=160, persist_state="session")
        tip = TEXTS("difference")
        return st.toggle("Difference from A", key="compare_difference", help=tip)


def draw_warnings() -> None:
    """Draws a note if no column differs, or if the link hides a difference."""
    names = differing_fields(COLUMNS.get())
    shown = [name for name in names if not hidden_parts.is_hidden(name)]
    if len(shown) < len(names):
        st.caption(TEXTS("hides the rest") if shown else TEXTS("hides all"))
    if not names:
        st.info(TEXTS("equal"))


def draw_differences() -> None:
    """Draws a folded table of the fields that differ, and the main fields that do not; leaves out hidden fields."""
    columns = COLUMNS.get()
    letters = list(LETTERS[: len(columns)])
    names = differing_fields(columns)
    shown = [name for name in names if not hidden_parts.is_hidden(name)]
    with st.expander("What differs and what is equal"):
        if shown:
            lines = ["| differs | " + " | ".join(letters) + " |", "|---|" + "---|" * len(letters)]
            for name in shown:
                values = " | ".join(f"**{display_value(getattr(cfg, name))}**" for cfg in columns)
                lines.append(f"| {knobs()[name][1].label} | {values} |")
            st.markdown("\n".join(lines))
        equal = [name for name in MAIN_FIELDS if name not in names and not hidden_parts.is_hidden(name)]
        if equal:
            st.caption(f"Equal in all: {settings_text(columns[0], equal)}")


def _query_of_columns() -> dict[str, str]:
    return {key: value for key, value in st.query_params.to_dict().items() if key not in PAGE_KEYS}


def _change_columns(changes: Iterable[Mapping[str, object]]) -> str:
    """Sets fields of each column, or changes none if one of the columns would be illegal. Returns the refusal."""
    columns = []
    for letter, cfg, change in zip(LETTERS, COLUMNS.get(), changes, strict=False):
        try:
            columns.append(replace(cfg, **change))  # type: ignore[arg-type]
        except ValueError as error:
            return f"Column {letter} cannot take that: {error}."
    COLUMNS.put(columns)
    return ""


def _arrange_all() -> None:
    name = str(session.widget_value(panel.MENU))
    REFUSED.put(_change_columns(architecture_fields(name, cfg.depth) for cfg in COLUMNS.get()))


def _take_pairing() -> None:
    name = str(session.widget_value(PAIRING))
    if name in PAIRINGS:
        COLUMNS.put(list(PAIRINGS[name].make()))
        COLUMN_DRAWN.put(None)


def _questions() -> str:
    return "\n".join(f"- {name}: {pairing.question}" for name, pairing in PAIRINGS.items())


def _add_column() -> None:
    columns = COLUMNS.get()
    fields = {name: getattr(columns[0], name) for name in FIELDS_FROM_A}
    COLUMNS.put([*columns, RunConfig.arranged(str(session.widget_value(ADDED)), **fields)][:MAX_COLUMNS])


def _remove_column() -> None:
    COLUMNS.put(COLUMNS.get()[:-1])
