"""HTTP requests out of bytes: framing, limits, every cut, what two readers could read differently."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.wire.http_request import MAX_BODY_BYTES, MAX_HEAD_BYTES, Body, Head, Problem, RequestDecoder
from arci.wire.http_response import response


def read(data: bytes, cuts: list[int] | None = None) -> list[Head | Body | Problem]:
    decoder = RequestDecoder()
    places = [0, *sorted(cuts or []), len(data)]
    return [item for a, b in pairwise(places) for item in decoder.feed(data[a:b])]


def seen(items: list[Head | Body | Problem]) -> list[tuple[object, ...]]:
    """What the items say, comparable."""
    told: list[tuple[object, ...]] = []
    for item in items:
        if isinstance(item, Head):
            told.append((item.method, item.target, item.fields, item.keeps_alive, item.has_body, item.waits))
        else:
            told.append(("body", item.data) if isinstance(item, Body) else ("problem", item.status))
    return told


STREAM = b"".join(
    [
        b"\r\nPOST /t/mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello",
        b"GET /x?y HTTP/1.1\r\n\r\n",
        b"POST /c HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: t\r\n\r\n",
        b"POST /n HTTP/1.1\nContent-Length: 2\nExpect: 100-Continue\n\n\r\n",
        b"DELETE /d HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"POST /l HTTP/1.1\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n",
        b"BAD\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    ]
)
WHOLE = seen(read(STREAM))


def test_requests_of_every_kind_are_read() -> None:
    assert WHOLE == [
        ("POST", "/t/mcp", [("host", "h"), ("content-length", "5"), ("x-a", "b")], True, True, False),
        ("body", b"hello"),
        ("GET", "/x?y", [], True, False, False),
        ("body", b""),
        ("POST", "/c", [("transfer-encoding", "Chunked")], True, True, False),
        ("body", b"abc0123456789"),
        ("POST", "/n", [("content-length", "2"), ("expect", "100-Continue")], True, True, True),
        ("body", b"\r\n"),
        ("DELETE", "/d", [("connection", "keep-alive")], True, False, False),
        ("body", b""),
        ("POST", "/l", [("connection", "x, Close"), ("content-length", "0")], False, False, False),
        ("body", b""),
        ("problem", 400),
    ]


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_no_cut_changes_what_is_read(cuts: list[int]) -> None:
    assert seen(read(STREAM, cuts)) == WHOLE


def test_single_bytes_are_enough() -> None:
    assert seen(read(STREAM, list(range(len(STREAM))))) == WHOLE


@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"POST / HTTP/1.1\r\n", b"\r\n", b"0\r\n"]), max_size=20))
def test_no_bytes_break_it(pieces: list[bytes]) -> None:
    decoder = RequestDecoder()
    for piece in pieces:
        assert all(isinstance(item, (Head, Body, Problem)) for item in decoder.feed(piece))


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET  / HTTP/1.1\r\n\r\n", 400),
        (b"G\xc3T / HTTP/1.1\r\n\r\n", 400),
        (b"GET /\x7f HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nA : b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: \x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%X\r\n" % (MAX_BODY_BYTES + 1), 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 2000, 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * 20_000, 431),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * MAX_HEAD_BYTES, 431),
    ],
)
def test_what_cannot_be_read_beyond_doubt_is_refused_and_nothing_after_it_is_read(
    request_bytes: bytes, status: int
) -> None:
    items = read(request_bytes + b"GET / HTTP/1.1\r\n\r\n")
    assert seen(items)[-1] == ("problem", status)
    assert seen(read(request_bytes, list(range(0, len(request_bytes), 7))))[-1] == ("problem", status)


def test_a_body_of_the_longest_size_is_read() -> None:
    data = b"x" * MAX_BODY_BYTES
    for head in (b"Content-Length: %d\r\n\r\n" % len(data), b"Transfer-Encoding: chunked\r\n\r\n%X\r\n" % len(data)):
        end = b"\r\n0\r\n\r\n" if b"chunked" in head else b""
        items = read(b"POST / HTTP/1.1\r\n" + head + data + end)
        assert seen(items)[-1] == ("body", data)


def test_what_it_holds_is_told_and_let_go() -> None:
    decoder = RequestDecoder()
    decoder.feed(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
    assert decoder.buffered == 2
    decoder.feed(b"cde\r\n0\r\n\r\n")
    assert (decoder.buffered, decoder.is_between) == (0, True)


def test_a_response_says_how_long_it_is() -> None:
    assert response(200, b"{}", (("A", "b"),), closes=True) == (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nA: b\r\nConnection: close\r\n\r\n{}"
    )
    assert response(202) == b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    assert response(204) == b"HTTP/1.1 204 No Content\r\n\r\n"
