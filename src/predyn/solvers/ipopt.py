"""Solve a nonlinear program by IPOPT (Wächter and Biegler 2006), with MUMPS, in this process."""

from __future__ import annotations

import threading
from collections import Counter
from ctypes import CDLL
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import PredynError
from predyn.nlp import (
    NLP,
    Floats,
    KktError,
    Multipliers,
    SolverOptions,
    kkt_error,
    max_violation,
    worst_violations,
)
from predyn.solvers.ipopt_callbacks import (
    ACCEPTABLE,
    MAX_RELAXATION,
    Callbacks,
    Report,
    unscaled,
)
from predyn.solvers.ipopt_callbacks import HISTORY_FIELDS as HISTORY_FIELDS
from predyn.solvers.ipopt_callbacks import Iterate as Iterate
from predyn.solvers.ipopt_input import Program, checked_program
from predyn.solvers.ipopt_library import ipopt

_LOCK = threading.RLock()  # MUMPS is not thread safe

_OPTIONS: dict[str, str | int | float] = {
    "print_level": 0,
    "sb": "yes",
    "option_file_name": "",  # none is read from the working folder
    "linear_solver": "mumps",
    # Measured over all built-in tasks, random tasks and chains of up to 60 joints (docs/solver.md):
    "mumps_permuting_scaling": 0,  # the program is scaled already
    "mumps_scaling": 0,
    "mumps_mem_percent": 100,
    "fast_step_computation": "yes",
    "nlp_scaling_method": "none",  # the callbacks scale
    # Only scaled errors count, and so the units do not.
    **{
        f"{level}{kind}_tol": 1e20
        for level in ("", "acceptable_")
        for kind in ("dual_inf", "constr_viol", "compl_inf")
    },
    # An evaluated point is returned, not its projection on the bounds, which may be worse by the
    # Jacobian times the relaxation.
    "honor_original_bounds": "no",
}
# Orderings of MUMPS. QAMD sets rows that are almost full aside, such as those of a free duration;
# time grows linearly. Without them, AMD fills in less (people who walk: a fifth of the time). METIS
# dissects what is linked step by step; it is best for large programs of that kind (docs/solver.md).
_AMD, _METIS, _QAMD = 0, 5, 6
_LARGE = 1000  # variables
_FULL = 0.2  # of the constraints; a variable that acts on more of them is set aside

# A start with multipliers: the barrier parameter in proportion to the distance from optimality, and
# the distance from bounds in proportion to that. Measured for neighbours that differ by 1 %.
_BARRIER_BY_ERROR, _LARGEST_BARRIER, _PUSH_BY_BARRIER = 1e-4, 1e-4, 10.0
_PUSHES = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")

_SUCCEEDED, _ACCEPTABLE, _INFEASIBLE, _DIVERGING, _FEASIBLE = 0, 1, 2, 4, 6
_RESTORATION_FAILED, _OVERDETERMINED, _INVALID_NUMBER = -2, -10, -13
_LIMITS = {-1: "iteration_limit", -4: "time_limit", -5: "time_limit"}
_REFUSALS = {-11: "invalid problem definition", -12: "invalid option"}


@dataclass(frozen=True)
class SolverResult:
    """Where a solve ended, evaluated anew there.

    The status is one of optimal, acceptable, infeasible, iteration_limit, time_limit, interrupted,
    diverged, evaluation_error. Where the solver was stopped, the point is the best one met: the
    lowest objective of those that are feasible, or else the least violation.

    A variable or a row may be outside an unequal bound b by 1e-8 max(scale, |b|), or by less for a
    tolerance below 1e-8: max_violation counts this, kkt does not.
    """

    x: Floats
    f: float
    g: Floats
    multipliers: Multipliers
    status: str
    message: str
    history: list[tuple[int, float, float, float, float, float, float, bool]]  # HISTORY_FIELDS
    iterations: int
    seconds: float
    evaluation_seconds: float  # in the program's own methods, while the solver ran
    max_violation: float  # the largest of rows and variables, each in its unit
    kkt: KktError

    @property
    def kkt_error(self) -> float:
        return self.kkt.largest


def solve_nlp(
    nlp: NLP,
    x0: ArrayLike,
    options: SolverOptions,
    start: Multipliers | None = None,
    report: Report | None = None,
) -> SolverResult:
    """Minimise from x0, and from the multipliers `start` if they are known.

    `report` is called after every iteration; it must not evaluate the program, and returns False to
    stop. Ctrl-C stops at the best iterate. What a method of the program raises is raised here.
    """
    began = perf_counter()
    use_hessian = options.hessian != "limited_memory"
    program = checked_program(nlp, x0, start, use_hessian, options.scaling == "auto")
    library = ipopt()
    start_error = None
    if start is not None:
        error = kkt_error(nlp, np.asarray(x0, float), start, _relaxation(options))
        start_error = max(error.feasibility, error.complementarity)
    with _LOCK:
        callbacks = Callbacks(nlp, program, options, report, library)
        ordering = _ordering(program, nlp.step_by_step)
        with callbacks.catching_interrupts():
            code, x, multipliers = _run(library, program, options, callbacks, start_error, ordering)
            fixed = nlp.x_lower == nlp.x_upper
            x[fixed] = nlp.x_lower[fixed]  # without the rounding of the scales
            if isinstance(callbacks.stop, BaseException):
                raise callbacks.stop
            if code in _REFUSALS and callbacks.stop is None:
                raise PredynError(f"IPOPT rejects the program: {_REFUSALS[code]} ({code})")
            ended = code in (_SUCCEEDED, _ACCEPTABLE, _FEASIBLE)
            ended = ended or (code == _INFEASIBLE and callbacks.stop is None)
            if not ended and callbacks.best is not None:
                x, multipliers = callbacks.best
            kkt = kkt_error(nlp, x, multipliers, _relaxation(options))
            f, g = nlp.objective(), np.empty(nlp.m)
            nlp.constraints(g)
    status = callbacks.stop or _status(code, kkt, options.tolerance)
    assert isinstance(status, str)
    return SolverResult(
        *(x, f, g, multipliers, status),
        _message(status, code, nlp, x, g, kkt, callbacks.failure),
        callbacks.history,
        max(len(callbacks.history) - 1, 0),
        perf_counter() - began,
        callbacks.seconds,
        max_violation(nlp, x, g),
        kkt,
    )


def _run(
    library: CDLL,
    program: Program,
    options: SolverOptions,
    callbacks: Callbacks,
    start_error: float | None,
    ordering: int,
) -> tuple[int, Floats, Multipliers]:
    problem = library.CreateIpoptProblem(
        *(len(program.x), program.x_lower.ctypes.data, program.x_upper.ctypes.data),
        *(len(program.g_lower), program.g_lower.ctypes.data, program.g_upper.ctypes.data),
        *(len(program.jacobian_rows), len(program.hessian_rows), 0),
        *(callbacks.objective, callbacks.constraints, callbacks.gradient),
        *(callbacks.jacobian, callbacks.hessian),
    )
    if not problem:
        raise PredynError("IPOPT cannot create the problem: not enough memory?")
    callbacks.problem = problem
    x, y = program.x, np.zeros(len(program.g_lower))
    z_lower, z_upper = np.zeros(len(x)), np.zeros(len(x))
    if program.start is not None:
        y, z_lower, z_upper = program.start
    try:
        settings = _options(options, start_error) | {"mumps_pivot_order": ordering}
        for name, value in settings.items():
            _set_option(library, problem, name, value)
        library.SetIntermediateCallback(problem, callbacks.iteration)
        with np.errstate(
            all="ignore"
        ):  # non-finite values shorten the step, or are reported by name
            code = library.IpoptSolve(
                *(problem, x.ctypes.data, None, None),
                *(y.ctypes.data, z_lower.ctypes.data, z_upper.ctypes.data, None),
            )
    finally:
        library.FreeIpoptProblem(problem)
        callbacks.release()
    return code, *unscaled(program, x, Multipliers(y, z_lower, z_upper))


def _ordering(program: Program, step_by_step: bool) -> int:
    """The ordering of the linear systems, by the structure of the program."""
    if step_by_step and len(program.x) > _LARGE:
        return _METIS
    acts_on = np.bincount(program.jacobian_columns, minlength=len(program.x))
    return _QAMD if acts_on.max() > _FULL * len(program.g_lower) else _AMD


def _relaxation(options: SolverOptions) -> float:
    return min(MAX_RELAXATION, options.tolerance)


def _options(options: SolverOptions, start_error: float | None) -> dict[str, str | int | float]:
    """start_error: of the initial point with its multipliers, None without multipliers."""
    settings: dict[str, str | int | float] = _OPTIONS | {
        "tol": float(options.tolerance),
        "acceptable_tol": ACCEPTABLE * options.tolerance,
        "bound_relax_factor": _relaxation(options),
        "max_iter": int(options.max_iterations),
    }
    if options.mu_init is not None:
        settings["mu_init"] = float(options.mu_init)
    if start_error is not None:
        least = 0.1 * options.tolerance
        barrier = float(np.clip(_BARRIER_BY_ERROR * start_error, least, _LARGEST_BARRIER))
        barrier = float(settings.setdefault("mu_init", barrier))
        push = min(_PUSH_BY_BARRIER * barrier, 1e-2)
        settings |= {f"warm_start_{name}": push for name in _PUSHES}
        settings["warm_start_init_point"] = "yes"
    if options.max_seconds is not None:
        # the callbacks look at the clock too; IPOPT rejects very short times
        settings["max_wall_time"] = max(float(options.max_seconds), 1.0)
    if options.hessian == "limited_memory":
        settings["hessian_approximation"] = "limited-memory"
    return settings


def _set_option(library: CDLL, problem: int, name: str, value: str | int | float) -> None:
    if isinstance(value, str):
        done = library.AddIpoptStrOption(problem, name.encode(), value.encode())
    elif isinstance(value, int):
        done = library.AddIpoptIntOption(problem, name.encode(), value)
    else:
        done = library.AddIpoptNumOption(problem, name.encode(), value)
    if not done:
        raise PredynError(f"IPOPT does not accept {name} = {value!r}")


def _status(code: int, kkt: KktError, tolerance: float) -> str:
    """Success only where our own evaluation of the optimality conditions confirms it."""
    near = kkt.largest <= ACCEPTABLE * tolerance
    close = kkt.largest <= ACCEPTABLE**2 * tolerance
    feasible = kkt.feasibility <= ACCEPTABLE * tolerance
    if code in _LIMITS:
        return _LIMITS[code]
    if code in (_INFEASIBLE, _OVERDETERMINED):
        return "infeasible"
    if code == _INVALID_NUMBER:
        return "evaluation_error"
    if code == _FEASIBLE and feasible:  # as many equations as unknowns: nothing to choose
        return "optimal"
    if code == _SUCCEEDED and near:
        return "optimal"
    if near or (close and code in (_SUCCEEDED, _ACCEPTABLE)):
        return "acceptable"
    if code == _RESTORATION_FAILED and not feasible:
        return "infeasible"
    return "diverged"


_ADVICE = {
    "optimal": "",
    "acceptable": "use it if this is accurate enough; otherwise check the derivatives and the "
    "scales, or start again from this point",
    "infeasible": "relax the limits named here, or start from another guess: only points near the "
    "last one have been ruled out",
    "iteration_limit": "raise max_iterations, start again from this point, or improve the guess",
    "time_limit": "raise max_seconds, start again from this point, or improve the guess",
    "interrupted": "start again from this point to continue",
    "diverged": "bound the variables and the objective from below, check the derivatives and the "
    "scales, or start from another guess",
    "evaluation_error": "start from another guess, or bound the variables to where the functions "
    "are defined",
}


def _message(
    status: str, code: int, nlp: NLP, x: Floats, g: Floats, kkt: KktError, failure: str
) -> str:
    error = f"optimality error {kkt.largest:.2g}"
    if status == "optimal":
        return f"converged, {error}"
    parts = {
        "acceptable": f"nearly converged, {error}",
        "infeasible": "no feasible point was found",
        "iteration_limit": f"the iteration limit was reached, {error}",
        "time_limit": f"the time limit was reached, {error}",
        "interrupted": f"interrupted, {error}",
        "diverged": f"no further progress (IPOPT code {code}), {error}",
        "evaluation_error": failure or "the functions are not finite near this point",
    }
    outcome = parts[status]
    if code == _DIVERGING and status == "diverged":
        outcome = "the variables grow without bound"
    if code == _OVERDETERMINED:
        equal = np.flatnonzero(nlp.g_lower == nlp.g_upper)
        free = int(np.sum(nlp.x_lower < nlp.x_upper))
        names = Counter(nlp.g_name(int(i)).partition(" at ")[0] for i in equal).most_common(5)
        listed = ", ".join(f"{count} of {name}" for name, count in names)
        return (
            f"too few degrees of freedom: {len(equal)} equations ({listed}) for {free} free "
            "variables; remove equations, or free variables (a duration, more control points)"
        )
    worst = [
        f"{v.name} = {v.value:.6g} (outside {v.lower:.6g} .. {v.upper:.6g} by {v.violation:.2g})"
        for v in worst_violations(nlp, x, g)
        if v.violation > ACCEPTABLE * MAX_RELAXATION
    ]
    named = f"; violated: {', '.join(worst)}" if worst else ""
    return f"{outcome}{named}; {_ADVICE[status]}"
