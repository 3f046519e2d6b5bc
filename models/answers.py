"""What the trainer may be asked, and what it answers: plain dataclasses of numbers, texts and arrays. No torch.

Legend: S sites of the stream, M sublayers, A those with an activation function, L
blocks, D features, T tokens, C classes, H heads, K what there are several of, as
the class says. Sizes are in the stream's own units, losses and entropies in nats.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from models.trace import Trace

Value = TypeVar("Value")


@dataclass(frozen=True)
class Question(Generic[Value]):
    """The name under which something is asked of the trainer, and the class of its answer."""

    name: str
    answer: type[Value]


# --- a run before training ---


@dataclass(frozen=True)
class Profiles:
    """Row 0 of the tapes of several seeds, from the configuration's own upwards."""

    traces: tuple[Trace, ...]


@dataclass(frozen=True)
class Signal:
    """Signal, gradient and branch gains before training over K seeds, on Gaussian input of unit mean square."""

    seeds: tuple[int, ...]  # (K,)
    mean_square: np.ndarray  # of the stream, (K, S)
    grad_norm: np.ndarray  # L2 norm of the gradient at the stream, (K, S)
    v_f: np.ndarray  # mean(F(x)^2) of each branch's function on unit x, (K, M); NaN where the sublayer was taken out
    v_b: np.ndarray  # |J^T g|^2 / |g|^2 of it on a Gaussian g, (K, M)


# --- the stream ---


@dataclass(frozen=True)
class Stream:
    """How the stream grows on the step's batch, and what every sublayer does to it."""

    stream_rms: np.ndarray  # (S,)
    branch_rms: np.ndarray  # before the add, (M,)
    share: np.ndarray  # branch over stream before the add, (M,)
    neighbour_cosine: np.ndarray  # between the stream before and after the sublayer, (M,)
    branch_cosine: np.ndarray  # between the branch and the stream that it is added to, (M,)


@dataclass(frozen=True)
class Histograms:
    """Shares of values by bin, over K places or steps. Bins are in units of the RMS of what is binned."""

    centres: np.ndarray  # (bins,); the first and the last bin are open
    shares: np.ndarray  # of the finite values, (K, bins); NaN without any
    rms: np.ndarray  # (K,)
    lost: np.ndarray  # share that is not finite, (K,)


@dataclass(frozen=True)
class Distributions(Histograms):
    """Histograms of the stream by site, the tails of its tokens,
    and the units inside the branches that have an activation.

    A unit is judged over all `tokens` of the batch. Shares are empty where the activation function has no such units.
    """

    tokens: int
    kurtosis: np.ndarray  # mean over tokens, (S,)
    kurtosis_max: np.ndarray  # largest of a token, (S,)
    inside: tuple[str, ...]  # sites of the branches that have an activation function, (A,)
    dead: np.ndarray  # share of ReLU units that are 0 for all tokens, (A,)
    always_on: np.ndarray  # share of ReLU units that are above 0 for all tokens, (A,)
    saturated: np.ndarray  # share of the values of tanh and sigmoid that have hardly any slope left, (A,)


@dataclass(frozen=True)
class Film(Histograms):
    """Histograms of one site at the frames of a run, each on its own step's batch."""

    steps: np.ndarray  # (K,)


@dataclass(frozen=True)
class Collapse:
    """How alike the vectors of the stream are, how many directions they use, and where attention goes; means over sets.

    A set is one sample's tokens where there are several (`within`), else those of the batch. What is said of attention
    is empty where attention has nothing to choose from, and NaN for a block that was taken out.
    """

    within: bool
    sets: int
    vectors: int  # in a set
    cosine: np.ndarray  # between different vectors, (S,)
    spread: np.ndarray  # |X - 1 mean^T| / |X|, (S,)
    rank: np.ndarray  # exp of the entropy of the singular values, (S,)
    participation: np.ndarray  # (sum s^2)^2 / sum s^4 of the singular values, (S,)
    entropy: np.ndarray  # of a row of attention as a share of its largest, (L,)
    sharpest: np.ndarray  # that of the sharpest head, (L,)
    max_logit: np.ndarray  # (L,)
    query_key_share: np.ndarray  # of the squared gradient of queries, keys and values, (L,)


# --- the gradient ---


@dataclass(frozen=True)
class GradientShares:
    """Where the gradient came from at every add, in float64.
    A projection is <g, sum> / |sum|^2; the two add up to 1.
    """

    samples: int  # of the batch that it was measured on
    skip_rms: np.ndarray  # (M,)
    branch_rms: np.ndarray  # (M,)
    sum_rms: np.ndarray  # (M,)
    skip_projection: np.ndarray  # (M,), NaN where the sum is 0
    branch_projection: np.ndarray  # (M,)


@dataclass(frozen=True)
class PathLengths:
    """The gradient G at the input by the number k of branches that it passed, k = 0 to M."""

    samples: int  # of the batch that it was measured on
    share: np.ndarray  # |G_k| / sum |G_j|, (M + 1,)
    projection: np.ndarray  # <G_k, G> / |G|^2, (M + 1,)
    length: np.ndarray  # |G_k|, (M + 1,)
    whole: float  # |G|


@dataclass(frozen=True)
class Check:
    """Slopes of the loss by autograd and by central differences
    at K steps, in float64, along some directions of length 1.
    """

    what: tuple[str, ...]  # is moved along each direction: a block's weights or the stream after it
    along: tuple[str, ...]  # the name of each direction
    rms: dict[str, float]  # of the gradient, by what is moved
    loss: float
    analytic: np.ndarray  # slope by autograd, (directions,)
    difference: np.ndarray  # slope by central differences, (directions, K)
    step: np.ndarray  # length of the move, (directions, K)
    kinks: np.ndarray  # ReLU inputs whose sign the move changes, (directions, K)
    chosen: np.ndarray  # place of the step at which the difference is steadiest, (directions,)


@dataclass(frozen=True)
class GradientNoise:
    """Signal and noise of the gradient over `parts` micro-batches; 0 parts and NaN where the batch cannot be split."""

    parts: int
    part_size: int  # samples
    batch_norm: bool  # whether each micro-batch has statistics of its own
    signal: np.ndarray  # |E g|^2 of a micro-batch, (L,)
    noise: np.ndarray  # tr Cov(g) of a micro-batch, (L,)
    snr: np.ndarray  # their ratio, (L,)
    gradient_square: float  # of the whole net, unbiased, so that it may be negative
    noise_trace: float  # of the whole net, per sample, unbiased


@dataclass(frozen=True)
class Gains:
    """What multiplies: learned gates of the branches, gains of the norms, slopes of dynamic tanh."""

    gates: np.ndarray  # mean, least and greatest of each branch's, (M, 3); NaN without a gate
    gain_names: tuple[str, ...]  # (K,)
    gains: np.ndarray  # mean, least and greatest of each norm's, (K, 3)
    slope_names: tuple[str, ...]
    slopes: np.ndarray  # one by name


@dataclass(frozen=True)
class AdamState:
    """What Adam's two moments, corrected for their start at 0, say by block; NaN for a block without weights."""

    ratio: np.ndarray  # RMS(m) / RMS(sqrt v), (L,)
    near: np.ndarray  # share of weights whose last |update| was close to the learning rate, (L,)


@dataclass(frozen=True)
class Health:
    """How sound the training is at a step. `adam` is None for other optimisers and before the first update."""

    noise: GradientNoise
    gains: Gains
    adam: AdamState | None


# --- the loss ---


@dataclass(frozen=True)
class Landscape:
    """The loss of the step's batch on a plane of weights; a row of a matrix is as long in a direction as in the net."""

    axis: np.ndarray  # in filter lengths, along either direction, (N,)
    loss: np.ndarray  # (N, N)
    moved: int  # numbers that a direction moves
    parameters: int  # of the net


@dataclass(frozen=True)
class Sharpness:
    """The largest eigenvalue of the Hessian at K steps, and how far power iteration came."""

    samples: int  # of the batch that it was taken over
    steps: np.ndarray  # (K,)
    rate: np.ndarray  # learning rate, (K,)
    sharpness: np.ndarray  # (K,), NaN where something is not finite
    residual: np.ndarray  # |Hv - qv| / |q|, (K,)
    products: np.ndarray  # Hessian-vector products taken, (K,)


@dataclass(frozen=True)
class StreamJacobian:
    """How the stack stretches the last token of the first sample, all other tokens held fixed."""

    singular_values: np.ndarray  # the largest first, (D,); NaN where the Jacobian is not finite
    token: int  # its place, from 1
    samples: int  # that were passed together


@dataclass(frozen=True)
class Surgery:
    """The held-out split in eval mode before and after one operation on the net."""

    loss: tuple[float, float]
    accuracy: tuple[float, float]
    changed: float  # share of the answers


@dataclass(frozen=True)
class Lesions:
    """The held-out split in eval mode for the intact net, and with each block alone skipped or its branches zeroed."""

    loss: float
    accuracy: float
    skipped_loss: np.ndarray  # (L,)
    skipped_accuracy: np.ndarray  # (L,)
    zeroed_loss: np.ndarray  # (L,)
    zeroed_accuracy: np.ndarray  # (L,)


@dataclass(frozen=True)
class Without:
    """The held-out split in eval mode without one kind of sublayer: of one block alone, and of all of them."""

    loss: np.ndarray  # (L,)
    accuracy: np.ndarray  # (L,)
    all_loss: float
    all_accuracy: float


@dataclass(frozen=True)
class Sublayers:
    """The held-out split in eval mode for an intact transformer,
    and without the sublayers of each kind, attn and ffn.
    """

    loss: float
    accuracy: float
    without: dict[str, Without]


@dataclass(frozen=True)
class Lookup:
    """How the tokens of a text become rows of the net's own table."""

    tokens: tuple[str, ...]  # (T,)
    ids: np.ndarray  # (T,)
    names: tuple[str, ...]  # of the symbols, (C,)
    table: np.ndarray  # the embedding, (C, D)
    enters: np.ndarray  # what the first block reads: the row, or sqrt(1/2) of it and the position's, (T, D)
    position: np.ndarray  # (T, D), or without rows where no table of positions is added
    apart: float  # the most by which one-hot rows times the table differ from the rows that are looked up


@dataclass(frozen=True)
class Overfitting:
    """Nets with each of K norms and of S seeds, trained on a few samples and looked at in F steps."""

    steps: np.ndarray  # (F,)
    train: np.ndarray  # loss on these samples in eval mode, (K, S, F)
    held_out: np.ndarray  # loss in eval mode, (K, S, F)
    accuracy: np.ndarray  # held out, (K, S, F)
    sharpness: np.ndarray  # at the end, the largest eigenvalue of the Hessian on all samples, (K, S)
    rise: np.ndarray  # at the end, of the loss along random filter-normalised directions, the median, (K, S)


@dataclass(frozen=True)
class Tried:
    """What came of one change of a run: trained for some `steps`, `diverged` at one of them or at none (-1)."""

    steps: int
    start: float  # loss
    end: float  # loss, a mean over the last steps
    diverged: int
    learns: bool  # whether the loss came down below guessing
    steady: bool  # whether it came down to about guessing at least


@dataclass(frozen=True)
class Trial:
    """What came of changes of a run, in the order in which they were tried."""

    tried: tuple[Tried, ...]


# --- tokens ---


@dataclass(frozen=True)
class Lens:
    """What the net makes of a text or a held-out sample at all
    positions, where one head looks, and the lens at every site.

    -1 and NaN where something is not finite, or where the head reads nothing: in a DLCL stack inside a block.
    """

    tokens: tuple[str, ...]  # (T,)
    limit: int  # tokens that the net can read
    samples: int  # held out
    classes: tuple[str, ...]  # (C,)
    batch_norm: bool
    asked: np.ndarray  # where training takes a loss, (T,)
    truth: np.ndarray  # the right class of a held-out sample, (T,), else -1
    attention: np.ndarray  # of one block, (H, T, T), H = 0 where it has none
    read: np.ndarray  # whether the head reads a site, (S,)
    probabilities: np.ndarray  # of what the net says, (T, C)
    top: np.ndarray  # likeliest class, (S, T)
    chance: np.ndarray  # its probability, (S, T)
    final_chance: np.ndarray  # probability of the class that the net says at last, (S, T)
    kl: np.ndarray  # KL(last || here), (S, T)


@dataclass(frozen=True)
class Refinement(Lens):
    """The lens of a text, with `attention` of every block, (L, H, T, T)."""


@dataclass(frozen=True)
class Continuation:
    """What the net says after a text, and what made it stop: length, end, full, unasked or not finite."""

    said: tuple[str, ...]  # (K,)
    classes: tuple[str, ...]  # (C,)
    probabilities: np.ndarray  # before each token was chosen, (K, C)
    read: tuple[str, ...]  # what the first token is said after
    limit: int  # tokens that the net can read
    unknown: tuple[str, ...]  # pieces of the text that were left out
    cut: int  # tokens of the text that were not read
    stopped: str


@dataclass(frozen=True)
class Change:
    """What one more token changes at the T - 1 places before it."""

    difference: np.ndarray  # the largest of a logit, (T - 1,)
    before: np.ndarray  # likeliest class, (T - 1,)
    after: np.ndarray  # likeliest class, (T - 1,)


@dataclass(frozen=True)
class Revision:
    """Whether the last token of a text changes what the net says before it, with a causal mask and without one."""

    tokens: tuple[str, ...]  # (T,)
    classes: tuple[str, ...]  # (C,)
    causal: Change
    none: Change


@dataclass(frozen=True)
class Translation:
    """An encoder and a decoder that were trained together, held
    out at K steps, and where cross-attention looks meanwhile.
    """

    loss: np.ndarray  # of every step's batch, (steps,)
    steps: np.ndarray  # (K,)
    held_out: np.ndarray  # loss, (K,)
    accuracy: np.ndarray  # (K,)
    aim: np.ndarray  # share of the weight on source tokens that hold the symbol to be written, (K, L, H)
    looks: np.ndarray  # attention of one sample, (K, L, H, T written, T read)
    said: np.ndarray  # what is written of that sample, (K, T)
    even: float  # the aim of equal weights
    source: np.ndarray  # of that sample, (T,)
    target: np.ndarray  # (T,)
    parameters: int


@dataclass(frozen=True)
class Place:
    """How well a ridge regression reads a token's place from the stream, on held-out sequences."""

    accuracy: np.ndarray  # (S,), NaN where the stream is not finite
    r2: np.ndarray  # of the place as a number, (S,)
    chance: float  # accuracy of guessing
    learned_from: int  # sequences
    tested: int  # sequences
    table: np.ndarray  # what is added to the tokens, (T, D), without rows where nothing is


@dataclass(frozen=True)
class Beyond:
    """The loss by place on texts twice as long as those of training."""

    loss: np.ndarray  # (2T,)
    tokens: int  # T
    windows: int  # texts


# --- torch's own layers, whatever the configuration ---


@dataclass(frozen=True)
class Normed:
    """What torch's own layer norm makes of a row of numbers, in float64."""

    row: np.ndarray  # (D,)


@dataclass(frozen=True)
class ByHand:
    """(x - mean) / (x.std() + eps) beside nn.LayerNorm, by the number of features."""

    features: tuple[int, ...]
    short: tuple[float, ...]  # how much shorter it is, as a share


@dataclass(frozen=True)
class SmallTokens:
    """The RMS that small tokens come out with, by torch's RMS
    norm and layer norm as they are by default, in float32.
    """

    given: float
    rms: float
    layer: float
    rms_eps: float
    layer_eps: float


@dataclass(frozen=True)
class WhoIsSeen:
    """How far the first token's result moves when another number is changed, by norm."""

    norm: tuple[str, ...]
    future: tuple[float, ...]  # when the last token is changed
    neighbour: tuple[float, ...]  # when the other sequence is changed


@dataclass(frozen=True)
class BatchNormMemory:
    """What nn.BatchNorm1d remembers by default, and what it makes of small batches."""

    momentum: float
    kept: float  # weight of the old mean after a batch
    unbiased: bool  # whether it remembers the unbiased variance
    refused: str  # what it says of a batch of one, "" where it takes it
    pair: float  # mean size of what a batch of two comes out with
    eval: float  # the largest difference between eval mode and training


@dataclass(frozen=True)
class Copies:
    """The least RMS difference between the first layer of an encoder and another, by encoder."""

    names: tuple[str, ...]
    apart: tuple[float, ...]


@dataclass(frozen=True)
class FinalNorm:
    """What nn.TransformerEncoder hands on, by depth, and with a final norm."""

    depth: tuple[int, ...]
    bare: tuple[float, ...]  # RMS in pre-norm
    normed: tuple[float, ...]  # RMS in pre-norm with a final norm
    absent: bool  # whether it comes without a final norm
    moved: float  # the largest number by which a final norm moves what post-norm hands on


@dataclass(frozen=True)
class GradientSizes:
    """The gradient of each tensor of a small net."""

    tensor: tuple[str, ...]
    numbers: tuple[int, ...]
    length: tuple[float, ...]
    rms: tuple[float, ...]


@dataclass(frozen=True)
class ClosedBranches:
    """RMS of the first gradient by net and by part of the net, where branches start at 0."""

    rms: dict[str, dict[str, float]]


PROFILE = Question("profile", Trace)
PROFILES = Question("profiles", Profiles)

SIGNAL = Question("signal", Signal)
STREAM = Question("stream", Stream)
DISTRIBUTIONS = Question("distributions", Distributions)
LAYER_FILM = Question("layer film", Film)
COLLAPSE = Question("collapse", Collapse)

GRADIENT_SHARES = Question("gradient shares", GradientShares)
PATH_LENGTHS = Question("path lengths", PathLengths)
CHECK = Question("check", Check)
HEALTH = Question("health", Health)

LANDSCAPE = Question("landscape", Landscape)
SHARPNESS = Question("sharpness", Sharpness)
STREAM_JACOBIAN = Question("stream jacobian", StreamJacobian)
SURGERY = Question("surgery", Surgery)
LESIONS = Question("lesions", Lesions)
SUBLAYERS = Question("sublayers", Sublayers)
LOOKUP = Question("lookup", Lookup)
TRIAL = Question("trial", Trial)
FEW_SAMPLES = Question("few samples", Overfitting)

LENS = Question("lens", Lens)
CONTINUATION = Question("continuation", Continuation)
REVISION = Question("revision", Revision)
REFINEMENT = Question("refinement", Refinement)
TRANSLATION = Question("translation", Translation)
PLACE = Question("place", Place)
BEYOND = Question("beyond", Beyond)

LAYER_NORM = Question("layer norm", Normed)
BY_HAND = Question("by hand", ByHand)
SMALL_TOKENS = Question("small tokens", SmallTokens)
WHO_IS_SEEN = Question("who is seen", WhoIsSeen)
BATCH_NORM_MEMORY = Question("batch norm memory", BatchNormMemory)
COPIES = Question("copies", Copies)
FINAL_NORM = Question("final norm", FinalNorm)
GRADIENT_SIZES = Question("gradient sizes", GradientSizes)
CLOSED_BRANCHES = Question("closed branches", ClosedBranches)
# These are about torch itself: they build no net of the configuration, whose cost is not theirs.
OF_TORCH = (
    LAYER_NORM,
    BY_HAND,
    SMALL_TOKENS,
    WHO_IS_SEEN,
    BATCH_NORM_MEMORY,
    COPIES,
    FINAL_NORM,
    GRADIENT_SIZES,
    CLOSED_BRANCHES,
)
