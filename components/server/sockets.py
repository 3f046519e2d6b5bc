"""How many sockets the server may open, and how long a message on one may be."""

from contextlib import suppress

from starlette.types import Receive

from models.spec import bounds

try:
    import resource
except ImportError:  # Windows, where there is no such limit
    resource = None  # type: ignore[assignment]


def raise_file_limit() -> int:
    """Raises the limit of open files and sockets to MAX_FILES or the hard limit; returns the new limit.

    0 on Windows, which has no such limit.
    """
    if resource is None:
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = bounds.MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, bounds.MAX_FILES)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return soft
    with suppress(ValueError, OSError):  # macOS allows fewer than its hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def limit_message_size(receive: Receive) -> None:
    """Bounds a websocket's incoming messages; Streamlit's option of that name would bound outgoing ones too."""
    conn = getattr(getattr(receive, "__self__", None), "conn", None)
    if conn is not None and hasattr(conn, "max_message_size"):
        conn.max_message_size = bounds.MAX_MESSAGE_BYTES
