"""No form of a secret gets through, wherever a text is cut, and nothing else is touched."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.isolation.output import LogTail
from arci.run.logs import GuestLog, keep_logs
from arci.run.masking import Masks

SECRET = 's3cr3t "k\\ey/+=ü&x'
MASKS = Masks({"KEY": SECRET, "SHORT": "abc", "EMPTY": ""})


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps(json.dumps({"a": SECRET})),
    ],
)
def test_every_form_of_a_secret_is_masked(form: str) -> None:
    masked = MASKS.text(f"before {form} after")
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert "<secret:KEY>" in masked
    assert "s3cr3t" not in masked
    assert base64.b64encode(SECRET.encode()).decode()[:12] not in masked
    data = MASKS.output(form.encode())
    assert b"s3cr3t" not in data
    assert len(data) == len(form.encode())


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_a_secret_within_a_longer_base64_text_is_masked(before: str) -> None:
    text = base64.b64encode(f"{before}{SECRET}:tail".encode()).decode()
    assert "<secret:KEY>" in MASKS.text(text)


def test_keys_lists_and_nothing_but_text_are_reached() -> None:
    value = {"a": [SECRET, {"b" + SECRET: 1}], "n": 1, "t": True, "x": None}
    assert MASKS.value(value) == {"a": ["<secret:KEY>", {"b<secret:KEY>": 1}], "n": 1, "t": True, "x": None}


def test_short_values_and_no_secrets_touch_nothing() -> None:
    assert MASKS.text("abc alphabet abc") == "abc alphabet abc"
    assert Masks({}).value({"a": SECRET}) == {"a": SECRET}
    assert Masks({}).output(b"x") == b"x"


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_secret_torn_by_the_cut_of_a_log_leaves_no_piece(before: int, after: int) -> None:
    secret = "0123456789abcdefghij"
    masks = Masks({"KEY": secret})
    log = GuestLog()
    log.streams["stdout"] = LogTail(30, 30)
    log.streams["stdout"].add(b"-" * before + secret.encode() + b"-" * after + secret.encode() + b"-" * before)
    kept, entries = keep_logs({"agent": log}, masks)
    stream = kept["agent"]["stdout"]
    assert set(stream.head + stream.tail) <= set(b"-*")
    assert entries["agent"]["stdout"]["bytes"] == stream.total == 2 * before + after + 40
    assert stream.left_out == max(0, stream.total - 60)
