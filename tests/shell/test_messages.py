"""What a page sends to the browser: whole elements, never references to what it had sent before."""

import tomllib
from pathlib import Path

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import create_reference_msg, populate_hash_if_needed
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

SETTINGS = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text("utf-8"))


def element(place: int, size: int = 10) -> ForwardMsg:
    """An element of a fragment, of so many bytes, as Streamlit makes it ready to be sent."""
    message = ForwardMsg()
    message.metadata.delta_path[:] = [0, 1, place]
    message.delta.fragment_id = "player"
    message.delta.new_element.markdown.body = "x" * size
    populate_hash_if_needed(message)
    return message


def test_the_largest_picture_is_sent_whole() -> None:
    assert not element(0, int(SETTINGS["server"]["maxMessageSize"] * 1_000_000)).metadata.cacheable


def test_references_would_outlive_the_elements_before_them_when_a_fragment_is_drawn_again() -> None:
    """Why: a browser that is told of the third element of a block with one throws the whole page away."""
    queue = ForwardMsgQueue()
    queue.enqueue(element(1))
    queue.enqueue(create_reference_msg(element(2)))
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["player"])
    assert [list(message.metadata.delta_path) for message in queue.flush()] == [[0, 1, 2]]
