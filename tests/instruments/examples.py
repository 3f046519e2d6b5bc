"""One example of each question: the nets that have an answer, and what is asked beside the step."""

from typing import Any

from models.exhibits import part, questions

BOTH = ("MLP", "transformer")
EXAMPLES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "signal": (BOTH, {}),
    "trial": (BOTH, {"first": [], "fixed": []}),
    "update": (BOTH, {}),
    "covariate shift": ((), {"block": 1, "shift": 0.5}),  # trains nets of its own
    "who is seen": ((), {}),
    "task examples": ((), {}),
    "lens": (BOTH, {}),
    "continuation": (("transformer",), {"text": "Call me Ish", "count": 10}),
    "revision": (("transformer",), {"text": "Call me Ish"}),
    "replacement": (("transformer",), {"text": "Call me Ish", "at": 5, "token": "o"}),
    "refinement": (("transformer",), {"text": "Call me Ish"}),
}
for question, exhibit in questions().items():
    measure = part(*exhibit, "measure")
    EXAMPLES[question.name] = (
        () if question.of_torch else getattr(measure, "NETS", BOTH),
        getattr(measure, "EXAMPLES", {}).get(question, {}),
    )
