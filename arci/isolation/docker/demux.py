"""The engine's attach stream: 8-byte headers and payloads, cut anywhere. Sans-io and pure."""

from __future__ import annotations

from collections.abc import Iterator

from arci.isolation.base import Chunk

__all__ = ["Demux"]

_HEADER = 8
_NAMES = {0: "stdout", 1: "stdout", 2: "stderr"}


class Demux:
    """Feed bytes as they come, get chunks per stream. A header that is none raises ValueError."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._stream = ""
        self._left = 0

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """The chunks in `data`; a payload is passed on without waiting for the end of its frame."""
        view = memoryview(data)
        while view:
            if self._left:
                piece = view[: self._left]
                self._left -= len(piece)
                view = view[len(piece) :]
                yield Chunk(self._stream, bytes(piece))
            else:
                take = _HEADER - len(self._header)
                self._header += view[:take]
                view = view[take:]
                if len(self._header) == _HEADER:
                    self._open_frame()

    @property
    def is_between_frames(self) -> bool:
        """False where the stream was cut inside a frame."""
        return not self._left and not self._header

    def _open_frame(self) -> None:
        kind, zeros = self._header[0], self._header[1:4]
        if kind not in _NAMES or any(zeros):
            raise ValueError(f"attach stream: frame header {bytes(self._header).hex()}; 00, 01 or 02 and three zeros")
        self._stream = _NAMES[kind]
        self._left = int.from_bytes(self._header[4:], "big")
        self._header.clear()
