"""One browser tab as the server sees it: Streamlit's protocol
and the player's, over their websockets, without a browser.

Elements are kept as the page would show them, timers fire as the page's would, both connections come back by themselves
after a cut, and every rerun that was asked for is timed from the request to `script_finished`.
"""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin, Subprotocol

from addnorm.words import number
from tests.load.player import BACK_OFF, Player

PAGE = "playground"
PATIENCE = 60.0  # seconds that `until` waits for content
ANSWER_SECONDS = 10.0  # after which whoever has come back asks again
REST_SECONDS, FOLLOW_SECONDS = 0.4, 1.0  # before the page hears of a playhead at rest, and of one that moves


@dataclass
class Shown:
    """An element on the page, the fragment that drew it, and the run that drew it last."""

    element: Element
    fragment: str
    run: str


@dataclass
class Viewer:
    """A tab on `page` of the server at `url` (http://host:port
    and a path), with the query of its address, for `async with`.

    `headers`: of its websockets. `session`: one of Streamlit's to come back to. `player`: the page's; a page has one.
    `reruns`: seconds from each request to the end of the run that answered it. `exceptions`: texts, ever shown.
    `cuts`: how often its connection has ended. `unanswered`: how often it came back, and Streamlit sent the answer to
    the connection that was lost, for its loop over sessions still held that one. Then it asks again, as whoever sees
    nothing happen clicks.
    """

    url: str
    page: str = ""
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    session: str = ""
    reruns: list[float] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    unanswered: int = 0
    cuts: int = 0
    _shown: dict[tuple[int, ...], Shown] = field(default_factory=dict)
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _timers: dict[str, tuple[float, asyncio.Task[None]]] = field(default_factory=dict)
    _asked: list[tuple[float, str]] = field(default_factory=list)  # when a run was asked for, and of which fragment
    _running: list[float] = field(default_factory=list)
    _socket: ClientConnection | None = None
    _connected: bool = False
    _page_hash: str = ""
    _run: str = ""

    async def __aenter__(self) -> Self:
        self._came = asyncio.Condition()
        self.player = Player(self.url, self.headers, self._something_came)
        self._reader = asyncio.create_task(self._hold())
        self._teller = asyncio.create_task(self._tell())
        await self.until(lambda: self._connected, "the connection")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_timers()
        self._teller.cancel()
        self._reader.cancel()
        await self.player.leave()
        if self._socket is not None:
            await self._socket.close()

    async def cut(self) -> None:
        """Loses both connections without a goodbye, and comes back a moment later."""
        assert self._socket is not None
        self.player.abort()
        self._connected = False
        self._socket.transport.abort()
        await self._socket.wait_closed()

    # --- its player ---

    @property
    def stage(self) -> Player:
        """The player, by the name that tools outside this repository use."""
        return self.player

    @property
    def step(self) -> int:
        """The step that is shown."""
        return self.player.step

    @property
    def playing(self) -> bool:
        """Whether the playhead moves on."""
        return self.player.playing

    @property
    def losses(self) -> list[float]:
        """The training losses that are here, one per row."""
        rows = self.player.runs[0].rows if self.player.runs else {}
        return [float(rows[at][0]) for at in sorted(rows)]

    @property
    def sites(self) -> int:
        """The points of the profile that is shown, 0 before there is one."""
        return len(self.player.runs[0].sites) if self.player.runs else 0

    def says(self, kind: str) -> str:
        """The sentence of the step that is shown, of a kind as in `models.insight.sentences.KINDS`."""
        loss = number(self.losses[self.step]) if self.losses else ""
        return self.player.runs[0].sentence(kind, self.step).replace("{step}", str(self.step)).replace("{loss}", loss)

    def train(self) -> None:
        """Presses Train."""
        self.player.play()

    def pause(self) -> None:
        """Presses Pause."""
        self.player.rest(self.step)

    def seek(self, step: int) -> None:
        """Moves the slider "Step shown"; also what Step and Reset do."""
        self.player.rest(step)

    async def ready(self) -> None:
        """Waits until the page is drawn, with a profile on its player, waits for no answer itself, and nothing runs."""
        await self.until(lambda: self.sites and not self._timers, "the first profile")
        await self.settled()

    async def rested(self) -> None:
        """Waits until the page knows where the playhead rests, and has run for it."""
        player = self.player
        await self.until(
            lambda: not player.playing and player.told == (player.head, False), "the page that hears of the step"
        )
        await self.settled()
        await self.until(lambda: not self._timers, "what the page has to say of the step")

    # --- its page ---

    async def forge(self, *states: WidgetState) -> None:
        """Claims that widgets, of this page or of none, have these values."""
        self._states |= {state.id: state for state in states}
        await self._rerun()

    async def clear_cache(self) -> None:
        """Asks for the server's caches to be cleared, as Streamlit's own menu does."""
        await self._send(BackMsg(clear_cache=True))

    def widget(self, kind: str, label: str) -> Any:
        """The message that drew the widget whose label starts so."""
        return getattr(self._labelled(kind, label).element, kind)

    def component(self) -> Shown:
        """The element that is the player."""
        return next(shown for shown in self._elements("bidi_component") if _declared(shown.element) is not None)

    @property
    def text(self) -> str:
        """All markdown, captions, alerts and HTML on the page, a line each."""
        kinds = ("markdown", "alert", "html")
        return "\n".join(getattr(shown.element, kind).body for kind in kinds for shown in self._elements(kind))

    @property
    def progress(self) -> str:
        """What the progress bars on the page say."""
        return "\n".join(shown.element.progress.text for shown in self._elements("progress"))

    def shows(self, label: str) -> bool:
        """Whether there is a button whose label starts so."""
        return any(shown.element.button.label.startswith(label) for shown in self._elements("button"))

    async def press(self, label: str, at: int = 0) -> None:
        """Clicks the button whose label starts so, of several the one `at` this place."""
        shown = self._labelled("button", label, at)
        await self._rerun(shown.fragment, trigger=WidgetState(id=shown.element.button.id, trigger_value=True))

    async def slide(self, label: str, value: float) -> None:
        """Moves a slider."""
        shown = self._labelled("slider", label)
        state = WidgetState(id=shown.element.slider.id)
        state.double_array_value.data.append(value)
        self._states[state.id] = state
        await self._rerun(shown.fragment)

    async def write(self, label: str, value: str) -> None:
        """Types a text into a field, and leaves it."""
        shown = self._labelled("text_input", label)
        self._states[shown.element.text_input.id] = WidgetState(id=shown.element.text_input.id, string_value=value)
        await self._rerun(shown.fragment)

    async def turn(self, label: str, value: bool) -> None:
        """Turns a switch."""
        shown = self._labelled("checkbox", label)
        self._states[shown.element.checkbox.id] = WidgetState(id=shown.element.checkbox.id, bool_value=value)
        await self._rerun(shown.fragment)

    async def until(self, true: Callable[[], Any], what: str, seconds: float = PATIENCE) -> None:
        """Waits for content; AssertionError with what is on the page when it does not come."""
        try:
            async with asyncio.timeout(seconds), self._came:
                await self._came.wait_for(lambda: true() or self._reader.done() or self.player.failure)
        except TimeoutError:
            pass
        if self._reader.done():
            await self._reader
        if self.player.failure:
            raise self.player.failure
        assert true(), f"waited in vain for {what}; exceptions {self.exceptions}; the page says:\n{self.text}"

    @property
    def at_rest(self) -> bool:
        """Whether the page is connected and every run that was asked for is over."""
        return self._connected and not self._asked and not self._running

    async def settled(self, seconds: float = PATIENCE) -> None:
        """Waits until the page is connected and every run that was asked for is over."""
        await self.until(lambda: self.at_rest, "the end of the run", seconds)

    async def _hold(self) -> None:
        """Keeps the connection to one session, and says at every return what the page's controls say."""
        address, origin = (
            self.url.replace("http", "ws", 1) + "/_stcore/stream",
            Origin("/".join(self.url.split("/")[:3])),
        )
        how: dict[str, Any] = {
            "origin": origin,
            "additional_headers": self.headers,
            "max_size": None,
            "ping_interval": None,
        }
        while True:
            # The third word is the session to come back to; the second,
            # of an authentication, is not looked at without one.
            words = ["streamlit", *(["none", self.session] if self.session else [])]
            try:
                async with connect(address, subprotocols=[Subprotocol(word) for word in words], **how) as self._socket:
                    self._asked, self._running = [], []
                    await self._rerun()
                    self._connected = True
                    await self._something_came()
                    again = asyncio.create_task(self._ask_again(self._run))
                    try:
                        await self._read(self._socket)
                    finally:
                        again.cancel()
            except (OSError, WebSocketException):
                pass
            self._connected = False
            self.cuts += 1
            await self._something_came()
            self._stop_timers()
            await asyncio.sleep(BACK_OFF)

    async def _ask_again(self, before: str) -> None:
        await asyncio.sleep(ANSWER_SECONDS)
        if before and self._run == before:
            self.unanswered += 1
            self._asked = []
            await self._rerun()

    async def _tell(self) -> None:
        """Tells the page where its playhead rests, and once a second where it moves, if the page wants to hear that."""
        player, told_at = self.player, 0.0
        while True:
            await asyncio.sleep(REST_SECONDS)
            reports, now, place = (
                player.data.get("reports", "never"),
                time.perf_counter(),
                (player.head, player.playing),
            )
            moves = player.playing and (reports != "follow" or now - told_at < FOLLOW_SECONDS)
            if place == player.told or reports == "never" or moves or not self._connected:
                continue
            player.told, told_at = place, now
            at = {"step": player.head, "playing": player.playing, "here": player.here, "runs": player.links}
            said = {"at": at}
            shown = self.component()
            state = WidgetState(id=shown.element.bidi_component.id, json_value=json.dumps(said))
            self._states[state.id] = state
            await self._rerun(shown.fragment)

    async def _something_came(self) -> None:
        async with self._came:
            self._came.notify_all()

    def _elements(self, kind: str) -> list[Shown]:
        return [shown for _, shown in sorted(self._shown.items()) if shown.element.WhichOneof("type") == kind]

    def _labelled(self, kind: str, label: str, at: int = 0) -> Shown:
        found = [shown for shown in self._elements(kind) if getattr(shown.element, kind).label.startswith(label)]
        assert found, f"no {kind} {label!r}; the page says:\n{self.text}"
        return found[at]

    async def _rerun(self, fragment: str = "", *, trigger: WidgetState | None = None, timer: bool = False) -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash, state.fragment_id = self.query, self._page_hash, fragment
        state.page_name = "" if self._page_hash else self.page
        state.is_auto_rerun = timer
        state.widget_states.widgets.extend([*self._states.values(), *([trigger] if trigger else [])])
        self._asked.append((time.perf_counter(), fragment))
        await self._send(message)

    async def _send(self, message: BackMsg) -> None:
        """Says something, to nobody where the connection is lost."""
        if self._socket is not None:
            with suppress(WebSocketException):
                await self._socket.send(message.SerializeToString())

    async def _read(self, socket: ClientConnection) -> None:
        async for data in socket:
            assert isinstance(data, bytes)
            message = ForwardMsg.FromString(data)
            handle = getattr(self, f"_on_{message.WhichOneof('type')}", None)
            if handle is not None:
                async with self._came:
                    handle(message)
                    self._came.notify_all()

    def _on_new_session(self, message: ForwardMsg) -> None:
        """A run begins: it answers all that was asked before. A run of the whole page stops the timers."""
        self._running, self._asked = self._running + [asked for asked, _ in self._asked], []
        self._run = message.metadata.run.script_run_id
        self.session = message.new_session.initialize.session_id or self.session
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
        if (player := _declared(element)) is not None:
            self.player.declare(player)
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
        if not drawn:  # Streamlit answers nobody who asks for a fragment that is gone
            alive = {"", *(shown.fragment for shown in self._shown.values())}
            self._asked = [(asked, fragment) for asked, fragment in self._asked if fragment in alive]

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
            await self._rerun(fragment, timer=True)


def _declared(element: Element) -> dict[str, Any] | None:
    """What a page says to its player, where an element is one."""
    if element.WhichOneof("type") != "bidi_component":
        return None
    data = json.loads(element.bidi_component.json or "{}")
    return dict(data) if "ticket" in data and "runs" in data else None
