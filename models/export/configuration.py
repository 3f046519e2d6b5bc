"""A configuration as JSON and back, or from a link. Pasted text is bounded, and refused in a sentence."""

import json
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any
from urllib.parse import parse_qsl

from models.spec import RunConfig, knobs
from models.spec.query import sanitize, sanitized_error

FORMAT = 1
LIMIT = 100_000  # characters
DEEPEST = 8  # levels of nesting, of which a configuration has four
BRACKETS = re.compile(r"[][{}]")


def configuration_json(cfg: RunConfig) -> str:
    """Every field of a configuration as JSON, defaults too, so that the run stays the same when a default changes."""
    fields = {name: getattr(cfg, name) for name in knobs()}
    return json.dumps({"format": FORMAT, "configuration": fields}, indent=2) + "\n"


def comparison_json(runs: Mapping[str, RunConfig]) -> str:
    """The configurations of several runs by their names, each as `configuration_json` has it."""
    return json.dumps({name: json.loads(configuration_json(cfg)) for name, cfg in runs.items()}, indent=2) + "\n"


def configuration_from(text: str) -> tuple[RunConfig, list[str]]:
    """The configuration in an export or a link (a URL or its query), and notes on what was ignored or clamped.

    ValueError with one sentence for anything else.
    """
    if len(text) > LIMIT:
        raise ValueError(f"This is {len(text)} characters long; a configuration has at most {LIMIT}.")
    text = text.strip()
    if text.startswith(("{", "[")):
        return _from_json(text)
    address, _, query = text.partition("#")[0].rpartition("?")
    if "=" not in query and not text.startswith(("http://", "https://")):
        raise ValueError("This is neither an exported configuration (JSON) nor a link.")
    if "=" not in query and not address:  # a URL without a query is the default run
        query = ""
    return RunConfig.from_query(dict(parse_qsl(query, keep_blank_values=True)))


def _from_json(text: str) -> tuple[RunConfig, list[str]]:
    strange = "This JSON holds a number or a nesting that no configuration has."
    if _nesting(text) > DEEPEST:  # how deep Python itself reads depends on its version
        raise ValueError(strange)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"This is not valid JSON: {error.msg}, line {error.lineno}, column {error.colno}.") from None
    except ValueError:
        raise ValueError(strange) from None
    fields = content.get("configuration") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(fields, dict):
        raise ValueError("This JSON is not an exported configuration: it has no field configuration.")
    version = content.get("format")
    if isinstance(version, bool) or version != FORMAT:
        raise ValueError(f"This configuration has format {sanitize(str(version))}; this version reads format {FORMAT}.")
    return _configured(fields)


def _nesting(text: str) -> int:
    """How many brackets are open at once in a text; those in strings count too."""
    return max(accumulate(1 if sign in "[{" else -1 for sign in BRACKETS.findall(text)), default=0)


def _configured(fields: dict[str, Any]) -> tuple[RunConfig, list[str]]:
    known = {name: value for name, value in fields.items() if name in knobs()}
    notes = [f"there is no setting {sanitize(name)}: ignored" for name in fields if name not in knobs()]
    notes += [f"{name} is not given: {getattr(RunConfig, name)!r}" for name in knobs() if name not in known]
    try:
        return RunConfig(**known), notes
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"This configuration cannot be run: {sanitized_error(error)}") from None
