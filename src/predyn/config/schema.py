"""The schema of a task file: its keys and the type of each value.

Keys that depend on other values are checked later: model arguments, term parameters, joint values.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Any, Literal, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    create_model,
)

from predyn.config.findings import Findings
from predyn.config.lines import Path
from predyn.errors import unknown_name
from predyn.nlp import SolverOptions
from predyn.problem import Dmoc, Hybrid, Spline

Finite = Annotated[float, Field(allow_inf_nan=False)]
Row = dict[str, Any]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Payload(Table):
    link: str
    mass: Finite
    point: list[Finite] = Field([0.0, 0.0, 0.0], min_length=3, max_length=3)
    inertia: Any = None


class ContactPointTable(Table):
    name: str
    link: str
    point: list[Finite] = Field([0.0, 0.0, 0.0], min_length=3, max_length=3)
    patch: str | None = None


class FrameTable(Table):
    name: str
    link: str
    point: list[Finite] = Field([0.0, 0.0, 0.0], min_length=3, max_length=3)


class LoopTable(Table):
    name: str
    kind: str
    frame_a: str
    frame_b: str
    distance: Finite | None = None


class CapsuleTable(Table):
    link: str
    a: list[Finite] = Field(min_length=3, max_length=3)
    b: list[Finite] = Field(min_length=3, max_length=3)
    radius: Finite


class ModelTable(Table):
    model_config = ConfigDict(extra="allow", strict=True)

    builtin: str | None = None
    urdf: str | None = None
    osim: str | None = None
    dh: list[Row] | None = None
    gravity: list[Finite] | None = Field(None, min_length=3, max_length=3)
    payloads: list[Payload] = []
    contacts: list[ContactPointTable] = []
    frames: list[FrameTable] = []
    loops: list[LoopTable] = []
    capsules: list[CapsuleTable] | int | None = None


class SceneTable(Table):
    """A file, or the fields of one."""

    file: str | None = None
    margin: Finite = 0.0
    obstacles: list[Row] = []
    parts: list[Row] = []
    allowed: list[list[str]] = []


class ProfileTable(Table):
    times: list[Finite]
    values: list[list[Finite]]
    over: Literal["time", "phase"] = "time"


def _form(value: object) -> str:
    """The tag of a value's form; tags are omitted from error paths."""
    return (
        "<table>" if isinstance(value, dict) else "<name>" if isinstance(value, str) else "<plain>"
    )


Vector = Annotated[list[Finite], Field(min_length=3, max_length=3)]
Push = Annotated[  # numbers, the name of a signal, or a curve
    Annotated[Vector, Tag("<plain>")]
    | Annotated[str, Tag("<name>")]
    | Annotated[ProfileTable, Tag("<table>")],
    Discriminator(_form),
]


class Force(Table):
    link: str
    point: Any = (0.0, 0.0, 0.0)  # coordinates, or the name of a frame
    force: Push = [0.0, 0.0, 0.0]
    moment: Push = [0.0, 0.0, 0.0]
    frame: Literal["world", "link"] = "world"


class LimitsTable(Table):
    """Each a number, a list by joint, or a table by joint name; see joints.py."""

    position: Any = None
    velocity: Any = None
    acceleration: Any = None
    jerk: Any = None
    effort: Any = None
    position_deg: Any = None
    velocity_deg: Any = None
    acceleration_deg: Any = None
    jerk_deg: Any = None


class StateTable(Table):
    q: Any = None
    v: Any = None
    a: Any = None
    q_deg: Any = None
    v_deg: Any = None
    a_deg: Any = None


class Between(Table):
    min: Finite
    max: Finite
    guess: Finite | None = None


class ContactTable(Table):
    point: str
    push: str = "xyz"
    hold: str = "xyz"
    place: Any = None  # three entries: numbers, names of parameters, or "free"
    shared: str = ""


class GroundTable(Table):
    friction: Finite = 0.8
    cone: str = "pyramid"
    slope: Finite = 0.0
    height: Finite = 0.0
    steps: list[list[Finite]] = []
    ramp: Finite = 0.05


class CycleTable(Table):
    advance: list[Any] = Field([0.0, 0.0, 0.0], min_length=3, max_length=3)
    swap: dict[str, str] = {}
    signs: dict[str, Finite] = {}
    mirror: str | None = None


class PhaseTable(Table):
    name: str | None = None
    duration: Annotated[  # a string is the name of a parameter
        Annotated[Finite, Tag("<plain>")]
        | Annotated[str, Tag("<name>")]
        | Annotated[Between, Tag("<table>")],
        Discriminator(_form),
    ]
    segments: int | None = None
    system: str | None = None
    impact: bool = False
    contacts: list[ContactTable] = []
    loops: list[str] | None = None
    start: StateTable = StateTable()
    end: StateTable = StateTable()
    cost: list[Row] = []
    constraint: list[Row] = []


class SignalGuess(Table):
    s: list[Finite]
    values: list[list[Finite]]


class SignalTable(Table):
    """Bounds, scale and guess are a number or one for each component."""

    name: str
    components: list[str]
    lower: Any = -math.inf
    upper: Any = math.inf
    guess: Annotated[
        Annotated[Any, Tag("<plain>")]
        | Annotated[str, Tag("<name>")]
        | Annotated[SignalGuess, Tag("<table>")],
        Discriminator(_form),
    ] = 0.0
    scale: Any = 1.0
    unit: str = "1"
    degree: int = 1
    segments: int | None = None
    knots: list[Finite] | None = None
    phases: list[str] | None = None
    continuity: int = -1


class ParameterTable(Table):
    name: str
    min: float
    max: float
    guess: Finite | None = None
    unit: str = "1"
    quantity: Any = ()  # a text or a list of texts


class SystemTable(Table):
    payloads: list[Payload] = []
    forces: list[Force] | None = None
    passive: list[str] | None = None
    limits: LimitsTable = LimitsTable()


class CurveTable(Table):
    s: list[Finite]
    q: list[list[Finite]]


class GuessTable(Table):
    kind: Literal["auto", "linear", "inverse_kinematics", "feasible"] | None = None
    curve: CurveTable | None = None
    solution: str | None = None


def _from_dataclass(name: str, kind: type, **changed: Any) -> type[Table]:
    """A table with the fields and defaults of a dataclass."""
    hints = get_type_hints(kind)
    fields: Row = {f.name: (hints[f.name], f.default) for f in dataclasses.fields(kind)}
    return create_model(name, __base__=Table, **(fields | changed))


METHODS: dict[str, type[Spline]] = {"spline": Spline, "hybrid": Hybrid, "dmoc": Dmoc}


def _method(value: object) -> object:
    if not isinstance(value, str) or value not in METHODS:
        raise ValueError(str(unknown_name("method", value, METHODS)))
    return value


def _knots(value: object) -> object:
    if value in ("clamped", "uniform", "free"):
        return value
    if isinstance(value, list) and all(type(x) in (int, float) for x in value):
        return tuple(float(x) for x in value)
    raise ValueError(
        "expected 'clamped', 'uniform', 'free' or the break points as a list of numbers from 0 to "
        f"1, got {value!r:.60}"
    )


# The keys of all methods, so that `method` can be changed alone: a method ignores foreign keys.
TranscriptionTable = _from_dataclass(
    "TranscriptionTable",
    Hybrid,
    method=(Annotated[Any, BeforeValidator(_method)], None),
    knots=(Annotated[Any, BeforeValidator(_knots)], "clamped"),
    order=(int, Dmoc.order),
)
SolverTable = _from_dataclass("SolverTable", SolverOptions)


class TaskTable(Table):
    name: str | None = None
    description: str | None = None
    model: ModelTable
    forces: list[Force] = []
    limits: LimitsTable = LimitsTable()
    signals: list[SignalTable] = []
    parameters: list[ParameterTable] = []
    systems: dict[str, SystemTable] = {}
    phases: list[PhaseTable]
    continuity: int = 2
    passive: list[str] = []
    ground: GroundTable = GroundTable()
    cycle: CycleTable | None = None
    scene: SceneTable | None = None
    cost: list[Row] = []
    constraint: list[Row] = []
    transcription: TranscriptionTable = TranscriptionTable()  # type: ignore[valid-type]
    solver: SolverTable = SolverTable()  # type: ignore[valid-type]
    guess: GuessTable = GuessTable()


def checked(raw: Row, findings: Findings) -> TaskTable | None:
    """Validate the file's contents against the schema; errors are added to `findings`."""
    try:
        return TaskTable.model_validate(raw)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            where: Path = tuple(k for k in problem["loc"] if not str(k).startswith("<"))
            if problem["type"] == "extra_forbidden":
                findings.unknown_key(where, _keys(where[:-1]))
            else:
                findings.add(where, _in_words(dict(problem)))
        return None


def _keys(where: Path) -> list[str]:
    """The keys of the table at a path."""
    table: Any = TaskTable
    keys = iter(where)
    for key in keys:
        if isinstance(key, int):
            continue
        annotation = table.model_fields[key].annotation
        table = _tables_in(annotation)[0]
        if get_origin(annotation) is dict:
            next(keys, None)  # the name of an entry
    return list(table.model_fields)


def _tables_in(annotation: Any) -> list[type[Table]]:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return [annotation]
    return [t for part in getattr(annotation, "__args__", ()) for t in _tables_in(part)]


def _in_words(problem: Row) -> str:
    kind, got = problem["type"], f"got {problem['input']!r:.60}"
    context = problem.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(context["error"])
    expected = {
        "float_type": "a number",
        "int_type": "a whole number",
        "bool_type": "true or false",
        "string_type": "a string in quotes",
        "list_type": "a list",
        "dict_type": "a table",
        "model_type": "a table",
        "finite_number": "a finite number",
        "too_short": f"{context.get('min_length')} entries",
        "too_long": f"{context.get('max_length')} entries",
        "literal_error": context.get("expected"),
    }.get(kind)
    if expected is None:
        return f"{problem['msg']}, {got}"
    return f"expected {expected}, {got}"
