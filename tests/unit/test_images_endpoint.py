"""Which engine is chosen, and what foreign errors become."""

from __future__ import annotations

import hashlib
import json
import socket
from pathlib import Path
from typing import Any

import docker.errors
import pytest
import requests
import requests.exceptions
import urllib3.exceptions

from arci.errors import EngineUnavailable
from arci.isolation.docker import engine as engine_module
from arci.isolation.docker.endpoint import TlsFiles, find_endpoints
from arci.isolation.docker.trouble import engine_error


def make_context(config_dir: Path, name: str, host: str, **more: Any) -> str:
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = config_dir / "contexts" / "meta" / key
    meta.mkdir(parents=True)
    document = {"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host, **more}}}
    (meta / "meta.json").write_text(json.dumps(document))
    return key


def test_the_active_context_is_used_without_docker_host(tmp_path: Path) -> None:
    make_context(tmp_path, "remote", "unix:///x.sock")
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "remote"}))
    (found,) = find_endpoints({"DOCKER_CONFIG": str(tmp_path)}, tmp_path)
    assert found.url == "unix:///x.sock"
    assert "remote" in found.why
    assert str(tmp_path / "config.json") in found.why


def test_docker_host_wins_over_context_and_docker_context_over_the_file(tmp_path: Path) -> None:
    make_context(tmp_path, "one", "unix:///one.sock")
    make_context(tmp_path, "two", "unix:///two.sock")
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "one"}))
    environ = {"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "two"}
    assert [e.url for e in find_endpoints(environ, tmp_path)] == ["unix:///two.sock"]
    environ["DOCKER_HOST"] = "tcp://elsewhere:2375"
    assert [e.url for e in find_endpoints(environ, tmp_path)] == ["tcp://elsewhere:2375"]


def test_a_contexts_own_tls_files_are_used(tmp_path: Path) -> None:
    key = make_context(tmp_path, "tls", "tcp://far:2376")
    tls = tmp_path / "contexts" / "tls" / key / "docker"
    tls.mkdir(parents=True)
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tls / name).touch()
    (found,) = find_endpoints({"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "tls"}, tmp_path)
    assert found.tls == TlsFiles(str(tls / "ca.pem"), str(tls / "cert.pem"), str(tls / "key.pem"), verify=True)


def test_tls_of_the_environment_needs_its_variable(tmp_path: Path) -> None:
    environ = {"DOCKER_HOST": "tcp://far:2376", "DOCKER_CERT_PATH": str(tmp_path)}
    assert find_endpoints(environ, tmp_path)[0].tls is None
    (tmp_path / "ca.pem").touch()
    environ["DOCKER_TLS_VERIFY"] = "1"
    assert find_endpoints(environ, tmp_path)[0].tls == TlsFiles(str(tmp_path / "ca.pem"), None, None, verify=True)


def test_a_context_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"'gone'.*DOCKER_CONTEXT"):
        find_endpoints({"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "gone"}, tmp_path)


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"currentContext": 3}', '{"currentContext": "default"}'])
def test_a_config_file_that_says_nothing_leaves_the_usual_sockets(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    rootless = tmp_path / "run" / "docker.sock"
    rootless.parent.mkdir()
    rootless.touch()
    environ = {"DOCKER_CONFIG": str(tmp_path), "XDG_RUNTIME_DIR": str(rootless.parent)}
    assert f"unix://{rootless}" in [e.url for e in find_endpoints(environ, tmp_path)]


def test_a_test_without_the_marker_cannot_connect(anyio_backend: str) -> None:
    import anyio

    with pytest.raises(RuntimeError, match=r"pytest\.mark\.docker"):
        anyio.run(engine_module.connect, backend=anyio_backend)


def refusal(monkeypatch: pytest.MonkeyPatch, host: str) -> EngineUnavailable:
    import anyio

    monkeypatch.setattr(engine_module, "FORBIDDEN", None)
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineUnavailable) as caught:
        anyio.run(engine_module.connect)
    return caught.value


def test_no_engine_ends_with_69_and_says_where_and_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    error = refusal(monkeypatch, f"unix://{tmp_path}/none.sock")
    assert error.exit_code == 69
    assert f"unix://{tmp_path}/none.sock (chosen because DOCKER_HOST is set)" in error.message
    assert "No such file" in error.message
    assert error.hint is not None


@pytest.mark.parametrize("host", ["bogus://x", "tcp://127.0.0.1:1", "ssh://127.0.0.1"])
def test_every_unusable_endpoint_is_no_engine(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    assert host in refusal(monkeypatch, host).message


def test_a_socket_that_is_no_engine_is_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "x.sock"))
        error = refusal(monkeypatch, f"unix://{tmp_path}/x.sock")
    assert "refused" in error.message


def api_error(status: int, message: str) -> docker.errors.APIError:
    response = requests.Response()
    response.status_code = status
    return docker.errors.APIError("x", response=response, explanation=message)


NO_POOL: Any = None
TIMEOUTS = [
    requests.exceptions.ReadTimeout("read timed out"),
    requests.exceptions.ConnectionError(urllib3.exceptions.ReadTimeoutError(NO_POOL, "/x", "Read timed out.")),
    urllib3.exceptions.ReadTimeoutError(NO_POOL, "/x", "Read timed out."),
    TimeoutError("timed out"),
]
BROKEN = [
    requests.exceptions.ConnectionError(
        urllib3.exceptions.ProtocolError("Connection aborted.", ConnectionResetError())
    ),
    requests.exceptions.ChunkedEncodingError("broken"),
    urllib3.exceptions.ProtocolError("broken"),
    ConnectionResetError(104, "Connection reset by peer"),
    BrokenPipeError(32, "Broken pipe"),
    EOFError(),
]


@pytest.mark.parametrize("error", TIMEOUTS, ids=lambda e: type(e).__name__)
def test_every_kind_of_timeout_is_one_kind_of_error(error: BaseException) -> None:
    assert engine_error("do it", error).message == "do it: the engine did not answer in time."


@pytest.mark.parametrize("error", BROKEN, ids=lambda e: type(e).__name__)
def test_every_broken_connection_is_one_kind_of_error(error: BaseException) -> None:
    assert engine_error("do it", error).message.startswith("do it: the connection to the engine broke: ")


def test_an_answer_keeps_its_status_and_words() -> None:
    found = engine_error("create", api_error(409, "name is in use"))
    assert (found.status, found.message, found.operation) == (409, "create: name is in use.", "create")


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (api_error(500, "write /x: no space left on device"), "images prune"),
        (OSError(28, "No space left on device"), "images prune"),
        (PermissionError(13, "Permission denied"), "docker` group"),
        (api_error(429, "toomanyrequests: rate limit"), "docker login"),
        (docker.errors.DockerException("client version 1.45 is too new"), "update the engine"),
    ],
)
def test_known_troubles_come_with_what_to_do(error: BaseException, hint: str) -> None:
    assert hint in (engine_error("do it", error).hint or "")
