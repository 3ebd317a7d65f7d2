"""The host's end of a control channel: reads the boundary guest's streams, writes frames to it."""

from __future__ import annotations

from typing import Any

from arci.errors import EngineError
from arci.isolation.base import Guest
from arci.model.canonical import canonical
from arci.model.trial import Blame
from arci.run.conversation import Conversation
from arci.run.frames import FrameError, LineCutter
from arci.run.logs import GuestLog
from arci.run.pulse import Pulse

__all__ = ["Channel"]


class Channel:
    """Feeds what the recorder says to `conversation` and its stderr to `log`; beats `pulse` on every piece."""

    def __init__(self, guest: Guest, conversation: Conversation, pulse: Pulse, log: GuestLog) -> None:
        self.guest = guest
        self._conversation = conversation
        self._pulse = pulse
        self._log = log

    async def listen(self) -> None:
        """Until the guest's output ends. Never raises but on cancellation: what breaks becomes a trouble."""
        lines = LineCutter()
        try:
            async for chunk in self.guest.output():
                if chunk.stream == "stderr":
                    self._log.add("stderr", chunk.data)
                    continue
                self._take(lines, chunk.data)
                self._pulse.beat()
        except EngineError as error:
            if not self._conversation.has_ended:
                self._conversation.trouble(Blame.ENGINE, str(error))
            self._conversation.is_closed = True
        self._conversation.close(lines.rest)
        self._pulse.beat()

    def _take(self, lines: LineCutter, data: bytes) -> None:
        if self._conversation.is_closed:
            return  # its output is still drained, so that the guest cannot block on it
        try:
            for line in lines.feed(data):
                self._conversation.absorb(line)
        except FrameError as error:
            self._conversation.trouble(Blame.HARNESS, f"control channel: {error}")
            self._conversation.is_closed = True

    async def send(self, frame: dict[str, Any]) -> None:
        """One frame to the recorder. EngineError as the guest's `send`."""
        await self.guest.send(canonical(frame) + b"\n")
