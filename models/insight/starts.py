"""What became of other nets that started alike, or whose early updates were as large: counted, and said in words.

`python -m benchmarks verdicts` draws small nets at random, trains them and prints these tables; `held-out` draws
others. They are split by net, optimiser and task, because the parts differ: what holds for most transformers holds for
half of the MLPs. Nothing is said of a net whose net, optimiser and task were not drawn.
"""

from typing import NamedTuple

from models.spec import RunConfig
from models.spec.cautions import note

STEPS = 200  # that each net was trained for
EARLY, UPDATE_DEPTH = 8, 16  # the last step of an early update; blocks of the deepest net whose updates were counted
LEAST, SHAPES = 20, 3  # nets, and shapes among them, below which nothing is said
WORDS = {"Few": (0.0, 0.3), "About half": (0.4, 0.6), "Most": (0.7, 1.0)}  # and the shares of nets that they stand for

# By net the depths, by optimiser the learning rates that were drawn.
DEPTHS = {"mlp": (2, 4, 8, 16, 32, 64), "transformer": (2, 4, 8, 16)}
RATES = {"momentum": (0.003, 0.01, 0.03, 0.1), "adam": (3e-4, 1e-3, 3e-3, 1e-2)}
TASKS = {"digits": "the digits", "spiral": "the spiral", "book": "the book"}
OPTIMIZERS = {"momentum": "momentum", "adam": "Adam"}
NETS = {"mlp": "MLPs", "transformer": "transformers"}


class Group(NamedTuple):
    """A part of the nets that were drawn."""

    net: str
    optimizer: str
    task: str


class Count(NamedTuple):
    """How many of some `nets` learn, and of how many different shapes these nets are.

    To learn is to end below nine tenths of the loss of guessing.
    """

    learn: int
    nets: int
    shapes: int

    @property
    def word(self) -> str:
        """A key of WORDS; empty where too few were counted, or the share lies between two words."""
        share = self.learn / max(1, self.nets)
        said = (word for word, (low, high) in WORDS.items() if low <= share <= high)
        return next(said, "") if self.nets >= LEAST and self.shapes >= SHAPES else ""


# By the verdict before any update.
STARTS: dict[Group, dict[str, Count]] = {
    Group("mlp", "adam", "digits"): {
        "exploding": Count(0, 8, 1),
        "healthy": Count(70, 72, 10),
        "inert": Count(32, 32, 8),
    },
    Group("mlp", "adam", "spiral"): {
        "healthy": Count(35, 51, 7),
        "inert": Count(3, 5, 3),
    },
    Group("mlp", "momentum", "digits"): {
        "collapsed": Count(0, 14, 3),
        "exploding": Count(0, 8, 1),
        "healthy": Count(46, 51, 8),
        "inert": Count(16, 16, 2),
        "vanishing": Count(4, 23, 4),
    },
    Group("mlp", "momentum", "spiral"): {
        "collapsed": Count(1, 2, 1),
        "exploding": Count(1, 5, 3),
        "healthy": Count(28, 35, 6),
        "inert": Count(8, 17, 3),
        "vanishing": Count(0, 5, 2),
    },
    Group("transformer", "adam", "book"): {
        "collapsed": Count(2, 4, 2),
        "healthy": Count(20, 44, 7),
        "inert": Count(6, 9, 2),
        "vanishing": Count(0, 15, 2),
    },
    Group("transformer", "adam", "digits"): {
        "collapsed": Count(0, 1, 1),
        "diverged": Count(0, 2, 1),
        "exploding": Count(0, 7, 2),
        "healthy": Count(32, 34, 6),
        "inert": Count(10, 12, 5),
        "vanishing": Count(1, 8, 1),
    },
}
# By whether an early update was large (`verdict.LARGE_UPDATE`), of nets that start healthy, at the learning rates above
# and at ten times these.
UPDATES: dict[tuple[str, str], dict[bool, Count]] = {  # by net and optimiser
    ("mlp", "adam"): {False: Count(124, 136, 11), True: Count(12, 26, 11)},
    ("mlp", "momentum"): {False: Count(76, 92, 8), True: Count(3, 14, 5)},
}


def became(cfg: RunConfig, start: str) -> str:
    """What became of the nets like this one that had this verdict before any update; empty where that is not known."""
    group = Group(cfg.net, cfg.optimizer, cfg.task)
    count = STARTS.get(group, {}).get(start)
    low, *_, high = RATES.get(cfg.optimizer, (1.0, 0.0))
    if count is None or not count.word or note(cfg) or cfg.depth > DEPTHS[cfg.net][-1] or not low <= cfg.lr <= high:
        return ""
    return (
        f"{count.word} of the {NETS[cfg.net]} drawn at random that start like this learn {TASKS[cfg.task]} with "
        f"{OPTIMIZERS[cfg.optimizer]} in {STEPS} steps."
    )


def after_updates(cfg: RunConfig, *, large: bool) -> str:
    """How many of the nets like this one learn whose early updates were `large`: "Few of the MLPs drawn at random";
    empty where that is not known.
    """
    count = UPDATES.get((cfg.net, cfg.optimizer), {}).get(large)
    known = count and count.word and not note(cfg) and cfg.task in TASKS and cfg.depth <= UPDATE_DEPTH
    return f"{count.word} of the {NETS[cfg.net]} drawn at random" if count and known else ""
