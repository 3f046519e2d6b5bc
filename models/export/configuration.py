"""A configuration as JSON and back, or from a link. Pasted text is bounded; errors are single sentences."""

import json
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any
from urllib.parse import parse_qsl

from models.spec import RunConfig, knobs
from models.spec.query import sanitize, sanitized_error

FORMAT = 1
MAX_CONFIGURATION_CHARS = 100_000
MAX_NESTING = 8  # levels; a configuration has four
BRACKETS = re.compile(r"[][{}]")


def configuration_json(cfg: RunConfig) -> str:
    """JSON of all fields, including defaults, so that later changes of a default do not change the run."""
    fields = {name: getattr(cfg, name) for name in knobs()}
    return json.dumps({"format": FORMAT, "configuration": fields}, indent=2) + "\n"


def comparison_json(runs: Mapping[str, RunConfig]) -> str:
    """JSON of several configurations by name, each as in `configuration_json`."""
    return json.dumps({name: json.loads(configuration_json(cfg)) for name, cfg in runs.items()}, indent=2) + "\n"


def configuration_from(text: str) -> tuple[RunConfig, list[str]]:
    """Parses an export or a link (a URL or its query), with notes on ignored and clamped values.

    ValueError with one sentence for anything else.
    """
    if len(text) > MAX_CONFIGURATION_CHARS:
        raise ValueError(f"This is {len(text)} characters long; a configuration has at most {MAX_CONFIGURATION_CHARS}.")
    text = text.strip()
    if text.startswith(("{", "[")):
        return _from_json(text)
    address, _, query = text.partition("#")[0].rpartition("?")
    if "=" not in query and not text.startswith(("http://", "https://")):
        raise ValueError("This is neither an exported configuration (JSON) nor a link.")
    if "=" not in query and not address:  # a URL without a query means the defaults
        query = ""
    return RunConfig.from_query(dict(parse_qsl(query, keep_blank_values=True)))


def _from_json(text: str) -> tuple[RunConfig, list[str]]:
    message = "This JSON holds a number or a nesting that no configuration has."
    if _nesting(text) > MAX_NESTING:  # Python's own limit depends on its version
        raise ValueError(message)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"This is not valid JSON: {error.msg}, line {error.lineno}, column {error.colno}.") from None
    except ValueError:
        raise ValueError(message) from None
    fields = content.get("configuration") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(fields, dict):
        raise ValueError("This JSON is not an exported configuration: it has no field configuration.")
    version = content.get("format")
    if isinstance(version, bool) or version != FORMAT:
        raise ValueError(f"This configuration has format {sanitize(str(version))}; this version reads format {FORMAT}.")
    return _config_from_fields(fields)


def _nesting(text: str) -> int:
    """Largest number of brackets open at once, including those in strings."""
    return max(accumulate(1 if bracket in "[{" else -1 for bracket in BRACKETS.findall(text)), default=0)


def _config_from_fields(fields: dict[str, Any]) -> tuple[RunConfig, list[str]]:
    settings = {name: value for name, value in fields.items() if name in knobs()}
    notes = [f"there is no setting {sanitize(name)}: ignored" for name in fields if name not in knobs()]
    notes += [f"{name} is not given: {getattr(RunConfig, name)!r}" for name in knobs() if name not in settings]
    try:
        return RunConfig(**settings), notes
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"This configuration cannot be run: {sanitized_error(error)}") from None
