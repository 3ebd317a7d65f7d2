"""A key that an upstream echoes reaches no one, wherever its answer is cut."""

from __future__ import annotations

import base64
import itertools

import httpx
import pytest
from egress_server import KEY
from hypothesis import given
from hypothesis import strategies as st

from arci.run.egress.proxy import proxy_of
from arci.run.egress.scrub import Scrub
from arci.run.egress.wire_errors import wire_failure
from arci.run.masking import Masks

MASKS = Masks({"OPENAI_API_KEY": KEY})


@given(
    before=st.binary(max_size=20),
    cuts=st.lists(st.integers(0, 80), max_size=6),
    form=st.sampled_from([KEY.encode(), base64.b64encode(KEY.encode())]),
)
def test_no_cut_lets_a_key_through_and_no_length_changes(before: bytes, cuts: list[int], form: bytes) -> None:
    body = before + form + b" after"
    scrub = Scrub(MASKS)
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    out = b"".join(scrub.feed(body[a:b]) for a, b in itertools.pairwise(edges)) + scrub.rest()
    assert len(out) == len(body)
    assert form not in out
    assert out.startswith(before)
    assert out.endswith(b" after")


def test_a_body_without_keys_comes_through_as_it_is_cut() -> None:
    scrub = Scrub(MASKS)
    assert [scrub.feed(b'data: {"a"}\n\n'), scrub.feed(b"data: [DONE]\n\n"), scrub.rest()] == [
        b'data: {"a"}\n\n',
        b"data: [DONE]\n\n",
        b"",
    ]


def test_the_beginning_of_a_key_at_the_end_is_told_from_a_letter() -> None:
    scrub = Scrub(MASKS)
    assert scrub.feed(b"yes") + scrub.rest() == b"yes"
    assert scrub.feed(b"x" + KEY[:12].encode()) + scrub.rest() == b"x" + b"*" * 12


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError(f"refused {KEY}"), "connect"),
        (httpx.ProxyError("407 x"), "connect"),
        (httpx.ReadError(""), "connect"),
        (httpx.ReadTimeout(""), "timeout"),
        (httpx.RemoteProtocolError(f"illegal status line {KEY!r}"), "protocol"),
        (httpx.DecodingError("x"), "protocol"),
        (httpx.LocalProtocolError(f"Illegal header value b'Bearer {KEY} '"), "protocol"),
        (RuntimeError(KEY), "protocol"),
    ],
)
def test_what_the_client_raises_becomes_a_kind_and_a_text_without_key(error: Exception, kind: str) -> None:
    failure = wire_failure(error, MASKS)
    assert failure.kind == kind
    assert not failure.by_agent
    assert KEY not in failure.detail


def test_a_proxy_is_taken_apart_so_that_its_password_is_in_no_text() -> None:
    proxy = proxy_of({"ARCI_HTTPS_PROXY": "http://me:p%40ss@proxy.corp:3128/"})
    assert proxy is not None
    assert (proxy.url, proxy.auth) == ("http://proxy.corp:3128", ("me", "p@ss"))
    assert "p@ss" not in repr(proxy)
    assert proxy_of({"HTTPS_PROXY": "http://proxy.corp:3128"}) is None
    for text in ("proxy.corp:3128", "socks5://proxy.corp", "http://", "http://a b", "http://h/path"):
        with pytest.raises(ValueError, match="is no URL of a proxy"):
            proxy_of({"ARCI_HTTPS_PROXY": text})
