"""A key goes only where this user's machine lets it go, whatever a descriptor says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from egress_server import decisions, model
from hypothesis import given, settings
from hypothesis import strategies as st

from arci.errors import SpecError
from arci.run.egress.address import parse_address
from arci.run.egress.allowances import hosts_file, read_allowances
from arci.run.egress.check import upstream_problems
from arci.run.egress.hosts import Allowances, parse_variable

SECRET = "sk-marker-77e1"


def problems_of(base_url: str, *, allowed: str = "", key: str | None = "OPENAI_API_KEY", **env: str) -> list[str]:
    allowances = Allowances(parse_variable(allowed))
    entry = model(0, base_url=base_url, key=key)
    host_env = {"OPENAI_API_KEY": SECRET} | env
    return [str(p) for p in upstream_problems([entry], None, allowances, host_env, "arci.yaml")]


@pytest.mark.parametrize(
    ("base_url", "allowed"),
    [
        ("https://api.openai.com/v1", ""),
        ("https://API.OpenAI.com:443/v1/", ""),
        ("https://eu.api.openai.com/v1", ""),
        ("https://gateway.corp:8443/openai/v1", "OPENAI_API_KEY=gateway.corp"),
        ("https://a.b.corp/v1", "OTHER=x.y; OPENAI_API_KEY = one.corp , *.b.corp ;"),
        ("https://[2001:db8::1]/v1", "OPENAI_API_KEY=2001:db8::1"),
        ("http://127.0.0.1:11434/v1", ""),
        ("http://127.255.3.4/v1", ""),
        ("http://localhost:8000", ""),
        ("http://[::1]:8000/v1", ""),
        ("https://localhost/v1", ""),
    ],
)
def test_an_allowed_host_is_no_problem(base_url: str, allowed: str) -> None:
    assert problems_of(base_url, allowed=allowed) == []


@pytest.mark.parametrize(
    ("base_url", "allowed"),
    [
        ("https://evil.example/v1", ""),
        ("https://api.openai.com.evil.example/v1", ""),
        ("https://evilapi.openai.com/v1", ""),
        ("https://b.corp/v1", "OPENAI_API_KEY=*.b.corp"),
        ("https://xb.corp/v1", "OPENAI_API_KEY=*.b.corp"),
        ("https://evil.example/v1", "ANTHROPIC_API_KEY=evil.example"),
        ("https://evil.example/v1", "*=evil.example"),
        ("https://api.openai.com/v1", "OPENAI_API_KEY=gateway.corp"),
        ("https://169.254.169.254/v1", ""),
        ("https://127.1/v1", ""),
        ("https://2130706433/v1", ""),
        ("https://[::ffff:127.0.0.1]/v1", ""),
        ("https://localhost.evil.example/v1", ""),
    ],
)
def test_any_other_host_is_refused_with_the_variable_that_would_allow_it(base_url: str, allowed: str) -> None:
    (problem,) = problems_of(base_url, allowed=allowed)
    assert problem.startswith("arci.yaml: models.openai.base_url: ")
    host = parse_address(base_url).host
    assert f"ARCI_UPSTREAM_HOSTS='OPENAI_API_KEY={host}'" in problem
    assert SECRET not in problem


@pytest.mark.parametrize(
    "base_url",
    [
        "http://api.openai.com/v1",
        "https://user:pass-w0rd@api.openai.com/v1",
        "https://api.openai.com@evil.example/v1",
        "https://api.openai.com\\@evil.example/v1",
        "https://api.openai.com/v1#x",
        "https://api.openai.com/v1?x=1",
        "https://api.openai.com/v1/../admin",
        "https://api.openai.com/%2e%2e/admin",
        "https://api.openai.com//v1",
        "https://api.openai.com:0/v1",
        "https://api.openai.com:99999/v1",
        "https://api.openai.com./v1",
        "https://api.öpenai.com/v1",
        "https://api.openai.com /v1",
        "https://api.openai.com/v1\n",
        "https://api.openai.com\t/v1",
        "https:///v1",
        "ftp://api.openai.com/v1",
        "//api.openai.com/v1",
        "api.openai.com/v1",
        "",
        "https://[::1/v1",
        "https://[::g]/v1",
    ],
)
def test_what_is_no_plain_https_url_is_refused_before_anyone_asks_for_its_host(base_url: str) -> None:
    (problem,) = problems_of(base_url, allowed="OPENAI_API_KEY=evil.example,api.openai.com")
    assert problem.startswith("arci.yaml: models.openai.base_url: ")
    assert "allow" in problem or "is no IPv6" in problem or "key is taken from" in problem or "https" in problem
    assert "pass-w0rd" not in problem


@settings(deadline=None)
@given(st.text(alphabet="htps:/@\\.#?%[]a1 \n-_", max_size=30).map(lambda tail: "https://" + tail))
def test_no_text_is_read_as_another_host_than_the_one_that_is_called(base_url: str) -> None:
    import httpx

    try:
        address = parse_address(base_url)
    except ValueError:
        return
    assert httpx.URL(base_url).host == address.host
    assert (httpx.URL(base_url).port or 443) == address.port


def test_without_a_key_a_host_must_be_allowed_by_itself() -> None:
    (problem,) = problems_of("https://models.corp/v1", key=None)
    assert "ARCI_UPSTREAM_HOSTS='*=models.corp'" in problem
    assert problems_of("https://models.corp/v1", key=None, allowed="*=models.corp") == []
    assert problems_of("http://127.0.0.1:1/v1", key=None) == []


def test_a_key_that_is_not_set_or_is_no_key_is_a_problem_and_is_not_quoted() -> None:
    (unset,) = problems_of("https://api.openai.com/v1", OPENAI_API_KEY="")
    assert "models.openai.key: the variable OPENAI_API_KEY is not set here." in unset
    assert problems_of("http://localhost/v1", OPENAI_API_KEY="") == []
    (torn,) = problems_of("https://api.openai.com/v1", OPENAI_API_KEY=SECRET + "\nx: y")
    assert "visible ASCII" in torn
    assert SECRET not in torn


def test_every_problem_is_told_and_a_fixture_has_none() -> None:
    entries = [
        model(0, base_url="https://one.example/v1"),
        model(0, name="two", base_url="https://two.example/v1"),
    ]
    env = {"OPENAI_API_KEY": SECRET, "ARCI_HTTPS_PROXY": f"socks5://u:{SECRET}@h", "ARCI_CA_BUNDLE": "/nowhere.pem"}
    found = upstream_problems(entries, decisions(0, base_url="https://three.example"), Allowances(), env, "arci.yaml")
    assert [(p.where, p.path) for p in found] == [
        ("ARCI_HTTPS_PROXY", ""),
        ("ARCI_CA_BUNDLE", ""),
        ("arci.yaml", "models.openai.base_url"),
        ("arci.yaml", "models.two.base_url"),
        ("arci.yaml", "decisions.base_url"),
    ]
    assert SECRET not in "".join(map(str, found))
    fixture = decisions(0, upstream="fixture", base_url=None)
    assert upstream_problems([], fixture, Allowances(), env, "arci.yaml") == []


@pytest.mark.parametrize(
    "text", ["OPENAI_API_KEY", "=host", "A=", "A=,", "A-B=host", "A=https://host", "A=host/path", "A=host:443", "A=*"]
)
def test_a_variable_that_is_not_understood_allows_nothing(text: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="ARCI_UPSTREAM_HOSTS"):
        read_allowances({"HOME": str(tmp_path), "ARCI_UPSTREAM_HOSTS": text})


def written(tmp_path: Path, text: str, mode: int = 0o600) -> dict[str, str]:
    env = {"HOME": "/nowhere", "XDG_CONFIG_HOME": str(tmp_path)}
    file = hosts_file(env)
    file.parent.mkdir()
    file.write_text(text)
    file.chmod(mode)
    return env


def test_the_user_s_file_and_the_variable_add_up(tmp_path: Path) -> None:
    env = written(tmp_path, 'CORP_KEY: [gateway.corp, "*.models.corp"]\n"*": [open.corp]\n')
    allowances = read_allowances(env | {"ARCI_UPSTREAM_HOSTS": "CORP_KEY=third.corp"})
    assert set(allowances.hosts("CORP_KEY")) == {"gateway.corp", "*.models.corp", "third.corp"}
    assert allowances.allows("*", "open.corp")
    assert allowances.allows("ANTHROPIC_API_KEY", "api.anthropic.com")
    assert not allowances.allows("OTHER", "gateway.corp")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_allows_nothing(mode: int, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="may be written by others"):
        read_allowances(written(tmp_path, "A: [evil.example]\n", mode))


def test_a_file_of_another_user_allows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = written(tmp_path, "A: [evil.example]\n")
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(SpecError, match=f"belongs to the user {mine}, not to you"):
        read_allowances(env)


@pytest.mark.parametrize(
    "text",
    ["- a\n", "A: host\n", "A: []\n", "A: [1]\n", "A: [https://x]\n", "A: [b]\nA: [c]\n", "A: [b\n", "A: {b: c}\n"],
)
def test_a_file_that_is_not_understood_is_named(text: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"upstreams\.yaml"):
        read_allowances(written(tmp_path, text))


@pytest.mark.parametrize("env", [{}, {"XDG_CONFIG_HOME": "relative"}])
def test_without_a_file_the_defaults_hold(env: dict[str, str], tmp_path: Path) -> None:
    home: dict[str, Any] = {"HOME": str(tmp_path)} | env
    assert hosts_file(home) == tmp_path / ".config" / "arci" / "upstreams.yaml"
    assert read_allowances(home).hosts("ANTHROPIC_API_KEY") == ("api.anthropic.com",)
