"""The built-in tasks among obstacles: certified, in order, and never worse than the timed path."""

import numpy as np
import pytest

import predyn
from predyn.collision import Checker

TASKS = ("robot-stud-welding", "robot-pick-place-shelf")


@pytest.fixture(scope="module", params=TASKS)
def solved(request):
    return predyn.solve(predyn.load_task(request.param))


def test_certified_and_not_worse_than_the_timed_path(solved):
    assert solved.success
    assert solved.certificate.status == "certified"
    assert solved.certificate.clearance >= 0.003
    assert [stage.name for stage in solved.stages] == ["plan", "time", "improve"]
    timed, improved = solved.stages[1:]
    assert improved.objective <= timed.objective
    assert improved.clearance >= 0.003


def test_samples_keep_the_margin_and_straight_lines_do_not(solved):
    """Straight lines in joint space between the same ends collide: a plan is needed."""
    problem, direct = solved.problem, []
    for p, phase in enumerate(problem.phases):
        checker = Checker(problem.model, problem.scene.in_phase(phase.name))
        q = solved.q[solved.phase == p]
        assert checker.distances(q).min() >= 0.003 - 1e-9
        s = np.linspace(0.0, 1.0, 200)[:, None]
        direct.append(checker.distances((1.0 - s) * q[0] + s * q[-1]).min())
    assert min(direct) < 0.0
