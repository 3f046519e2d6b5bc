"""Glossary terms for measurements, verdicts and runs; see `words`."""

from models.insight.verdict import (
    ADAM_EXPLODING,
    ADAM_VANISHING,
    COLLAPSED,
    DEAD,
    EXPLODING,
    INERT,
    LARGE_UPDATE,
    LOUD_GRADIENT,
    ONE_DIRECTION,
    VANISHING,
)
from models.lessons.words import EVERYWHERE, LABS, Term

MEASURED: dict[str, Term] = {
    # --- what is measured ---
    "rms": Term(
        "Root mean square: the size of a typical entry, regardless of sign.",
        r"\sqrt{\operatorname{mean}(x^2)}",
        met=EVERYWHERE,
        see=("stream",),
    ),
    "signal": Term(
        "The stream's size at every site, as RMS. It does not say whether the stream still carries the input: that is "
        "what the sample cosine is for.",
        met=EVERYWHERE,
        see=("rms", "site", "sample cosine"),
    ),
    "gradient": Term(
        "How the loss changes with a number in the net. The charts by depth show the gradient with respect to the "
        "stream at every site.",
        r"\partial L/\partial x_l",
        met=("playground", "gradients"),
        see=("weight gradient", "vanishing", "exploding"),
    ),
    "weight gradient": Term(
        "How the loss changes with the weights of a block; updates are computed from it.", r"\partial L/\partial W_l"
    ),
    "decade": Term("A factor of ten: 3 decades are a factor of 1,000.", met=EVERYWHERE),
    "loss": Term(
        "Cross-entropy in nats: minus the logarithm of the probability of the right class, on average.",
        r"-\ln p_\text{right}",
        met=EVERYWHERE,
        see=("chance", "held-out"),
    ),
    "chance": Term(
        "The loss of the best constant guess, which gives every class its share of the answers (in `sort`, of the "
        "answers at its place). ln(classes) where all are equally frequent.",
        r"-\sum_c p_c\ln p_c",
        met=EVERYWHERE,
        see=("loss",),
    ),
    "held-out": Term("Samples that no training batch contains.", met=EVERYWHERE, see=("loss",)),
    "sample cosine": Term(
        "The mean cosine between the stream's vectors for different samples at a site; 1 means that they point in "
        "the same direction.",
        r"\frac{x\cdot x'}{|x|\,|x'|}",
        see=("collapsed",),
    ),
    "branch share": Term(
        "The size of a branch's output relative to the stream it is added to, RMS over RMS.",
        r"|F|/|x|",
        met=("playground", "residual"),
    ),
    "update to weight": Term(
        "The length of one update of a block's matrices relative to their own length; 0.001 is a rule of "
        "thumb, Adam's first ones are one to a few per cent (measured at widths 64 and 256).",
        r"|\Delta W|/|W|",
        see=("large updates",),
    ),
    "noise scale": Term(
        "The batch size at which the noise of the gradient is as strong as the gradient itself.",
        r"\operatorname{tr}(\Sigma)/|G|^2",
        "McCandlish 2018, 1812.06162",
        see=("batch",),
    ),
    "effective rank": Term(
        "How many directions a set of vectors spans in effect: the exponential of the entropy of its singular values.",
        r"\exp H(s/\textstyle\sum s)",
        "Roy & Vetterli 2007",
        see=("collapsed",),
    ),
    "kurtosis": Term(
        "How heavy the tails of a distribution are; 3 for a Gaussian.",
        r"\operatorname{E}(x-\mu)^4/\sigma^4",
        see=("rms",),
    ),
    "sharpness": Term(
        "The largest eigenvalue of the Hessian of the loss.",
        r"\lambda_{\max}(\nabla^2L)",
        "Cohen 2021, 2103.00065",
        see=("edge of stability",),
    ),
    "edge of stability": Term(
        "The sharpness above which gradient descent on a quadratic diverges; with momentum 0.9 it is 3.8 over the "
        "learning rate.",
        r"2(1+\beta)/\eta",
        "Cohen 2021, 2103.00065",
        see=("sharpness", "learning rate"),
    ),
    "loss landscape": Term(
        "The loss on a plane through the net's weights; its two random directions are scaled row by row to the "
        "length of the weights.",
        source="Li 2018, 1712.09913",
    ),
    "surgery": Term(
        "One change to a trained net, such as taking out a block, without further training.",
        source="Veit 2016, 1605.06431",
        see=("lesion curve",),
    ),
    "lesion curve": Term(
        "The held-out loss with one block at a time taken out.", source="Veit 2016, 1605.06431", see=("surgery",)
    ),
    "post-mortem": Term("What the last finite numbers of a diverged run suggest about the cause.", see=("diverged",)),
    "finite difference": Term(
        "The slope of the loss from two losses a small step apart, used to check a gradient.",
        r"\frac{L(+h)-L(-h)}{2h}",
    ),
    "jacobian": Term(
        "All partial derivatives of outputs with respect to inputs.",
        r"\partial y_i/\partial x_j",
        met=("playground", "normalization"),
    ),
    # --- verdicts ---
    "exploding": Term(
        f"The verdict where the signal that the head reads becomes more than {EXPLODING:g} times larger over depth "
        f"({ADAM_EXPLODING:,g} with Adam), or its gradient grows {LOUD_GRADIENT:,.0f} times more than that.",
        see=("vanishing",),
    ),
    "vanishing": Term(
        f"The verdict where the signal that the head reads, or its gradient, becomes more than {VANISHING:,g} times "
        f"smaller ({ADAM_VANISHING:,.0f} with Adam).",
        see=("exploding",),
    ),
    "collapsed": Term(
        f"The verdict where the head can hardly tell samples, or tokens, apart: their mean cosine is above "
        f"{COLLAPSED:g}, or they differ in fewer than {ONE_DIRECTION:g} directions (participation ratio).",
        see=("sample cosine",),
    ),
    "borderline": Term(
        "The verdict near exploding, vanishing or collapsed: such nets may learn or fail.",
        see=("exploding", "vanishing", "collapsed"),
    ),
    "inert": Term(
        f"The verdict where no branch reaches {INERT:g} of the stream.",
        see=("branch share",),
    ),
    "large updates": Term(
        f"The verdict where a block changes by more than {LARGE_UPDATE:.0%} in one step.", see=("update to weight",)
    ),
    "dead": Term(
        "A ReLU unit that outputs 0 for all of a fixed set of about 128 samples or tokens; the verdict is given "
        f"above {DEAD:.0%} of a block's units.",
        see=("relu",),
    ),
    "diverged": Term("A run whose numbers became too large to compute with; it ends there.", see=("post-mortem",)),
    "healthy": Term("The verdict where none of the others applies.", see=("exploding", "vanishing", "collapsed")),
    # --- runs ---
    "tape": Term(
        "All rows of a run, computed once and shared by everyone who opens the same link.",
        met=EVERYWHERE,
        see=("playhead", "row"),
    ),
    "playhead": Term(
        "A viewer's own place on a tape; play, pause, step and scrub move it and nothing else.",
        met=EVERYWHERE,
        see=("tape",),
    ),
    "row": Term(
        "What one training step measures: loss, learning rate, and RMS at every site. Row k is before update k.",
        see=("tape", "frame"),
    ),
    "frame": Term(
        "Costlier measurements, taken every few steps: held-out loss, sample cosine and the task's chart.",
        see=("row",),
    ),
    "digest": Term(
        "A short fingerprint of a run's numbers in a shared link, which shows whether a repeated run gives the same."
    ),
    "recursive skip": Term(
        "A residual that adds the stream and normalises the sum repeatedly.",
        r"N(x+N(x+F(x)))",
        "Liu 2020, Rethinking skip connection with layer normalization",
        ("residual", "playground"),
        ("skip repeats",),
    ),
    # --- badges ---
    "measured": Term(
        "The badge of numbers that were measured on the net on screen.", met=(*EVERYWHERE, *LABS), see=("formula",)
    ),
    "recorded": Term("The badge of numbers that were measured earlier and stored.", see=("measured", "formula")),
    "formula": Term(
        "The badge of numbers that follow from a formula, without any net.",
        met=("playground", *LABS),
        see=("measured",),
    ),
}
