"""The runtime image and its volume on a real engine: made once, verified from inside, never trusted half-filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import docker.errors
import pytest

from arci.errors import EngineError
from arci.isolation.docker import runtime as runtime_module
from arci.isolation.docker.base_image import find_image
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.recipes import KIND
from arci.isolation.docker.runtime import Runtime, ensure_runtime, runtime_tag

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]  # images are built


@pytest.fixture
async def runtime(engine: Engine) -> Runtime:
    return await ensure_runtime(engine)


@pytest.fixture
def other_key(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The runtime under a name of the test's own, so that its volume can be spoilt."""
    tag = "arci/runtime:test"
    monkeypatch.setattr(runtime_module, "runtime_tag", lambda: tag)
    yield tag
    for row in engine.api.images(filters={"label": KIND}):
        for name in row["RepoTags"] or ():
            if name.startswith(tag):
                engine.api.remove_image(name)
    for volume in engine.api.volumes(filters={"label": KIND})["Volumes"] or ():
        if volume["Name"].startswith("arci-runtime-test-"):
            engine.api.remove_volume(volume["Name"])


def run(engine: Engine, config: dict[str, Any]) -> tuple[int, bytes]:
    """Exit code and output of one container."""
    create: Any = engine.api.create_container_from_config
    container = create({"HostConfig": {"NetworkMode": "none"}, **config})["Id"]
    try:
        engine.api.start(container)
        return engine.api.wait(container)["StatusCode"], engine.api.logs(container)
    finally:
        engine.api.remove_container(container, v=True, force=True)


def mounted(image: str, volume: str, *argv: str) -> dict[str, Any]:
    mounts = [{"Type": "volume", "Source": volume, "Target": "/opt/arci", "ReadOnly": True}]
    return {"Image": image, "Cmd": list(argv), "HostConfig": {"NetworkMode": "none", "Mounts": mounts}}


def count_calls(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    call = engine.call

    async def counted(operation: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        seen.append(operation)
        return await call(operation, function, *args, **kwargs)

    monkeypatch.setattr(engine, "call", counted)
    return seen


async def test_a_second_call_is_two_inspects_and_the_same_runtime(
    engine: Engine, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = count_calls(engine, monkeypatch)
    assert await ensure_runtime(engine) == runtime
    assert seen == ["inspect an image", "inspect the runtime volume"]


async def test_the_volume_holds_the_runtime_with_compiled_bytecode(engine: Engine, runtime: Runtime) -> None:
    script = (
        "import sys; sys.path.insert(0, '/opt/arci/lib'); import arci.model.canonical as c;"
        "print(c.__cached__); open(c.__cached__)"
    )
    code, said = run(engine, mounted(runtime.image_id, runtime.volume, "python3", "-I", "-S", "-c", script))
    assert code == 0, said
    assert b"__pycache__/canonical.cpython-" in said


async def test_the_volume_holds_nothing_of_the_hosts_floors(engine: Engine, runtime: Runtime) -> None:
    code, said = run(engine, mounted(runtime.image_id, runtime.volume, "ls", "/opt/arci/lib/arci"))
    assert code == 0
    assert {"agent.py", "errors.py", "guest", "wire"} <= set(said.decode().split())
    assert not {"cli", "gate", "run", "isolation", "store"} & set(said.decode().split())


async def test_arci_init_of_the_volume_runs_on_this_engine(engine: Engine, runtime: Runtime) -> None:
    code, said = run(engine, mounted(runtime.image_id, runtime.volume, "/opt/arci/bin/arci-init", "--version"))
    assert (code, said[:10]) == (0, b"arci-init ")


async def test_guests_cannot_write_the_volume(engine: Engine, runtime: Runtime) -> None:
    code, _ = run(engine, mounted(runtime.image_id, runtime.volume, "touch", "/opt/arci/lib/arci/agent.py"))
    assert code != 0


async def test_a_volume_that_was_removed_is_made_again_under_another_name(engine: Engine, other_key: str) -> None:
    first = await ensure_runtime(engine)
    engine.api.remove_volume(first.volume)
    # What an engine does by itself when a container asks for a volume that is gone: an empty one without a label.
    engine.api.create_volume(first.volume)
    second = await ensure_runtime(engine)
    engine.api.remove_volume(first.volume)
    assert second.volume != first.volume
    assert run(engine, mounted(second.image_id, second.volume, "/opt/arci/bin/arci-init", "--version"))[0] == 0


async def test_a_filling_that_fails_is_not_remembered(
    engine: Engine, other_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await ensure_runtime(engine)
    engine.api.remove_volume(whole.volume)

    def broken(api: Any, image_id: str, volume: str) -> None:
        raise docker.errors.DockerException("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(runtime_module, "_check", broken)
        with pytest.raises(EngineError, match="no space left"):
            await ensure_runtime(engine)
    left = [v["Name"] for v in engine.api.volumes(filters={"label": KIND})["Volumes"] or ()]
    assert not [name for name in left if name.startswith("arci-runtime-test-")]
    assert (await ensure_runtime(engine)).volume != whole.volume


async def test_the_check_sees_a_file_that_is_missing_and_one_that_changed(engine: Engine, runtime: Runtime) -> None:
    for spoil in (
        "rm /opt/arci/lib/arci/agent.py",
        "echo >>/opt/arci/lib/arci/agent.py",
        "chmod 700 /opt/arci/bin/arci-init",
    ):
        script = f"{spoil} && python3 -I -S /opt/arci/seal.py check"
        code, said = run(engine, {"Image": runtime.image_id, "Cmd": ["sh", "-c", script]})
        assert code == 1
        assert b"whole" not in said


async def test_the_runtimes_key_covers_what_it_runs_on(engine: Engine, runtime: Runtime) -> None:
    image = await find_image(engine, runtime_tag())
    assert image is not None
    assert image["Id"] == runtime.image_id
    assert image["Config"]["Labels"][KIND] == "runtime"
