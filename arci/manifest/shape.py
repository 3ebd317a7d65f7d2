"""The descriptor as pydantic models: keys, types, ranges and defaults, key by key. Never coerces; pure.

Rules across keys are in `rules`; what this version does not do yet is refused in `later`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from arci.manifest.fields import (
    SERVER_NAME,
    EnvName,
    ExperimentId,
    Glob,
    ImageName,
    Name,
    Platform,
    Reference,
    RelativePath,
    ServerName,
    Size,
    Text,
    UpstreamName,
)
from arci.manifest.forms import EITHER, LONG, SHORT, STRICT
from arci.manifest.shape_programs import MOST_SERVERS, CommandShape, ServerShape
from arci.manifest.shape_upstreams import MOST_MODELS, DecisionsShape, ModelShape

__all__ = [
    "INVARIANTS",
    "LONG",
    "SHORT",
    "ArmShape",
    "BudgetsShape",
    "BuildShape",
    "ConditionShape",
    "ContractShape",
    "DescriptorShape",
    "FaultShape",
    "FromShape",
    "GraderShape",
    "ImageShape",
    "ImagesShape",
    "IsolationShape",
    "TaskShape",
]

INVARIANTS = ("max_tool_calls", "forbidden_tools", "required_tools", "max_calls_per_tool")
"""What `contract.hard` may name."""


class _Strict(BaseModel):
    model_config = STRICT


class BuildShape(_Strict):
    """How an image is built."""

    context: RelativePath = "."
    """Directory, relative to the descriptor."""
    dockerfile: RelativePath | None = None
    """Relative to the context; `Dockerfile` if there is one."""
    args: dict[EnvName, str] = {}
    target: Name | None = None


class ImageShape(_Strict):
    """Exactly one of a reference and a build."""

    image: ImageName | None = None
    build: BuildShape | None = None


class ImagesShape(_Strict):
    """Images per role. `project` is what boundary and grader use unless they are given their own."""

    agent: ImageShape | None = None
    boundary: ImageShape | None = None
    grader: ImageShape | None = None
    project: ImageShape | None = None


class ArmShape(_Strict):
    """The long form of an arm."""

    label: Name | None = None
    agent: Reference | None = None
    """`module:function`, `(task, tools, rng) -> dict`."""
    command: CommandShape | None = None
    """A program in any language, instead of `agent`."""
    image: ImageName | None = None
    context: RelativePath | None = None
    """Directory of the arm's code, from which its image is built."""
    env: dict[EnvName, str] = {}
    """`${NAME}`, alone, takes the declared secret NAME."""


class TaskShape(_Strict):
    id: Name
    task: dict[str, Any] = {}


class ContractShape(_Strict):
    oracle: Reference | None = None
    max_tool_calls: Annotated[int, Field(ge=0, le=100_000)] | None = None
    forbidden_tools: list[Name] = []
    required_tools: list[Name] = []
    max_calls_per_tool: dict[Name, Annotated[int, Field(ge=0, le=100_000)]] = {}
    hard: list[Literal["max_tool_calls", "forbidden_tools", "required_tools", "max_calls_per_tool"]] = []


class GraderCommandShape(_Strict):
    argv: Annotated[list[Text], Field(min_length=1)]


class GraderShape(_Strict):
    image: ImageName | None = None
    command: GraderCommandShape | None = None


class FromShape(_Strict):
    """Call n and every later one."""

    from_: Annotated[int, Field(alias="from", ge=0, le=1_000_000)]


Occurrence = Annotated[
    Annotated[Annotated[int, Field(ge=0, le=1_000_000)], Tag("<nth>")]
    | Annotated[Literal["every"], Tag("<word>")]
    | Annotated[FromShape, Tag("<from>")],
    Discriminator(
        lambda value: (
            "<from>"
            if isinstance(value, (dict, FromShape))
            else "<nth>"
            if isinstance(value, int) and not isinstance(value, bool)
            else "<word>"
        )
    ),
]


class FaultShape(_Strict):
    name: Name
    """Built in, or `module:function`."""
    bucket: Literal["falsify", "benign", "ceiling"] = "falsify"
    tool: Name | None = None
    """Every tool when left out. Of a model fault `model:NAME`, every model when left out."""
    occurrence: Occurrence = 0
    """Which call of the tool, 0-based; `every`; or `{from: n}`."""
    probability: Annotated[float, Field(gt=0, le=1)] = 1.0
    min_injections: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    params: dict[str, Any] = {}


class ConditionShape(_Strict):
    id: ExperimentId
    fault: FaultShape | None = None
    faults: list[FaultShape] = []

    @property
    def listed(self) -> list[FaultShape]:
        """The faults, in whichever of the two forms they were written."""
        return self.faults if self.fault is None else [self.fault]


_Seconds = Annotated[float, Field(gt=0, le=86_400)]


class BudgetsShape(_Strict):
    max_tool_calls: Annotated[int, Field(ge=1, le=100_000)] = 30
    max_model_steps: Annotated[int, Field(ge=1, le=100_000)] = 50
    max_seconds: _Seconds = 30.0
    grader_seconds: _Seconds = 20.0
    setup_seconds: _Seconds = 120.0
    tool_seconds: _Seconds = 30.0
    max_model_calls: Annotated[int, Field(ge=1, le=100_000)] = 50
    """Over all models."""
    max_tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None
    """Input and output together, over all models."""
    max_usd: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """By the prices of the models."""


Backend = Literal["process", "docker"]


class IsolationShape(_Strict):
    backend: Backend = "process"
    runtime: Name | None = None
    memory: Size = "512m"
    cpus: Annotated[float, Field(gt=0, le=1024)] | None = None
    pids: Annotated[int, Field(ge=8, le=1_000_000)] = 256
    disk: Size = "256m"
    files: Annotated[int, Field(ge=64, le=1 << 20)] = 16_384
    """Open files (nofile); clamped to what the engine allows."""
    user: Name | None = None
    """The image's own when left out; `auto`: a uid per slot."""
    read_only: bool = True
    caps: list[Name] = []
    platform: Platform | None = None
    fresh_namespace: bool = False
    require_separate_images: bool = False
    allow_unenforced: bool = False


Arm = Annotated[Annotated[Reference, Tag(SHORT)] | Annotated[ArmShape, Tag(LONG)], EITHER]


_SERVERS = Field(
    min_length=1, max_length=MOST_SERVERS, json_schema_extra={"propertyNames": {"pattern": f"^{SERVER_NAME}$"}}
)


_MODELS = Field(max_length=MOST_MODELS, json_schema_extra={"propertyNames": {"pattern": f"^{SERVER_NAME}$"}})


class DescriptorShape(_Strict):
    """What a person writes in `arci.yaml`."""

    model_config = ConfigDict(title="ARCI descriptor")

    experiment_id: ExperimentId
    task_id: Name | None = None
    task: dict[str, Any] | None = None
    task_file: RelativePath | None = None
    tasks: (
        Annotated[
            Annotated[RelativePath, Tag(SHORT)] | Annotated[Annotated[list[TaskShape], Field(min_length=1)], Tag(LONG)],
            EITHER,
        ]
        | None
    ) = None
    """A list, or a JSONL file of `{"id": ..., "task": {...}}`; pair i uses task i mod m."""
    toolset: Reference | None = None
    """`(task, seed) -> object with .tools and .snapshot()`."""
    mcp_server: ServerShape | None = None
    """An MCP server, instead of a toolset."""
    mcp_servers: Annotated[dict[ServerName, ServerShape], _SERVERS] | None = None
    """Several MCP servers by name, instead of a toolset."""
    oracle: Reference | None = None
    contract: ContractShape | None = None
    baseline: Arm
    candidate: Arm
    grader: GraderShape = GraderShape()
    conditions: Annotated[list[ConditionShape], Field(min_length=1, max_length=1000)] = [ConditionShape(id="clean")]
    alpha: Annotated[float, Field(gt=0, le=0.5)] = 0.05
    """Chance of a wrong PASS or BLOCK, over all gating conditions."""
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.10
    """The drop in the success rate that matters."""
    n_per_arm: Annotated[int, Field(ge=1, le=100_000)] = 200
    """Trials per arm and condition."""
    interval_method: Literal["clopper_pearson"] = "clopper_pearson"
    looks: Annotated[list[int], Field(max_length=0)] = []
    on_error: Literal["invalidate", "worst_case"] = "invalidate"
    base_seed: Annotated[int, Field(ge=0, le=2**53 - 200_000)] = 0
    budgets: BudgetsShape = BudgetsShape()
    models: Annotated[dict[UpstreamName, ModelShape], _MODELS] | None = None
    """Providers of models that agents may call, by name."""
    decisions: DecisionsShape | None = None
    """A System One endpoint that agents may call."""
    isolation: Annotated[Annotated[Backend, Tag(SHORT)] | Annotated[IsolationShape, Tag(LONG)], EITHER] = "process"
    images: ImagesShape = ImagesShape()
    evidence: Annotated[list[Glob], Field(max_length=1000)] = []
    """Files below the agent's workdir that the grader is given."""
    secrets: Annotated[list[EnvName], Field(max_length=1000)] = []
    """Host variables that arms may take; only their names are sealed."""
    prior_runs: list[Any] = []
