"""Problem definitions as pure data: a model, phases, costs and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.collision.scene import Scene
from predyn.display import Shown
from predyn.errors import unknown_name
from predyn.kernels.forces import ExternalForce
from predyn.model import Limits, Model
from predyn.nlp import SolverOptions
from predyn.problem.contacts import Contact, Cycle, Ground
from predyn.problem.system import System, system_of
from predyn.problem.unknowns import Parameter, Signal, freeze_lists
from predyn.terms.term import Loss, Residual, Term

GUESSES = ("auto", "linear", "inverse_kinematics", "feasible")
STEPS_PER_SEGMENT = 3  # of discrete motions, by default
When = Literal["throughout", "start", "end"]
At = When | Sequence[float]


@dataclass(frozen=True)
class Duration:
    """A free duration in seconds, between bounds; a guess within the bounds is required."""

    min: float
    max: float
    guess: float


@dataclass(frozen=True, eq=False)
class State:
    """Joint positions, velocities and accelerations at an end; None or NaN leaves them free."""

    q: ArrayLike | Sequence[float | None] | None = None
    v: ArrayLike | Sequence[float | None] | None = None
    a: ArrayLike | Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        for name in ("q", "v", "a"):
            given = getattr(self, name)
            if isinstance(given, tuple | list) and any(x is None for x in given):
                free = [np.nan if x is None else x for x in given]
                object.__setattr__(self, name, free)


@dataclass(frozen=True, eq=False)
class Cost:
    """The weight times the integral over time of the loss of each residual, summed over the rows.

    at: "throughout" integrates; "start", "end" or fractions of the phase (0 to 1) add up values.
    loss: None uses that of the term.
    average: "throughout" means the average over the phase in place of the integral, so that a
    longer phase does not cost more.
    """

    term: Term
    weight: float = 1.0
    at: At = "throughout"
    loss: Loss | None = None
    name: str | None = None
    average: bool = False

    def __post_init__(self) -> None:
        freeze_lists(self, "at")


@dataclass(frozen=True)
class Points:
    """Instants at which a constraint that applies throughout a phase is imposed.

    of     "limits": the limit points; "motion": the Greville abscissae of the joints' splines, as
           many as control points
    first  how many to leave out at the start of the phase
    last   how many to leave out at its end
    """

    of: Literal["limits", "motion"] = "limits"
    first: int = 0
    last: int = 0


@dataclass(frozen=True, eq=False)
class Constraint:
    """lower <= residual <= upper at each of its instants; a scalar bound applies to all rows.

    Without bounds, those of the term apply (zero by default). If only one bound is given, the other
    is infinite.
    at: "throughout" means the limit points; integral=True bounds the integral over time of the
    sum of the losses instead, with one row for each phase; over="motion" adds up all phases in a
    single row.
    imposed_at: the instants at which a constraint throughout is imposed; None: the limit points, or
    for an equality as many as can be met.
    """

    term: Term
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    at: At = "throughout"
    integral: bool = False
    name: str | None = None
    over: Literal["phase", "motion"] = "phase"
    imposed_at: Points | None = None

    def __post_init__(self) -> None:
        freeze_lists(self, "at")


@dataclass(frozen=True, eq=False)
class Phase:
    """A part of the motion. Costs and constraints given here apply to this phase only.

    duration  s, fixed or between bounds, or the name of a parameter
    system    name of the system that moves in this phase
    impact    whether the new payload is picked up from rest by a plastic impact: velocities
              jump at the start of the phase, but the generalized momentum does not; accelerations
              and torques may jump too. Otherwise velocities are continuous, and the load has the
              velocity of the link
    contacts  contact points that touch the ground in this phase; all others are above it
    loops     names of the model's loops that are closed in this phase; None: all of them
    """

    duration: float | Duration | str
    start: State = field(default_factory=State)
    end: State = field(default_factory=State)
    costs: Sequence[Cost] = ()
    constraints: Sequence[Constraint] = ()
    segments: int | None = None
    name: str | None = None
    system: str | None = None
    impact: bool = False
    contacts: Sequence[Contact] = ()
    loops: Sequence[str] | None = None

    def __post_init__(self) -> None:
        freeze_lists(self, "costs", "constraints", "contacts", "loops")


@dataclass(frozen=True)
class Spline:
    """Transcription of all joint motions as B-splines in normalised time.

    limit_points  points per segment where limits are imposed, besides the ends of the phase
    gauss_points  quadrature points per segment for the costs
    knots         "clamped", "uniform", the break points in [0, 1] (clamped), or "free": clamped,
                  with break points that are optimized in a last solve (single phase only)
    limits        "points": bounds hold at the limit points; "everywhere": inequalities that are
                  linear in q, v, a, jerk or a signal bound the control points of that curve or
                  derivative, so they hold at all times, and are somewhat stricter than needed.
                  Torques and other quantities are bounded at limit points in either case
    """

    degree: int = 3
    segments: int = 20
    limit_points: int = 3
    gauss_points: int = 5
    knots: Literal["clamped", "uniform", "free"] | Sequence[float] = "clamped"
    refine: bool = False
    refine_tolerance: float = 1e-3
    max_refinements: int = 4
    limits: Literal["points", "everywhere"] = "points"

    method: ClassVar[str] = "spline"
    without: ClassVar[tuple[str, ...]] = ()  # channels that the method cannot provide

    def __post_init__(self) -> None:
        given: Any = self.knots
        if isinstance(given, np.ndarray | list):
            object.__setattr__(self, "knots", tuple(given))


@dataclass(frozen=True)
class Hybrid(Spline):
    """Active joints are B-splines, passive joints are integrated by RK4 in equal steps per segment.

    steps         RK4 steps per segment; costs are summed over their stages (no gauss_points); None:
                  10, or more if springs and damping of passive joints need shorter ones
    shooting      "multiple": the states of the passive joints where segments meet are unknowns;
                  "single": one integration from the start, where their states must be given
    limit_points  as for splines, but where steps begin: at most `steps` per segment
    """

    segments: int = 40
    limit_points: int = 2
    steps: int | None = None
    shooting: Literal["multiple", "single"] = "multiple"

    method: ClassVar[str] = "hybrid"


@dataclass(frozen=True)
class Dmoc(Spline):
    """Discrete mechanics and optimal control: positions at nodes, torques between them.

    The discrete Euler-Lagrange equations link neighbouring steps, and loops and contacts hold at
    the nodes. Accelerations and jerks are differences of neighbouring nodes.

    steps  equal time steps in each phase; None: three for each segment
    order  2: straight lines between nodes, midpoint rule; 4: parabolas, Lobatto points, with nodes
           in the middle of the steps too

    Other options than `segments` belong to splines; they have no effect.
    """

    steps: int | None = None
    order: Literal[2, 4] = 2

    method: ClassVar[str] = "dmoc"
    without: ClassVar[tuple[str, ...]] = ("ground:",)

    def steps_of(self, segments: int | None) -> int:
        """Steps of a phase with its own number of segments, if it has one."""
        if self.steps is not None:
            return self.steps
        return STEPS_PER_SEGMENT * (self.segments if segments is None else segments)


@dataclass(frozen=True, eq=False, repr=False)
class Problem(Shown):
    """A task. The model's limits apply throughout unless `limits` replaces them.

    forces      external forces; each constant, a given curve (Profile) or a signal's name
    passive     names of the joints without a motor: their torque is zero throughout
    continuity  how many time derivatives of q agree between phases (2: q, v and a)
    guess       "linear": straight lines; "inverse_kinematics": the same, over postures that reach
                the goals of frames; "auto": the latter if such goals are in reach; "feasible": a
                motion that meets all constraints, found first without costs, from q = 0; (s, q)
                arrays of a curve over the whole motion in normalised time, or a Solution
    signals     unknown functions of time besides the motion of the joints
    parameters  unknown numbers that all phases share
    systems     by name: payloads, forces, passive joints and limits of some phases
    ground      what the contact points of the phases touch
    cycle       the end of the motion continues at its start, moved on and possibly mirrored
    scene       obstacles, and parts that the robot carries; Clearance terms keep them apart
    margin      m; the smallest clearance by default, and the one that certificates are for

    With contacts, the joints of a floating base have no motor by default.
    """

    model: Model
    phases: Sequence[Phase]
    costs: Sequence[Cost] = ()
    constraints: Sequence[Constraint] = ()
    forces: Sequence[ExternalForce] = ()
    limits: Limits | None = None
    jerk_limit: ArrayLike | None = None
    continuity: int = 2
    guess: object = "auto"
    transcription: Spline = field(default_factory=Spline)
    solver: SolverOptions = field(default_factory=SolverOptions)
    name: str = "problem"
    passive: Sequence[str] = ()
    signals: Sequence[Signal] = ()
    parameters: Sequence[Parameter] = ()
    systems: Mapping[str, System] = field(default_factory=dict)
    ground: Ground = field(default_factory=Ground)
    cycle: Cycle | None = None
    scene: Scene | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        freeze_lists(
            self,
            *("phases", "costs", "constraints", "forces", "passive", "signals", "parameters"),
        )

    @property
    def ground_forces(self) -> bool:
        """Whether unknown forces act on the mechanism in some phase."""
        systems = [system_of(self, p) for p in range(len(self.phases))]
        return any(isinstance(force.force, str) for x in systems for force in x.forces)

    def validate(self) -> list[str]:
        """All errors, one message each; empty if the problem can be transcribed."""
        from predyn.problem.check_problems import problems_of

        return problems_of(self)

    def __repr__(self) -> str:
        try:
            return f"Problem({self.name!r}, {self._contents()})"
        except (AttributeError, TypeError):  # of a wrong type; a debugger must not fail on it
            return f"Problem({self.name!r}, invalid: validate() lists its errors)"

    def _contents(self) -> str:
        counts = {"phase": len(self.phases)} | {
            key: len(getattr(self, f"{key}s"))
            + sum(len(getattr(x, f"{key}s")) for x in self.phases)
            for key in ("cost", "constraint")
        }
        words = ", ".join(f"{n} {key}{'s' * (n != 1)}" for key, n in counts.items())
        method = self.transcription.method
        return f"model {self.model.name!r}, {words}, {method}"


def name_of(entry: Cost | Constraint) -> str:
    """The name of the entry, or that of its term, or the kind of the term."""
    return str(entry.name or getattr(entry.term, "name", None) or entry.term.kind)


def duration_of(problem: Problem, phase: Phase) -> float | Duration:
    """The duration of a phase; if it is a parameter, with its bounds and guess."""
    given = phase.duration
    if not isinstance(given, str):
        return given
    for parameter in problem.parameters:
        if parameter.name == given:
            return Duration(parameter.min, parameter.max, parameter.guess)
    raise unknown_name("parameter", given, [x.name for x in problem.parameters])


def row_bounds(
    lower: ArrayLike | None, upper: ArrayLike | None, residual: Residual
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper bound of each row: the given scalars or vectors, or those of the term."""
    m = len(residual.rows)
    given = (lower, upper)
    if lower is None and upper is None:
        given = (residual.lower, residual.upper)
    low, high = (
        np.full(m, 0.0 if lower is upper else side * np.inf) if x is None else np.asarray(x, float)
        for side, x in zip((-1, 1), given, strict=True)
    )
    return np.broadcast_to(low, (m,)).copy(), np.broadcast_to(high, (m,)).copy()
