"""Behind a proxy that seats a class at a replica by its code: takes the Teacher page there before it opens a class."""

from urllib.parse import urlencode

import streamlit as st

from components.classroom import following
from components.shell import address, memory, visitor
from components.shell.component import component
from models.lessons.board import new_code

SEAT = "seat"  # the cookie by which a proxy chooses a replica, see docs/server.md

_component = component(__file__)


def is_changed(class_parameter: str) -> bool:
    """Whether the page loads again with the code of a class to be opened, as its address has none and there are seats.

    Not where the browser's memory, which may still be on its way, has the key of a class.
    """
    query = st.query_params.to_dict()
    if not visitor.cookie(SEAT) or class_parameter in query:
        return False
    query[class_parameter] = new_code()
    link = f"{address.app_url()}/teacher?{urlencode(query, safe=',')}"
    data = {"link": link, "entry": "" if memory.has_answered() else following.KEY_ENTRY}
    _component(key="teacher_seat", data=data, height=0)
    return True
