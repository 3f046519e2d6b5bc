"""A question about torch's own layers: batch norm memory."""

from dataclasses import dataclass

from models.answers import Question


@dataclass(frozen=True)
class BatchNormMemory:
    """Running statistics of nn.BatchNorm1d by default, and its treatment of small batches."""

    momentum: float
    old_weight: float  # of the old mean after a batch
    unbiased: bool  # whether it remembers the unbiased variance
    refused: str  # its error for a batch of one, "" if it accepts it
    pair: float  # mean size of the results for a batch of two
    eval: float  # largest difference between eval mode and training


BATCH_NORM_MEMORY = Question("batch norm memory", BatchNormMemory, of_torch=True)
