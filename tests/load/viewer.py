"""One browser tab as the server sees it: Streamlit's protocol over its websocket, without a browser.

Elements are kept as the page would show them, timers fire as the page's would, and every rerun that was asked for is
timed from the request to `script_finished`.
"""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

PATIENCE = 60.0  # seconds that `until` waits for content
ANSWER_SECONDS = 10.0  # after which whoever has come back asks again


@dataclass
class Shown:
    """An element on the page, the fragment that drew it, and the run that drew it last."""

    element: Element
    fragment: str
    run: str


@dataclass
class Viewer:
    """A tab on `page` of the server at `url` (http://host:port), with the query of its address. Use it with `async with`.

    `reruns`: seconds from each request to the end of the run that answered it. `exceptions`: texts, ever shown.
    `hidden`: a tab in the background, whose timers stand still.
    """

    url: str
    page: str = ""
    query: str = ""
    reruns: list[float] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    hidden: bool = False
    unanswered: int = 0
    _shown: dict[tuple[int, ...], Shown] = field(default_factory=dict)
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _timers: dict[str, tuple[float, asyncio.Task[None]]] = field(default_factory=dict)
    _asked: list[float] = field(default_factory=list)
    _running: list[float] = field(default_factory=list)
    _session: str = ""
    _page_hash: str = ""
    _run: str = ""

    async def __aenter__(self) -> Self:
        self._came = asyncio.Condition()
        await self._connect()
        await self._rerun()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop_timers()
        self._reader.cancel()
        await self._socket.close()

    async def cut(self) -> None:
        """Loses the connection without a goodbye."""
        self._stop_timers()
        self._reader.cancel()
        self._socket.transport.abort()
        await self._socket.wait_closed()
        self._asked, self._running = [], []

    async def reconnect(self) -> None:
        """Comes back as a browser does after a cut: to the same session, with what its controls say.

        Streamlit may send the answer to the connection that was lost, for its loop over sessions still holds that one. Then it
        is asked again, as by whoever sees nothing happen and clicks; `unanswered` counts how often.
        """
        await self._connect()
        await self._rerun()
        try:
            await self.settled(ANSWER_SECONDS)
        except AssertionError:
            self.unanswered += 1
            self._asked, self._running = [], []
            await self._rerun()

    def stop_reading(self) -> None:
        """From now on takes nothing from the connection, which stays open; its timers go on."""
        self._reader.cancel()

    async def forge(self, *states: WidgetState) -> None:
        """Claims that widgets, of this page or of none, have these values."""
        self._states |= {state.id: state for state in states}
        await self._rerun()

    async def clear_cache(self) -> None:
        """Asks for the server's caches to be cleared, as Streamlit's own menu does."""
        await self._socket.send(BackMsg(clear_cache=True).SerializeToString())

    def widget(self, kind: str, label: str) -> Any:
        """The message that drew the widget whose label starts so."""
        return getattr(self._labelled(kind, label).element, kind)

    @property
    def polls(self) -> bool:
        """Whether a timer is running."""
        return bool(self._timers)

    @property
    def text(self) -> str:
        """All markdown, captions and alerts on the page, a line each."""
        return "\n".join(getattr(shown.element, kind).body for kind in ("markdown", "alert") for shown in self._elements(kind))

    def figure(self, alt: str) -> dict[str, Any] | None:
        """The plotly figure of the live chart whose accessible name starts so."""
        for shown in self._elements("bidi_component"):
            data = json.loads(shown.element.bidi_component.json or "{}")
            if str(data.get("alt", "")).startswith(alt):
                return data["figure"]
        return None

    def shows(self, label: str) -> bool:
        """Whether there is a button whose label starts so."""
        return any(shown.element.button.label.startswith(label) for shown in self._elements("button"))

    async def press(self, label: str) -> None:
        """Clicks the button whose label starts so."""
        shown = self._labelled("button", label)
        await self._rerun(shown.fragment, trigger=WidgetState(id=shown.element.button.id, trigger_value=True))

    async def slide(self, label: str, value: float) -> None:
        """Moves a slider."""
        shown = self._labelled("slider", label)
        state = WidgetState(id=shown.element.slider.id)
        state.double_array_value.data.append(value)
        self._states[state.id] = state
        await self._rerun(shown.fragment)

    async def poll(self) -> None:
        """Lets the timers fire now, and waits for what comes of it."""
        for fragment in list(self._timers):
            await self._rerun(fragment, timer=True)
        await self.settled()

    async def until(self, true: Callable[[], Any], what: str, seconds: float = PATIENCE) -> None:
        """Waits for content; AssertionError with what is on the page when it does not come."""
        try:
            async with asyncio.timeout(seconds), self._came:
                await self._came.wait_for(lambda: true() or self._reader.done())
        except TimeoutError:
            pass
        if self._reader.done():
            await self._reader
        assert true(), f"waited in vain for {what}; exceptions {self.exceptions}; the page says:\n{self.text}"

    async def settled(self, seconds: float = PATIENCE) -> None:
        """Waits until every run that was asked for is over."""
        await self.until(lambda: not self._asked and not self._running, "the end of the run", seconds)

    async def _connect(self) -> None:
        address = self.url.replace("http", "ws", 1) + "/_stcore/stream"
        # The third word is the session to come back to; the second, of an authentication, is not looked at without one.
        words = ["streamlit", *(["none", self._session] if self._session else [])]
        self._socket = await websockets.connect(address, subprotocols=[websockets.Subprotocol(w) for w in words], max_size=None)
        self._reader = asyncio.create_task(self._read())

    def _elements(self, kind: str) -> list[Shown]:
        return [shown for _, shown in sorted(self._shown.items()) if shown.element.WhichOneof("type") == kind]

    def _labelled(self, kind: str, label: str) -> Shown:
        found = [shown for shown in self._elements(kind) if getattr(shown.element, kind).label.startswith(label)]
        assert found, f"no {kind} {label!r}; the page says:\n{self.text}"
        return found[0]

    async def _rerun(self, fragment: str = "", *, trigger: WidgetState | None = None, timer: bool = False) -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash, state.fragment_id = self.query, self._page_hash, fragment
        state.page_name = "" if self._page_hash else self.page
        state.is_auto_rerun = timer
        state.widget_states.widgets.extend([*self._states.values(), *([trigger] if trigger else [])])
        self._asked.append(time.perf_counter())
        await self._socket.send(message.SerializeToString())

    async def _read(self) -> None:
        async for data in self._socket:
            assert isinstance(data, bytes)
            message = ForwardMsg.FromString(data)
            handle = getattr(self, f"_on_{message.WhichOneof('type')}", None)
            if handle is not None:
                async with self._came:
                    handle(message)
                    self._came.notify_all()

    def _on_new_session(self, message: ForwardMsg) -> None:
        """A run begins: it answers all that was asked before. A run of the whole page stops the timers."""
        self._running, self._asked = self._running + self._asked, []
        self._run = message.metadata.run.script_run_id
        self._session = message.new_session.initialize.session_id or self._session
        if not message.metadata.run.fragment_ids:
            self._stop_timers()

    def _on_navigation(self, message: ForwardMsg) -> None:
        self._page_hash = message.navigation.page_script_hash

    def _on_delta(self, message: ForwardMsg) -> None:
        delta, place = message.delta, tuple(message.metadata.delta_path)
        if delta.WhichOneof("type") != "new_element":
            return
        element = delta.new_element
        self._shown[place] = Shown(element, delta.fragment_id, self._run)
        if element.WhichOneof("type") == "exception":
            self.exceptions.append(f"{element.exception.type}: {element.exception.message}")
        if element.WhichOneof("type") == "slider" and element.slider.set_value:
            self._states.pop(element.slider.id, None)

    def _on_script_finished(self, message: ForwardMsg) -> None:
        """A run is over: what it would have drawn and did not is gone. One cut short by the next answers nothing."""
        if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            self.exceptions.append("the script does not compile")
        if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            return
        self.reruns += [time.perf_counter() - asked for asked in self._running]
        self._running = []
        drawn = message.metadata.run.fragment_ids
        for place, shown in list(self._shown.items()):
            if shown.run != self._run and (not drawn or shown.fragment in drawn):
                del self._shown[place]

    def _on_page_info_changed(self, message: ForwardMsg) -> None:
        self.query = message.page_info_changed.query_string

    def _on_auto_rerun(self, message: ForwardMsg) -> None:
        fragment, seconds = message.auto_rerun.fragment_id, message.auto_rerun.interval
        before = self._timers.get(fragment)
        if before is None or before[0] != seconds:
            self._stop_timers(fragment)
            self._timers[fragment] = seconds, asyncio.create_task(self._tick(fragment, seconds))

    def _on_stop_auto_rerun(self, message: ForwardMsg) -> None:
        self._stop_timers(*message.stop_auto_rerun.fragment_ids)

    def _stop_timers(self, *fragments: str) -> None:
        for fragment in fragments or list(self._timers):
            if fragment in self._timers:
                self._timers.pop(fragment)[1].cancel()

    async def _tick(self, fragment: str, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            if not self.hidden:
                await self._rerun(fragment, timer=True)
