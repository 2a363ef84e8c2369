"""Solids that are there only in some phases of a motion."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from predyn.collision import Checker, Obstacle, Part, Scene, certify
from predyn.errors import FileError, InputError
from predyn.model.capsules import Capsule
from predyn.terms import Clearance, TotalTime

ARM = predyn.models.two_link().with_capsules(
    [Capsule("link1", (0, 0, 0), (0.3, 0, 0), 0.04), Capsule("link2", (0, 0, 0), (0.3, 0, 0), 0.04)]
)
# the arm turns by a right angle in each phase: the ball is in the way of the second one only
BALL = Obstacle("ball", "sphere", (0.05,), (0.0, 0.5, 0.0), phases=("out",))
LATE = replace(BALL, phases=("back",))
LOAD = Part("load", "tip", "sphere", (0.05,), phases=("back",))


def motion(scene):
    """Two phases along straight lines, from 0 to a quarter turn and on to half a turn."""
    states = [(0.0, 0.0), (0.5 * np.pi - 0.3, 0.0), (np.pi, 0.0)]
    phases = tuple(
        predyn.Phase(
            predyn.Duration(1.0, 1.0, 1.0),
            predyn.State(states[k]),
            predyn.State(states[k + 1]),
            name=n,
        )
        for k, n in enumerate(("out", "back"))
    )
    return predyn.Problem(ARM, phases, (predyn.Cost(TotalTime()),), scene=scene)


def solved():
    from fake_solution import fake_solution

    one = fake_solution(2, model=ARM)
    knots = one.curves[0].knots
    lines = [np.linspace((0, 0), (1.27, 0), 9), np.linspace((1.27, 0), (np.pi, 0), 9)]
    curves = tuple(one.curves[0]._replace(control=c, knots=knots) for c in lines)
    return replace(one, curves=curves, phase_names=("out", "back"))


def test_scene_of_a_phase():
    scene = Scene((BALL,), (LOAD,), (("load", "link1"), ("link1", "ball")))
    assert scene.phases == ("out", "back")
    out, back = scene.in_phase("out"), scene.in_phase("back")
    assert ([x.name for x in out.obstacles], out.parts) == (["ball"], ())
    assert (back.obstacles, [x.name for x in back.parts]) == ((), ["load"])
    assert (out.allowed, back.allowed) == ((("link1", "ball"),), (("load", "link1"),))
    assert scene.in_phase("out") is out
    assert not out.phases
    plain = Scene((replace(BALL, phases=()),))
    assert plain.in_phase("out") is plain


def test_certify_looks_at_phases():
    solution = solved()
    early = certify(solution, Scene((BALL,)))
    assert early.status == "certified"
    late = certify(solution, Scene((LATE,)))
    assert (late.status, late.pair[1]) == ("collision", "ball")
    assert late.time > solution.curves[0].duration
    assert late.guaranteed == -np.inf
    both = certify(solution, Scene((replace(BALL, phases=()),)))
    assert (both.status, both.pair) == (late.status, late.pair)


def test_clearance_and_guarantee_are_those_of_the_nearest_phase():
    solution = solved()
    certificate = certify(solution, Scene((BALL,), (LOAD,)))
    checkers = [Checker(ARM, Scene((BALL,), (LOAD,)).in_phase(x)) for x in ("out", "back")]
    t = np.linspace(0.0, solution.duration, 2001)
    q, early = solution.at(t).q, solution.phase_at(t) == 0
    rows = zip(checkers, (q[early], q[~early]), strict=True)
    least = min(checker.distances(x).min(initial=np.inf) for checker, x in rows)
    assert certificate.status == "certified"
    assert certificate.guaranteed <= least <= certificate.clearance + 1e-9


def test_without_pairs_there_are_no_distances():
    checker = Checker(ARM, Scene((), (replace(LOAD, phases=()),)))
    assert checker.pairs == ()
    assert checker.distances(np.zeros((4, 2))).shape == (4, 0)


def test_unknown_phases_are_named():
    scene = Scene((replace(BALL, phases=("ouch",)),))
    with pytest.raises(InputError, match=r"phase in the scene 'ouch'.*out"):
        certify(solved(), scene)
    with pytest.raises(InputError, match="'ouch'"):
        predyn.solve(motion(scene))
    with pytest.raises(InputError, match="phases: expected a list of names"):
        replace(BALL, phases="out")


def test_rows_and_fixed_states_are_those_of_the_phase():
    from predyn.problem.offers import offer_in

    scene = Scene((BALL, replace(LATE, name="late", position=(-0.6, 0.0, 0.0))))
    problem = motion(scene)
    rows = [Clearance().bind_to(offer_in(problem, p)).rows for p in (0, 1)]
    assert rows == [(f"link1 to {x}", f"link2 to {x}") for x in ("ball", "late")]
    with pytest.raises(InputError, match=r"'link2' and 'late' overlap"):
        predyn.solve(problem)


def test_phases_in_files(tmp_path):
    path = tmp_path / "scene.toml"
    text = 'format = "predyn-scene-1"\n[[obstacles]]\nname = "a"\nkind = "sphere"\nradius = 0.1\n'
    path.write_text(text + 'phases = ["out", "back"]\n')
    assert predyn.load_scene(path).phases == ("out", "back")
    path.write_text(text + 'phases = "out"\n')
    with pytest.raises(FileError, match="phases: expected a list"):
        predyn.load_scene(path)


@pytest.mark.parametrize("start", [None, 5])
def test_a_start_that_is_no_state(start):
    phase = predyn.Phase(predyn.Duration(1.0, 1.0, 1.0), start=start)
    problem = predyn.Problem(ARM, (phase,), (predyn.Cost(TotalTime()),), scene=Scene())
    assert any("phases[0].start: expected a State" in found for found in problem.validate())
