"""Configurations drawn at random over all fields, for the property tests."""

from hypothesis import strategies as st

from models.spec import RunConfig, knobs
from models.spec.knob import Knob
from models.spec.overrides import OVERRIDE_KEYS
from models.spec.rules import all_repairs


def legal_values(name: str) -> st.SearchStrategy:
    """Any legal value of a run's field, its bounds among them."""
    kinds, knob = knobs()[name]
    numbers = st.floats(knob.low, knob.high) | st.sampled_from([knob.low, knob.high])
    if knob.choices is None and float in kinds:
        return numbers | st.sampled_from(list(knob.rules)) if knob.rules else numbers
    return legal(kinds, knob)


def legal(kinds: tuple[type, ...], knob: Knob) -> st.SearchStrategy:
    """Any legal value of a field by its knob; of a number that is not whole, one that an address holds in full."""
    if kinds == (bool,):
        return st.booleans()
    if knob.choices is not None:
        one = st.sampled_from(list(knob.choices)) if knob.choices else st.nothing()
        return st.lists(one, unique=True).map(tuple) if knob.multiple else one
    if int in kinds:
        return st.integers(int(knob.low), int(knob.high))
    if float in kinds:
        return st.floats(knob.low, knob.high).map(lambda value: knob.clamp(float(f"{value:.10g}"))) | st.sampled_from(
            [float(knob.low), float(knob.high)]
        )
    return st.text(st.characters(codec="utf-8"), max_size=min(int(knob.high), 40)).filter(str.isprintable)


@st.composite
def configs(draw: st.DrawFn, **fixed: object) -> RunConfig:
    """A legal configuration: every field at random, clashes ended by the rules' own repairs."""
    values = {name: draw(legal_values(name)) for name in knobs() if name != "overrides"} | fixed
    values["overrides"] = tuple(
        (block, key, draw(st.sampled_from(OVERRIDE_KEYS[key])))
        for block in sorted(draw(st.sets(st.integers(1, values["depth"]), max_size=4)))
        for key in sorted(draw(st.sets(st.sampled_from(list(OVERRIDE_KEYS)), max_size=2)))
    )
    values |= all_repairs(values)
    values["overrides"] = tuple(override for override in values["overrides"] if override[0] <= values["depth"])
    return RunConfig(**values)
