"""Judges the result: Several streams that are mixed with learned weights do better than one."""

from models.experiment import Judgement, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import (
    Statements,
    final_losses,
    judge_statements,
    late_lesion_costs,
    means,
    spread,
    training_lines,
)


@judge("ends late missed")
def hyper_connections(values: Values, *, statements: Statements) -> Judgement:
    """Final losses with one stream, four, and four whose weights each token shifts; the worth of late blocks."""
    single, static, dynamic = nets = ("pre-norm", "hyper-connections", "dynamic hyper-connections")
    ends = final_losses({net: values[net] for net in nets}, loss_of_guessing("book"))
    late = {net: late_lesion_costs(values, net) for net in (single, static)}
    measured = [ends[static] - ends[single], ends[dynamic] - ends[single], late[static] - late[single]]
    numbers = {"ends": means(ends), "late": means(late)}
    return judge_statements(
        statements, measured, numbers, table=spread("loss", ends), lines=training_lines(values, nets)
    )
