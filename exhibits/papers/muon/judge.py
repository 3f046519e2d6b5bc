"""Judges the result: Orthogonal updates of the matrices learn in fewer steps than AdamW."""

from models.experiment import Judgement, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import (
    Statements,
    final_losses,
    judge_statements,
    means,
    spread,
    steps_to_final_loss,
    training_lines,
)


@judge("ends best steps missed")
def fewer_steps(values: Values, *, statements: Statements) -> Judgement:
    """Final losses of both optimisers at their best rates, and Muon's steps to that of AdamW."""
    ends = final_losses(values, loss_of_guessing("book"))
    muon, adam = (
        min((net for net in ends if net.startswith(name)), key=lambda net: ends[net].mean())
        for name in ("Muon", "AdamW")
    )
    share = steps_to_final_loss(values[muon], values[adam])
    numbers = {"ends": means(ends), "best": f"{muon} and {adam}", "steps": f"{share.mean():.0%}"}
    return judge_statements(
        statements,
        [ends[muon] - ends[adam], share],
        numbers,
        table=spread("loss", ends),
        lines=training_lines(values, (muon, adam)),
    )
