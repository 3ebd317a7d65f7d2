"""Python tools as an MCP server would describe and call them."""

from __future__ import annotations

import functools
import json
import typing
from typing import Annotated, Any, Literal

import pytest

from arci.boundary.schema import describe, schema_of
from arci.boundary.toolset import ToolsetServer
from arci.guest.options import options
from arci.wire.jsonrpc import Request


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (dict, {"type": "object"}),
        (tuple, {"type": "array"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (
            list[dict[str, int]],
            {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}},
        ),
        (tuple[int, str], {"type": "array"}),
        (typing.Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (typing.Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Annotated[int, "x"], {"type": "integer"}),
        (Any, {}),
        (set[int], {}),
        ("int", {}),
        (object(), {}),
        ([], {}),
    ],
    ids=str,
)
def test_a_hint_has_a_schema_or_leaves_it_open(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def parameters(tool: Any) -> tuple[Any, ...]:
    schema = describe("t", tool)["inputSchema"]
    return list(schema["properties"]), schema.get("required"), schema.get("additionalProperties")


def test_a_signature_becomes_an_input_schema() -> None:
    def tool(  # type: ignore[empty-body,no-untyped-def]  # it is only described, with a parameter of no type as well
        a: int, b: str = "x", *, c: list[int], d: int | None = None, e=None
    ) -> dict[str, int]:
        """Do it.

        And more.
          Indented.
        """

    found = describe("tool", tool)
    assert found["description"] == "Do it.\n\nAnd more.\n  Indented."
    assert found["inputSchema"] == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "string", "default": "x"},
            "c": {"type": "array", "items": {"type": "integer"}},
            "d": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "e": {},
        },
        "required": ["a", "c"],
        "additionalProperties": False,
    }
    assert found["outputSchema"]["properties"]["result"] == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }


class Box:
    def method(self, a: int) -> None: ...

    @staticmethod
    def static(a: int) -> None: ...

    @classmethod
    def of_class(cls, a: int) -> None: ...

    def __call__(self, a: int, **more: Any) -> None: ...


@functools.wraps(Box.static)
def wrapped(*args: Any, **kwargs: Any) -> None: ...


def with_unknown(a: NoSuchName) -> Nor | This: ...  # type: ignore[name-defined]  # noqa: F821  (there are none)


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        (Box().method, (["a"], ["a"], False)),
        (Box.static, (["a"], ["a"], False)),
        (Box.of_class, (["a"], ["a"], False)),
        (Box(), (["a"], ["a"], None)),
        (functools.partial(Box.static, a=1), (["a"], None, False)),
        (wrapped, (["a"], ["a"], False)),
        (with_unknown, (["a"], ["a"], False)),
        (lambda a, *rest, **more: 1, (["a"], ["a"], None)),
        (dict.fromkeys, ([], None, False)),  # positional-only: nothing that a caller could name
        (min, ([], None, None)),
    ],
    ids=str,
)
def test_every_callable_is_described(tool: Any, found: tuple[Any, ...]) -> None:
    assert parameters(tool) == found


def test_an_either_is_read_from_text_where_the_interpreter_has_no_such_type() -> None:
    def tool(a: int | NoSuchName): ...  # type: ignore[name-defined,no-untyped-def]  # noqa: F821  (there is none)

    assert describe("t", tool)["inputSchema"]["properties"]["a"] == {"anyOf": [{"type": "integer"}, {}]}


class World:
    def __init__(self, task: Any, seed: int) -> None:
        self.tools = {"add": lambda a, b: a + b}
        self.state: Any = {"seed": seed}

    def snapshot(self) -> Any:
        return self.state


def asked(server: ToolsetServer, method: str, **params: Any) -> dict[str, Any]:
    frame: dict[str, Any] = json.loads(server.answer(Request(1, method, params)))
    assert frame["id"] == 1
    return frame


def test_a_toolset_is_started_listed_called_and_snapshot() -> None:
    server = ToolsetServer(lambda: World)
    assert "did not start" in asked(server, "arci/snapshot")["error"]["message"]
    assert asked(server, "arci/start", task={}, seed=3)["result"] == {}
    assert [t["name"] for t in asked(server, "tools/list")["result"]["tools"]] == ["add"]
    called = asked(server, "tools/call", name="add", arguments={"a": 1, "b": 2})
    assert called["result"] == {"structuredContent": {"result": 3}, "isError": False}
    assert asked(server, "arci/snapshot")["result"] == {"state": {"seed": 3}}


def test_what_a_toolset_does_not_have_is_an_error() -> None:
    server = ToolsetServer(lambda: World)
    asked(server, "arci/start", task={}, seed=3)
    assert asked(server, "resources/list")["error"]["code"] == -32601
    assert "unknown tool 'x'" in asked(server, "tools/call", name="x", arguments={})["error"]["message"]


@pytest.mark.parametrize(
    ("state", "words"), [([1], "returned list"), ({"a": {1}}, "not JSON"), ({"a": float("inf")}, "not JSON")]
)
def test_a_snapshot_that_is_no_json_object_is_an_error(state: Any, words: str) -> None:
    world = World({}, 1)
    world.state = state
    server = ToolsetServer(lambda: lambda task, seed: world)
    asked(server, "arci/start", task={}, seed=3)
    assert words in asked(server, "arci/snapshot")["error"]["message"]


def test_options_are_pairs() -> None:
    assert options(["--a", "1", "--b", "--x"], ["a"], ["b"]) == {"a": "1", "b": "--x"}
    for argv, words in [(["--c", "1"], "unknown"), (["--a"], "no value"), ([], "missing"), (["a", "1"], "unknown")]:
        with pytest.raises(ValueError, match=words):
            options(argv, ["a"], ["b"])
