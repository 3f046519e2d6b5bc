"""A student's tab: a viewer that also hears, over the class's connection, when its class is shown something else."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

from tests.load.viewer import Viewer


@dataclass
class Pupil(Viewer):
    """`listener`: what the page says to its connection. `heard`: what that said last."""

    listener: dict[str, Any] = field(default_factory=dict)
    heard: dict[str, Any] = field(default_factory=dict)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.until(lambda: self.listener, "the class")
        self._ears = asyncio.create_task(self._hear())
        return self

    async def __aexit__(self, *how: Any) -> None:
        self._ears.cancel()
        await super().__aexit__(*how)

    async def _hear(self) -> None:
        """Asks for the page again whenever it does not show the version that it hears of."""
        address, origin = self.url.replace("http", "ws", 1) + "/class", Origin("/".join(self.url.split("/")[:3]))
        async with connect(address, origin=origin, additional_headers=self.headers) as socket:
            await socket.send(json.dumps({"class": self.listener["code"], "ticket": self.listener["ticket"]}))
            with suppress(WebSocketException):
                async for message in socket:
                    self.heard = json.loads(message)
                    await self._something_came()
                    if self.heard["version"] != self.listener["version"]:
                        await self._rerun()

    def _on_delta(self, message: ForwardMsg) -> None:
        super()._on_delta(message)
        element = message.delta.new_element
        if element.WhichOneof("type") == "bidi_component":
            data = json.loads(element.bidi_component.json or "{}")
            if {"code", "ticket", "version"} <= data.keys():
                self.listener = data
