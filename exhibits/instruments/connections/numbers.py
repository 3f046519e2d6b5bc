"""What joins the sublayers, in a sentence, and the names of who reads what over depth."""

import numpy as np

from models.content import Texts
from models.spec import RunConfig
from models.spec.plan import depth_sources
from models.trace import site_in_words

TEXTS = Texts("instruments/connections")

GROWS = 1.05  # gain from which something grows
UNEVEN = 1.05  # share over an equal one from which shares differ
HEAD = "the head"


def mixing_sentence(sites: tuple[str, ...], product: np.ndarray, forward: np.ndarray, backward: np.ndarray) -> str:
    """Gains of the product of all mixings, (M, n, n), (M,) and (M,), and what they allow to grow."""
    if not (np.isfinite(forward[-1]) and np.isfinite(backward[-1])):
        return TEXTS("mixing not finite")
    if np.allclose(product, np.eye(product.shape[-1]), atol=1e-6):
        return TEXTS("unmixed")
    signal, gradient = forward[-1] > GROWS, backward[-1] > GROWS
    outcome = TEXTS("both" if signal and gradient else "signal" if signal else "gradient" if gradient else "neither")
    return TEXTS("mixed", site=site_in_words(sites[-1]), forward=forward[-1], backward=backward[-1], outcome=outcome)


def sources(cfg: RunConfig) -> dict[str, str]:
    """What attention over depth reads, K names in words, each with its last site: the input, and branches or sums."""
    sites = [(group[0].site, group[-1].site) for group in depth_sources(cfg)]
    names = [" to ".join(map(site_in_words, dict.fromkeys(ends))) for ends in sites]
    return {"the input": "x0"} | dict(zip(names, (last for _, last in sites), strict=True))


def readers(cfg: RunConfig) -> dict[str, str]:
    """Who reads by attention over depth, in words with its site: every sublayer but the first, and the head."""
    active = [sublayer.site for group in depth_sources(cfg) for sublayer in group]
    return {site_in_words(site): site for site in (*active[1:], HEAD) if active}


def counts(cfg: RunConfig) -> np.ndarray:
    """How many sources each reader has."""
    return np.repeat(np.arange(len(depth_sources(cfg))) + 2, [len(group) for group in depth_sources(cfg)])


def attention_sentence(cfg: RunConfig, attention: np.ndarray) -> str:
    """Whose shares (M, K) differ most from equal ones, and what the head reads."""
    if not len(attention):
        return TEXTS("no reader")
    if not np.isfinite(attention).all():
        return TEXTS("attention not finite")
    names, even = list(sources(cfg)), 1 / counts(cfg)
    ratio = attention.max(1) / even
    least = int(ratio.argmax())
    if ratio[least] < UNEVEN:
        return TEXTS("even")
    head = attention[-1]
    largest = int(head.argmax())
    return TEXTS(
        "uneven",
        reader=list(readers(cfg))[least],
        share=attention[least].max(),
        source=names[int(attention[least].argmax())],
        even=even[least],
        top=head[largest],
        largest=names[largest],
        rest=TEXTS("the input", first=head[0]) if largest else "",
    )
