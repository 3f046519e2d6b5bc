"""Judges the claim: With ReZero or zero initialisation all weights get a gradient."""

import numpy as np

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge


@judge("still later")
def closed_gates(values: Values) -> Judgement:
    """Which parts of nets with closed gates get no gradient at step 0, and the smallest weight gradient at step 1."""
    measured = values["parts"].rms
    names = [name for name in values if name != "parts"]
    still = {name: [part for part, size in measured[name].items() if size == 0] for name in names}
    smallest_later = {name: float(np.min(values[name].weight_grad_rms[1])) for name in names}
    all_parts = list(dict.fromkeys(part for name in names for part in measured[name]))
    table = {"RMS of the first gradient of": all_parts} | {
        name: [measured[name].get(part, "-") for part in all_parts] for name in names
    }
    numbers = {"still": {name: ", ".join(parts) or "no part" for name, parts in still.items()}, "later": smallest_later}
    return Judgement(verdict([not parts for parts in still.values()]), numbers, table)
