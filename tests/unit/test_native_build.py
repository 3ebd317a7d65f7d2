"""The build hook that compiles arci-init: keyed by content, cached, never half done."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "native", root / "native")
    (root / "arci").mkdir()
    return root


def count_compiles(hook: ModuleType, monkeypatch: pytest.MonkeyPatch, *, fail: bool = False) -> list[Path]:
    seen: list[Path] = []

    def compile_(native: Path, into: Path) -> None:
        seen.append(native)
        for name in hook.TARGETS:
            (into / name).write_text("binary")
            if fail:
                raise SystemExit("no")

    monkeypatch.setattr(hook, "_compile", compile_)
    return seen


def test_the_same_sources_are_compiled_once_for_any_number_of_checkouts(
    hook: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = count_compiles(hook, monkeypatch)
    hook.ensure_native(checkout)
    hook.ensure_native(checkout)
    other = tmp_path / "other"
    shutil.copytree(checkout / "native", other / "native")
    hook.ensure_native(other)
    assert len(seen) == 1
    assert sorted(p.name for p in (other / "arci" / "_native").iterdir()) == [*sorted(hook.TARGETS), hook.STAMP]


def test_changed_sources_are_compiled_again(hook: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_compiles(hook, monkeypatch)
    hook.ensure_native(checkout)
    (checkout / "native" / "hold.c").write_text("int x;\n")
    hook.ensure_native(checkout)
    assert len(seen) == 2


def test_a_compile_that_fails_leaves_nothing_behind(
    hook: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    count_compiles(hook, monkeypatch, fail=True)
    with pytest.raises(SystemExit):
        hook.ensure_native(checkout)
    assert not (checkout / "arci" / "_native").exists()
    assert list((tmp_path / "cache" / "arci" / "native").iterdir()) == []
    seen = count_compiles(hook, monkeypatch)
    hook.ensure_native(checkout)
    assert len(seen) == 1


def test_a_lost_binary_is_restored_from_the_cache(
    hook: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = count_compiles(hook, monkeypatch)
    hook.ensure_native(checkout)
    (checkout / "arci" / "_native" / "arci-init-arm64").unlink()
    hook.ensure_native(checkout)
    assert len(seen) == 1
    assert (checkout / "arci" / "_native" / "arci-init-arm64").is_file()


def test_without_the_compiler_the_build_says_what_to_install(
    hook: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install ziglang"):
        hook.ensure_native(checkout)
