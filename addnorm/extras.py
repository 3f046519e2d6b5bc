"""Optional packages, which an extra of addnorm installs: imported where they are needed, or named in one sentence."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def optional(module: str, extra: str, user: str) -> Any:
    """A module of an optional package. Raises ImportError: one sentence if it is missing, or does not load here."""
    package = module.partition(".")[0]
    spec = find_spec(package)
    if spec is None or spec.origin is None:  # a folder of that name is no package
        raise ImportError(f"{user} needs {package}: pip install 'addnorm[{extra}]'.")
    try:
        return import_module(module)
    except Exception as error:  # a package built for another release of torch raises anything
        lines = str(error).splitlines() or [type(error).__name__]
        raise ImportError(f"{user} needs {package}, which is installed but does not load: {lines[0]}") from error
