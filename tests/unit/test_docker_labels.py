"""Which left-overs are dead: decided from labels, holders and ages, on the engine's clock (N1, N10)."""

from __future__ import annotations

from typing import Any

from arci.isolation.docker.labels import HOLDER, ROLE, RUN, dead_leftovers

NOW = 1_800_000_000.0


def _container(name: str, run: str | None, role: str, state: str, age_s: float = 3600) -> dict[str, Any]:
    return {"Id": name, "Labels": {RUN: run, ROLE: role} if run else {}, "State": state, "Created": NOW - age_s}


def _volume(name: str, run: str, created: str = "2020-01-01T00:00:00Z") -> dict[str, Any]:
    return {"Name": name, "Labels": {RUN: run}, "CreatedAt": created}


def test_a_run_whose_holders_are_dead_is_dead_with_its_volumes() -> None:
    found = dead_leftovers(
        [_container("h", "a", HOLDER, "exited"), _container("x", "a", "agent", "exited")],
        [_volume("v", "a")],
        now_s=NOW,
    )
    assert found.run_ids == ("a",)
    assert set(found.containers) == {"h", "x"}
    assert found.volumes == ("v",)


def test_a_run_with_a_living_holder_is_left_alone_beside_a_dead_one() -> None:
    found = dead_leftovers(
        [
            _container("h1", "alive", HOLDER, "running"),
            _container("x1", "alive", "agent", "exited"),
            _container("h2", "dead", HOLDER, "exited"),
        ],
        [_volume("v1", "alive"), _volume("v2", "dead")],
        now_s=NOW,
    )
    assert found.containers == ("h2",)
    assert found.volumes == ("v2",)


def test_an_agent_that_still_runs_does_not_keep_a_dead_run_alive() -> None:
    found = dead_leftovers([_container("x", "a", "agent", "running")], [], now_s=NOW)
    assert found.containers == ("x",)


def test_a_run_that_is_being_set_up_is_left_alone() -> None:
    young = [_container("h", "new", HOLDER, "created", age_s=3)]
    assert dead_leftovers(young, [_volume("v", "new")], now_s=NOW).run_ids == ()
    just_a_volume = {"Name": "v", "Labels": {RUN: "new"}, "CreatedAt": "2027-01-15T07:59:58Z"}
    assert dead_leftovers([], [just_a_volume], now_s=NOW).volumes == ()


def test_a_volume_without_a_holder_is_dead_once_it_is_old() -> None:
    assert dead_leftovers([], [_volume("v", "old")], now_s=NOW).volumes == ("v",)


def test_what_carries_no_run_label_is_not_ours_to_judge() -> None:
    found = dead_leftovers([_container("stranger", None, "", "exited")], [], now_s=NOW)
    assert found == dead_leftovers([], [], now_s=NOW)
