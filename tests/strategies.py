"""Configurations drawn at random over all fields, for the property tests."""

from hypothesis import strategies as st

from models.spec import RunConfig, knobs
from models.spec.overrides import OVERRIDE_KEYS
from models.spec.rules import repaired


def legal_values(name: str) -> st.SearchStrategy:
    """Any legal value of a field, its bounds among them."""
    kinds, knob = knobs()[name]
    if kinds == (bool,):
        return st.booleans()
    if knob.choices is not None:
        return st.sampled_from(list(knob.choices))
    if int in kinds:
        return st.integers(int(knob.low), int(knob.high))
    numbers = st.floats(knob.low, knob.high) | st.sampled_from([knob.low, knob.high])
    return numbers | st.sampled_from(list(knob.rules)) if knob.rules else numbers


@st.composite
def configs(draw: st.DrawFn, **fixed: object) -> RunConfig:
    """A legal configuration: every field at random, clashes ended by the rules' own repairs."""
    values = {name: draw(legal_values(name)) for name in knobs() if name != "overrides"} | fixed
    values["overrides"] = tuple(
        (block, key, draw(st.sampled_from(OVERRIDE_KEYS[key])))
        for block in sorted(draw(st.sets(st.integers(1, values["depth"]), max_size=4)))
        for key in sorted(draw(st.sets(st.sampled_from(list(OVERRIDE_KEYS)), max_size=2)))
    )
    values |= repaired(values)
    values["overrides"] = tuple(override for override in values["overrides"] if override[0] <= values["depth"])
    return RunConfig(**values)
