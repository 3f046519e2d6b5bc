"""The owner of a request to the trainer: a visitor's session, and the part of the page that asks."""

from streamlit.runtime.scriptrunner import get_script_run_ctx

from components.shell import session
from models.service.client import Owner, tape_key
from models.spec import RunConfig


def visitor() -> str:
    """The id of this visitor's session; empty outside of a page."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def owner(part: str, *runs: RunConfig, seeds: int = 1) -> Owner:
    """This visitor, with a part of the current page and the runs that it shows."""
    return Owner(visitor(), session.HERE.get(), part, frozenset(tape_key(cfg, seeds) for cfg in runs))
