"""Judges the claim: Without an activation more layers compute more."""

from models.claims.judging import finite_loss, verdict
from models.experiment import Judgement, Values, judge

BETTER_SHARE = 0.9  # below this share of the first net's loss a deeper net computes more


@judge("ends accuracies matrix count apart")
def depth_computes_more(values: Values, *, bent: str) -> Judgement:
    """Whether deeper linear nets end at a lower loss than the first; `bent` names a net with an activation."""
    product = values["numbers"]
    nets = {name: value for name, value in values.items() if name != "numbers"}
    accuracies = {name: value.frames[-1].held_out_accuracy for name, value in nets.items()}
    ends = {name: finite_loss(value) for name, value in nets.items()}
    first, *deeper = (loss for name, loss in ends.items() if name != bent)
    rows = "; ".join(" ".join(f"{cell:.3f}" for cell in row) for row in product["product"])
    numbers = product | {
        "ends": ends,
        "accuracies": accuracies,
        "matrix": f"[{rows}]",
        "count": product["blocks"],
        "apart": product["apart"],
    }
    table = {"net": list(nets), "loss": list(ends.values()), "accuracy": list(accuracies.values())}
    return Judgement(verdict([loss < BETTER_SHARE * first for loss in deeper]), numbers, table)
