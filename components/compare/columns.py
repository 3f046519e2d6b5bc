"""The columns of a comparison: state, address and controls; what is equal in all is said once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import streamlit as st

from components.controls import form, panel, settled
from components.controls.settled import LAST_GOOD
from components.shell import address, compare_link, hide, link, session
from components.shell.address import RESTORED
from components.shell.naming import names_of, settings
from components.shell.session import Key
from components.shell.text import badge
from models.content import Texts
from models.insight.theory import law
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec.arrangements import architecture_fields
from models.spec.knob import Knob
from models.spec.overrides import value_in_words
from models.spec.pairings import MAX_COLUMNS, PAIRINGS, changed, differing, opposite
from models.spec.query import FOREIGN
from models.spec.settings import Settings

TEXTS = Texts("compare")
NAME = "compare"
SEEDS, PAIRING, ADDED = "compare_seeds", "compare_pairing", "compare_add"
ALL = "all"
LEVEL = (0.1, 10.0)  # of 1 at the output, what arrives at the input of a net whose gradient is called level
LETTERS = compare_link.LETTERS.upper()
SHARED = (
    "net",
    "task",
    "depth",
    "width",
    "steps",
    "batch",
    "seed",
    "lr",
    "optimizer",
)  # fields that an added column takes from A
ALWAYS_SAID = ("net", "task", "depth", "width", "placement", "norm", "optimizer", "lr", "batch", "seed")

COLUMNS: Key[list[RunConfig]] = Key("compare_columns", [])
COLUMN_DRAWN: Key[tuple[str, RunConfig] | None] = Key("compare_drawn", None)  # the column in the controls
REFUSED = Key("compare_refused", "")  # why an arrangement was not taken by all columns
COMPARE_GIVEN: Key[list[RunConfig]] = Key("compare_given", [])  # the columns that the page itself chose last
COMPARE_NOTES: Key[list[str]] = Key("compare_notes", [])


@dataclass(frozen=True)
class ChangedColumn(Settings):
    """Which column the controls change."""

    target: Annotated[str, Knob(
        "Change", choices={}, link="change",
        control="segments"
    )] = ALL  # fmt: skip


def adopt() -> list[str]:
    """Before the widgets: takes the columns from the address, or the last comparison."""
    hide.adopt()
    query = _columns_in_address()
    with address.adopting(*compare_link.KEYS, *query) as fresh:
        if fresh or not session.has_value(SEEDS):
            columns, seeds, notes = compare_link.from_query(query)
            untouched = RESTORED.get() and columns == COMPARE_GIVEN.get()
            if untouched or not set(query) & set(compare_link.LETTERS):
                columns = _given(columns)
            COLUMNS.put(columns)
            session.set_widget(SEEDS, seeds)
            if "digest" in st.query_params:  # it is to be run again
                compare_link.begin()
            COMPARE_NOTES.put(notes)
            COLUMN_DRAWN.put(None)
    return COMPARE_NOTES.get()


def _given(otherwise: list[RunConfig]) -> list[RunConfig]:
    """The columns where nobody has chosen any: the playground's net, if this visit had one, and its opposite."""
    COMPARE_GIVEN.put(opposite(settled.last())[0] if LAST_GOOD.there else otherwise)
    return COMPARE_GIVEN.get()


def title() -> str:
    """The columns by their names."""
    return " beside ".join(names_of(COLUMNS.get()))


def write() -> None:
    """After the widgets: writes the columns into the address, without the link's digest if they are others by now."""
    there, shown = _columns_in_address(), (COLUMNS.get(), session.widget_value(SEEDS))
    others = compare_link.from_query(there)[:2] != shown
    gone = [*compare_link.KEYS, *there, *(["digest"] if others else [])]
    address.change(dict.fromkeys(gone) | compare_link.to_query(*shown))
    address.settle()  # now: the rest of the run takes long, and may be cut short by another press


def edit() -> str:
    """The controls of one column or of all; returns why a change was refused.

    The column stands in the address: a browser that has not drawn it yet repeats the address from before, by which
    `address.put_again` knows that it says the values of another one.
    """
    columns = COLUMNS.get()
    letters = list(LETTERS[: len(columns)])
    if panel.arranges(knobs()):
        choices = ["choose one", *PAIRINGS]
        st.selectbox("Prepared comparison", choices, key=PAIRING, on_change=_prepared, help=_questions())
    target = form.draw(ChangedColumn, "compare", legal={"target": [ALL, *letters]}).target
    at = letters.index(target) if target in letters else 0
    if COLUMN_DRAWN.get() != (target, columns[at]):
        link.put({name: getattr(columns[at], name) for name in knobs()})
    refused = REFUSED.pop()
    if target == ALL:
        wanted, problem = panel.draw(_values(columns), _arrange_all)
    else:
        wanted, problem = panel.draw()
    if wanted is not None and wanted != columns[at]:
        change = changed(columns[at], wanted)
        problem = _change([change if target in (ALL, letter) else {} for letter in letters])
    COLUMN_DRAWN.put((target, COLUMNS.get()[at]))
    return problem or refused


def _values(columns: Sequence[RunConfig]) -> dict[str, str]:
    """The fields in which columns differ, each with its values in words and the columns that have them."""
    said = {}
    for name in differing(columns):
        having: dict[str, list[str]] = {}
        for letter, cfg in zip(LETTERS, columns, strict=False):
            having.setdefault(value_in_words(getattr(cfg, name)), []).append(letter)
        said[name] = ", ".join(f"{value} ({', '.join(letters)})" for value, letters in having.items())
    return said


def say(notes: list[str], problem: str) -> None:
    """Where the first column comes from, what had to be corrected in a link, and why a change was refused."""
    if LAST_GOOD.there and COLUMNS.get() == opposite(settled.last())[0]:
        st.caption("A is the network from the playground.")
    if levels := levelled(COLUMNS.get()):
        st.caption(f"{levels} {badge('formula')}")
    if notes:
        st.info("From the link: " + "; ".join(notes) + ".")
    if problem:
        st.error(f"{problem} The columns are unchanged.")


def levelled(columns: Sequence[RunConfig]) -> str:
    """What the laws say of two columns that differ in the residual alone, beside a norm that levels the gradient;
    empty for other columns, for those without a law, and where the norm does not level it.
    """
    if len(columns) != 2 or differing(columns) != ("residual",) or hide.hidden("residual"):
        return ""
    both, norm = sorted(columns, key=lambda cfg: not cfg.residual)
    nets = {
        "both": both,
        "norm": norm,
        "residual": replace(both, norm="none"),
        "neither": replace(norm, norm="none"),
    }
    laws = {name: law(cfg).gradient for name, cfg in nets.items()}
    arrives = {name: float(gradient[0]) for name, gradient in laws.items() if gradient is not None}
    if len(arrives) < len(nets) or norm.norm == "none" or not LEVEL[0] < arrives["norm"] < LEVEL[1]:
        return ""
    return TEXTS("a norm levels the gradient", **arrives)


def controls() -> bool:
    """Adds and removes columns and sets the number of seeds, in one line. Returns whether all are drawn against A."""
    columns = COLUMNS.get()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        full = len(columns) >= MAX_COLUMNS
        if panel.arranges(set(knobs()) - set(SHARED)):
            st.selectbox("Arrangement to add", list(ARRANGEMENTS), key=ADDED, width=200, disabled=full)
            tip = TEXTS("most columns", most=MAX_COLUMNS)
            st.button("Add a column", on_click=_add, key="compare_add_now", disabled=full, help=tip)
        if len(columns) > 2:
            st.button(f"Remove {LETTERS[len(columns) - 1]}", on_click=_take_away, key="compare_take")
        tip = TEXTS("seeds")
        st.slider("Seeds", 1, compare_link.MAX_SEEDS, key=SEEDS, help=tip, width=160)
        tip = TEXTS("difference")
        return st.toggle("Difference from A", key="compare_difference", help=tip)


def warn() -> None:
    """Says that nothing differs, or that a link hides some of what does."""
    names = differing(COLUMNS.get())
    shown = [name for name in names if not hide.hidden(name)]
    if len(shown) < len(names):
        st.caption(TEXTS("hides the rest") if shown else TEXTS("hides all"))
    if not names:
        st.info(TEXTS("equal"))


def differences() -> None:
    """Folded: what differs, one column per configuration, and what is equal, without what a link hides."""
    columns = COLUMNS.get()
    letters = list(LETTERS[: len(columns)])
    names = differing(columns)
    shown = [name for name in names if not hide.hidden(name)]
    with st.expander("What differs and what is equal"):
        if shown:
            rows = "\n".join(
                f"| {knobs()[name][1].label} | "
                + " | ".join(f"**{value_in_words(getattr(cfg, name))}**" for cfg in columns)
                + " |"
                for name in shown
            )
            head = "| differs | " + " | ".join(letters) + " |\n|---|" + "---|" * len(letters)
            st.markdown(f"{head}\n{rows}")
        equal = [name for name in ALWAYS_SAID if name not in names and not hide.hidden(name)]
        if equal:
            st.caption(f"Equal in all: {settings(columns[0], equal)}")


def _columns_in_address() -> dict[str, str]:
    return {key: value for key, value in st.query_params.to_dict().items() if key not in FOREIGN}


def _change(changes: Iterable[Mapping[str, object]]) -> str:
    """Changes the columns, each by fields of its own, or none if one of them refuses; returns why."""
    after = []
    for letter, cfg, change in zip(LETTERS, COLUMNS.get(), changes, strict=False):
        try:
            after.append(replace(cfg, **change))  # type: ignore[arg-type]
        except ValueError as error:
            return f"Column {letter} cannot take that: {error}."
    COLUMNS.put(after)
    return ""


def _arrange_all() -> None:
    name = str(session.widget_value(panel.MENU))
    REFUSED.put(_change(architecture_fields(name, cfg.depth) for cfg in COLUMNS.get()))


def _prepared() -> None:
    name = str(session.widget_value(PAIRING))
    if name in PAIRINGS:
        COLUMNS.put(list(PAIRINGS[name].make()))
        COLUMN_DRAWN.put(None)


def _questions() -> str:
    return "\n".join(f"- {name}: {pairing.question}" for name, pairing in PAIRINGS.items())


def _add() -> None:
    columns = COLUMNS.get()
    first = columns[0]
    shared = {name: getattr(first, name) for name in SHARED}
    COLUMNS.put([*columns, RunConfig.arranged(str(session.widget_value(ADDED)), **shared)][:MAX_COLUMNS])


def _take_away() -> None:
    COLUMNS.put(COLUMNS.get()[:-1])
