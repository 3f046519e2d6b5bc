"""Questions to the trainer and their answers: plain dataclasses of numbers, texts and arrays. Free of torch.

Legend: S sites of the stream, M sublayers, A sublayers with an activation function, L blocks, D features, T tokens, C
classes, H heads; each class says what its K counts. Sizes are in the stream's own units, losses and entropies in nats.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

Value = TypeVar("Value")


@dataclass(frozen=True)
class Question(Generic[Value]):
    """A question to the trainer: its name, and the class of its answer.

    `of_torch`: about torch's own layers. It builds no net of the configuration, whose budget does not apply.
    """

    name: str
    answer: type[Value]
    of_torch: bool = False


# --- a run before training ---


@dataclass(frozen=True)
class Opened:
    """Confirms that the log of a run has its row 0."""


@dataclass(frozen=True)
class SignalAtInit:
    """Signal, gradient and branch gains of K seeds before training, on Gaussian input of unit mean square."""

    seeds: tuple[int, ...]  # (K,)
    mean_square: np.ndarray  # of the stream, (K, S)
    grad_norm: np.ndarray  # L2 norm of the gradient at the stream, (K, S)
    v_f: np.ndarray  # mean(F(x)^2) of each branch's function on unit x, (K, M); NaN if the sublayer was taken out
    v_b: np.ndarray  # |J^T g|^2 / |g|^2 of the same function on a Gaussian g, (K, M)


# --- the loss ---


@dataclass(frozen=True)
class CovariateShift:
    """Inputs of one block's branch while K nets train, by feature at F steps; the last net has injected shifts."""

    nets: tuple[str, ...]  # (K,)
    steps: np.ndarray  # (F,)
    mean: np.ndarray  # (K, F, D)
    spread: np.ndarray  # standard deviation, (K, F, D)
    loss: np.ndarray  # training loss of every step, NaN after a divergence, (K, T)
    accuracy: np.ndarray  # held-out accuracy at the end in eval mode, without the shifts, (K,)

    @property
    def moves(self) -> np.ndarray:
        """RMS change of the means between measured steps, in units of the RMS spread, (K, F - 1)."""
        change = np.diff(self.mean, axis=1)
        spread = self.spread[:, :-1]
        return np.asarray(np.sqrt((change**2).mean(2)) / np.sqrt((spread**2).mean(2)))


@dataclass(frozen=True)
class TrialResult:
    """The result of one change to a run."""

    steps: int  # trained
    start: float  # loss at step 0
    end: float  # mean loss of the last steps
    held_out: float  # loss on held-out samples at the end
    diverged: int  # the step, or -1
    learns: bool  # by the criterion for a whole run
    better: bool  # at least slightly better than guessing
    steady: bool  # loss at most about that of guessing
    falling: bool  # whether the loss still falls at the end


@dataclass(frozen=True)
class Trial:
    """Results of changes to a run, in order."""

    results: tuple[TrialResult, ...]


# --- steps of gradient descent ---


@dataclass(frozen=True)
class Update:
    """RMS change of the logits by one step of gradient descent, and the L2 norm of a gradient before it."""

    matrices: float  # if the step moves the blocks' matrices only
    everything: float  # if it moves all parameters
    last_gradient: float  # of the last block's last matrix


# --- tokens ---


@dataclass(frozen=True)
class Lens:
    """Predictions of a net for a text or a held-out sample at all positions, and of the lens at every site.

    -1 and NaN stand where something is not finite, and where the output head cannot read: inside a block of DLCL.
    """

    tokens: tuple[str, ...]  # (T,)
    limit: int  # how many tokens the net can read
    samples: int  # in the held-out split
    classes: tuple[str, ...]  # (C,)
    batch_norm: bool
    has_loss: np.ndarray  # whether training takes a loss at a position, (T,)
    truth: np.ndarray  # the correct class of a held-out sample, (T,), else -1
    attention: np.ndarray  # of one block, (H, T, T); H = 0 if it has none
    readable: np.ndarray  # whether the output head can read a site, (S,)
    probabilities: np.ndarray  # at the end, (T, C)
    top: np.ndarray  # likeliest class, (S, T)
    probability: np.ndarray  # its probability, (S, T)
    final_probability: np.ndarray  # probability of the class that is likeliest at the end, (S, T)
    kl: np.ndarray  # KL(end || here), (S, T)


@dataclass(frozen=True)
class Refinement(Lens):
    """The lens of a text, with `attention` of every block, (L, H, T, T)."""


@dataclass(frozen=True)
class Continuation:
    """Tokens that the net generates after a text, and why it stopped: length, end, full, unasked or not finite."""

    written: tuple[str, ...]  # (K,)
    classes: tuple[str, ...]  # (C,)
    probabilities: np.ndarray  # from which each token was chosen, (K, C)
    context: tuple[str, ...]  # the tokens that the net read to write the first one
    limit: int  # how many tokens the net can read
    unknown: tuple[str, ...]  # tokens of the text that were left out
    cut: int  # how many tokens of the text did not fit
    stopped: str


@dataclass(frozen=True)
class Change:
    """Effect of one more token on the K = T - 1 places before it, or of a replaced token on all K = T places."""

    difference: np.ndarray  # the largest change of a logit, (K,)
    before: np.ndarray  # likeliest class without the change, (K,)
    after: np.ndarray  # likeliest class with it, (K,)


@dataclass(frozen=True)
class Revision:
    """Effect of the last token of a text, or of a replaced one, with and without a causal mask."""

    tokens: tuple[str, ...]  # as they stand after the change, (T,)
    classes: tuple[str, ...]  # (C,)
    causal: Change
    unmasked: Change


# --- torch's own layers, whatever the configuration ---


@dataclass(frozen=True)
class WhoIsSeen:
    """Change of the first token's result when another number changes, by norm."""

    norm: tuple[str, ...]
    future: tuple[float, ...]  # when the last token changes
    neighbour: tuple[float, ...]  # when another sequence changes


# --- tasks ---


@dataclass(frozen=True)
class TaskExamples:
    """A few samples of every task, by its name, and the characters that the symbols of a text stand for.

    Points (N, 2) and their classes (N,), images (N, 8, 8) and theirs, or symbols (T,) and the answers to them (A,).
    """

    inputs: dict[str, np.ndarray]
    answers: dict[str, np.ndarray]
    alphabet: str


OPENED = Question("opened", Opened)

SIGNAL = Question("signal", SignalAtInit)
TRIAL = Question("trial", Trial)
COVARIATE_SHIFT = Question("covariate shift", CovariateShift)

UPDATE = Question("update", Update)

LENS = Question("lens", Lens)
CONTINUATION = Question("continuation", Continuation)
REVISION = Question("revision", Revision)
REPLACEMENT = Question("replacement", Revision)
REFINEMENT = Question("refinement", Refinement)

WHO_IS_SEEN = Question("who is seen", WhoIsSeen, of_torch=True)
TASK_EXAMPLES = Question("task examples", TaskExamples, of_torch=True)
