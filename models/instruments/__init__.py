"""Instruments: what can be measured, with torch, of a net at one step of its run.

An instrument takes the replays, a configuration and plain arguments, yields the share of its work that is done, and
returns the class of `models.answers` that its question names.
"""

from collections.abc import Callable, Generator
from typing import Any

from models.instruments.cache import cached
from models.instruments.check import check
from models.instruments.collapse import collapse
from models.instruments.covariate import covariate_shift
from models.instruments.curvature import sharpness, stream_jacobian
from models.instruments.descent import edge_of_stability, noisy_smoothness, smoothness, update
from models.instruments.distributions import distributions, layer_film
from models.instruments.few_samples import few_samples
from models.instruments.generation import continuation, refinement, replacement, revision
from models.instruments.health import health
from models.instruments.landscape import landscape
from models.instruments.lens import lens
from models.instruments.lookup import lookup
from models.instruments.paths import gradient_shares, path_lengths
from models.instruments.position import beyond, place
from models.instruments.signal import signal
from models.instruments.stream import stream
from models.instruments.surgery import lesions, sublayers, surgery
from models.instruments.translation import translation
from models.instruments.trial import trial
from models.spec import RunConfig
from models.training import Replays, Snapshot, Work, followed

Instrument = Callable[..., Work[Any]]


def of_still(measure: Callable[..., Any]) -> Instrument:
    """An instrument on the net of one step: `step` goes to the replay, all other arguments to `measure`."""

    def instrument(replays: Replays, cfg: RunConfig, *, step: int, **args: Any) -> Work[Any]:
        def measured(snapshot: Snapshot) -> Work[Any]:
            result = measure(snapshot, **args)
            return (yield from result) if isinstance(result, Generator) else result

        return (yield from followed(replays.snapshot(cfg, min(max(0, int(step)), cfg.steps)), measured))

    return instrument


INSTRUMENTS: dict[str, Instrument] = {
    "stream": of_still(stream),
    "distributions": of_still(distributions),
    "layer film": layer_film,
    "gradient shares": of_still(gradient_shares),
    "path lengths": of_still(path_lengths),
    "signal": signal,
    "check": of_still(check),
    "health": of_still(health),
    "surgery": of_still(surgery),
    "lesions": of_still(lesions),
    "sublayers": of_still(sublayers),
    "collapse": of_still(collapse),
    "lens": of_still(lens),
    "continuation": of_still(continuation),
    "revision": of_still(revision),
    "replacement": of_still(replacement),
    "cached": of_still(cached),
    "refinement": of_still(refinement),
    "lookup": of_still(lookup),
    "place": of_still(place),
    "beyond": of_still(beyond),
    "landscape": of_still(landscape),
    "sharpness": sharpness,
    "stream jacobian": of_still(stream_jacobian),
    "trial": trial,
    "translation": translation,
    "few samples": few_samples,
    "update": update,
    "smoothness": smoothness,
    "smoothness with noise": noisy_smoothness,
    "edge of stability": edge_of_stability,
    "covariate shift": covariate_shift,
}
