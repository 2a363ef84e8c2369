"""The report of a motion: one HTML file that needs nothing but a browser."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from predyn.analysis.cycles import find_gait
from predyn.analysis.gait import GaitCycles
from predyn.analysis.lifting import LiftLoads, find_lift
from predyn.simulation.verification import verify
from predyn.solution import EXCEEDS, Solution
from predyn.solution.ground import touches_ground
from predyn.view import systems, tables
from predyn.view.clearance_section import (
    Clearances,
    clearance_cards,
    clearance_charts,
    clearance_section,
    clearances_of,
    scene_overlays,
)
from predyn.view.comparison import Comparison
from predyn.view.curves import (
    clock_data,
    first_shown,
    history_charts,
    motion_charts,
    signal_charts,
    state_rows,
)
from predyn.view.figures import (
    film_poses,
    film_svg,
    path_legend,
    sparsity_svg,
    strobe_poses,
    strobe_svg,
)
from predyn.view.gait_charts import gait_charts
from predyn.view.gait_tables import gait_cards, gait_section
from predyn.view.ground_charts import Ground, ground_charts, ground_of
from predyn.view.ground_section import ground_section
from predyn.view.lift_section import lift_cards, lift_charts, lift_section
from predyn.view.method import method_words
from predyn.view.numbers import seconds
from predyn.view.pages import assembled
from predyn.view.panels import Motion
from predyn.view.scene import scene_data
from predyn.view.sheets import Spec, Times, page_data, picker
from predyn.view.stage import Stage, set_stage
from predyn.view.term_charts import term_charts
from predyn.view.verification import (
    verification_cards,
    verification_data,
    verification_html,
)

NOTHING = (
    '<p class="message">The last iterate contains values that are not finite, so there are no '
    "curves and no animation.</p>"
)
CURVES = """<section id="curves">
<div class="bar"><h2>Curves</h2><div id="tools" class="tools"></div></div>
<div id="picker" class="picker" role="group" aria-label="Joints shown in the curves"></div>
<div id="charts" class="charts"></div>
<div id="signals" class="charts next"></div>
<div id="terms" class="charts next"></div>
</section>
"""
NO_MOTION = "<p>There is no motion to draw.</p>"


def _tab(solution: Solution) -> str:
    """The title of the page."""
    if solution.success:
        return solution.name
    return f"{'Exceeds limits' if solution.status == EXCEEDS else 'Not converged'}: {solution.name}"


def report_html(
    solution: Solution, compare: Motion | None = None, gait: GaitCycles | None = None
) -> str:
    """The whole page as text; it loads nothing from anywhere.

    compare: another motion of the same joints, drawn with this one.
    gait: by default the gait cycles that a motion on the ground has, if any.

    A cyclic motion whose sides change places is shown twice: as a whole cycle.
    """
    comparison = None if compare is None else Comparison(solution, compare)
    shown = _whole(solution)
    stage = set_stage(shown) if solution.finite else None
    ground = ground_of(shown) if stage and touches_ground(solution) else None
    if gait is None and ground is not None:
        gait = find_gait(solution)
    lift = find_lift(solution) if ground is not None else None
    if stage and solution.verification is None:  # a file of version 0.2, or saved without it
        solution = verify(solution)
    checks = solution.verification if stage else None
    near = clearances_of(solution) if stage else None
    values = {
        "title": escape(solution.name),
        "tab": escape(_tab(solution)),
        "model": escape(solution.model.name),
        "badge": tables.badge(solution, checks.warnings(solution.model) if checks else ()),
        "nothing": "" if stage else NOTHING,
        "gait": gait_section(gait) if stage else "",
        "lift": lift_section(lift),
        "clearance": clearance_section(solution, near) if stage else "",
        "ground": ground_section(shown, ground) if ground else "",
        "curves": CURVES if stage else "",
        "verdict": tables.verdict(solution),
        "numbers": tables.key_numbers(
            solution,
            verification_cards(solution, checks) if checks else [],
            gait_cards(gait) + lift_cards(lift) + clearance_cards(solution),
        ),
        "costs": tables.costs(solution),
        "parameters": (
            '<h2 class="next">Parameters</h2>' + systems.parameters(solution)
            if solution.parameters
            else ""
        ),
        "strobe": strobe_svg(stage) if stage else NO_MOTION,
        "strobe_step": _step(stage, strobe_poses(stage)) if stage else "",
        "paths": path_legend(stage) if stage else "",
        "method": escape(method_words(solution)),
        "film": film_svg(stage) if stage else NO_MOTION,
        "film_step": _step(stage, film_poses(stage)) if stage else "",
        "pattern": sparsity_svg(solution.jacobian, solution.n_constraints, solution.n_variables),
        "nonzeros": f"{len(solution.jacobian[0])}",
        "size": f"{solution.n_constraints} by {solution.n_variables}",
        "dense": tables.violations(tables.between_only(solution), solution.model),
        "imposed": tables.violations(solution.violations, solution.model),
        "active": tables.active(solution),
        "verification": verification_html(solution, checks) if checks else NO_MOTION,
        "starts": _section("Starts", tables.starts(solution)) if solution.starts else "",
        "links": tables.links(solution.model),
        "joints": systems.joints(solution),
        "payloads": (
            "<h3>Payloads</h3>" + systems.payloads(solution)
            if systems.has_payloads(solution)
            else ""
        ),
        "forces": (
            "<h3>External forces</h3>" + systems.forces(solution)
            if systems.has_forces(solution)
            else ""
        ),
        "provenance": tables.provenance(solution),
    }
    return assembled(
        "page.html", values, _data(solution, shown, stage, comparison, ground, gait, lift, near)
    )


def _whole(solution: Solution) -> Solution:
    """The motion with its continuation up to where it is the same again."""
    mirrored = solution.cycle is not None and solution.cycle.mirrored
    return solution.repeated(2) if mirrored and solution.finite else solution


def _data(
    solution: Solution,
    shown: Solution,
    stage: Stage | None,
    comparison: Comparison | None,
    ground: Ground | None,
    gait: GaitCycles | None,
    lift: LiftLoads | None,
    near: Clearances | None,
) -> Spec:
    """What the script shows: the motion if there is one, and how the solver went.

    shown: the motion with its continuation; near: distances of its tightest pairs.
    """
    times = Times()
    history = {"history": history_charts(solution, times)}
    if stage is None:
        return page_data(times, history)
    motion, checks = motion_charts(shown, times), solution.verification
    contacts = {x for point in solution.model.contact_points for x in (point.name, point.patch)}
    signals = set(shown.signal_curves)
    charts = {
        "charts": motion,
        "signals": signal_charts(shown, times, signals - contacts if ground else None),
        "terms": term_charts(solution, times),
        "checks": verification_data(solution, checks, times) if checks else [],
    }
    if ground is not None:
        charts["ground"] = ground_charts(ground, times)
        charts["points"] = signal_charts(shown, times, contacts)
    if gait is not None:
        charts["gait"], charts["gait-more"] = gait_charts(gait, times)
    if lift is not None:
        charts["lift"] = lift_charts(lift, times)
    if solution.scene is not None:
        charts["clearance"] = clearance_charts(solution, near, times)
    joints, overlays = solution.model.joint_names, scene_overlays(shown, stage)
    chosen, rows = first_shown(shown, motion), state_rows(shown, motion)
    if comparison:
        overlays.append(comparison.overlay(stage))
        comparison.add_curves(motion, times)
    return page_data(
        times,
        charts | history,
        [picker("picker", ["charts"], joints, chosen)],
        clock_data(shown),
        scene_data(stage, overlays, solution.name),
        rows,
    )


def _step(stage: Stage, poses: NDArray[np.int64]) -> str:
    """How many poses there are and how far apart in time."""
    return f"{len(poses)} poses, every {seconds(float(stage.times[-1]) / (len(poses) - 1))}"


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"
