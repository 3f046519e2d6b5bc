"""One example of each question to an instrument: the nets that have an answer, and what is asked beside the step."""

from typing import Any

from models.exhibits import part, questions

BOTH = ("MLP", "transformer")
EXAMPLES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "signal": (BOTH, {}),
    "trial": (BOTH, {"first": [], "fixed": []}),
    "translation": ((), {}),  # trains a net of its own, on another task
    "few samples": ((), {"norms": ["none"], "samples": 20, "seeds": 1}),  # trains nets of its own
    "update": (BOTH, {}),
    "smoothness": (BOTH, {}),
    "smoothness with noise": (BOTH, {}),
    "edge of stability": (BOTH, {}),
    "covariate shift": ((), {"block": 1, "shift": 0.5}),  # trains nets of its own
    "sublayers": (("transformer",), {}),
    "lens": (BOTH, {}),
    "continuation": (("transformer",), {"text": "Call me Ish", "count": 10}),
    "revision": (("transformer",), {"text": "Call me Ish"}),
    "replacement": (("transformer",), {"text": "Call me Ish", "at": 5, "token": "o"}),
    "cached": (("transformer",), {"text": "Call me Ish"}),
    "refinement": (("transformer",), {"text": "Call me Ish"}),
    "lookup": (("transformer",), {"text": "Call me Ish"}),
    "place": (("transformer",), {}),
    "beyond": (("transformer",), {}),
}
EXAMPLES |= {
    question.name: (BOTH, getattr(part("instruments", folder, "measure"), "EXAMPLES", {}).get(question, {}))
    for question, folder in questions().items()
}
