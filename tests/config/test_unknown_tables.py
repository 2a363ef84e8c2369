"""Signals, parameters, systems and forces of task files arrive in the problem."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from predyn.config import load_task
from predyn.curves.profile import Profile
from predyn.errors import FileError
from predyn.problem import Parameter, Problem
from predyn.terms import FrameStep, SignalValue, TotalTime, WeightedSum

HEAD = """
[model]
builtin = "two_link"
[limits]
velocity = 5.0
jerk = { joint1 = 100.0 }
[[cost]]
term = "effort"
"""
REST = """
[[phases]]
name = "reach"
duration = 1.0
start = { q = [0.0, 0.0], v = 0.0 }
[[phases]]
name = "carry"
duration = 1.0
end = { q = [1.0, 1.0], v = 0.0 }
"""
PRESS = """
[[signals]]
name = "press"
components = ["x", "y", "z"]
"""


def loaded(folder: Path, text: str) -> Problem:
    path = folder / "task.toml"
    path.write_text(HEAD + text)
    return load_task(path)


def test_a_signal_in_full(tmp_path: Path) -> None:
    keys = """lower = [-10, 0, 0]
upper = [inf, 0, 0]
guess = { s = [0.0, 1.0], values = [[1, 0, 0], [2, 0, 0]] }
scale = 20.0
unit = "N"
degree = 2
segments = 5
phases = ["carry"]
continuity = 1
"""
    cost = '[[phases.cost]]\nterm = "signal"\nsignal = "press"\ncomponents = ["x"]\n'
    (signal,) = loaded(tmp_path, PRESS + keys + REST + cost).signals
    assert (signal.name, signal.components) == ("press", ("x", "y", "z"))
    assert (signal.lower, signal.upper) == ([-10, 0, 0], [np.inf, 0, 0])
    s, values = signal.guess
    np.testing.assert_array_equal(s, [0.0, 1.0])
    np.testing.assert_array_equal(values, [[1, 0, 0], [2, 0, 0]])
    assert (signal.scale, signal.unit, signal.degree, signal.segments) == (20.0, "N", 2, 5)
    assert (signal.phases, signal.continuity) == (("carry",), 1)


def test_a_signal_has_defaults(tmp_path: Path) -> None:
    force = '[[forces]]\nlink = "tip"\nforce = "press"\nmoment = [0.0, 0.0, 1.0]\n'
    problem = loaded(tmp_path, PRESS + force + REST)
    (signal,) = problem.signals
    assert (signal.lower, signal.upper, signal.guess) == (-np.inf, np.inf, 0.0)
    assert (signal.degree, signal.segments, signal.phases, signal.continuity) == (1, None, None, -1)
    (given,) = problem.forces
    assert (given.force, given.moment) == ("press", [0.0, 0.0, 1.0])


def test_parameters(tmp_path: Path) -> None:
    text = '[[parameters]]\nname = "T"\nmin = 0.5\nmax = 2.0\nunit = "s"\n'
    text += '[[parameters]]\nname = "k"\nmin = -inf\nmax = inf\nguess = 3\n'
    text += '[[cost]]\nterm = "parameter"\nparameter = "k"\ntarget = 2.0\nat = "end"\n'
    problem = loaded(tmp_path, text + REST.replace("duration = 1.0", 'duration = "T"'))
    assert problem.parameters == (
        Parameter("T", 0.5, 2.0, 1.25, "s"),  # the default guess is the midpoint
        Parameter("k", -np.inf, np.inf, 3.0),
    )
    assert [phase.duration for phase in problem.phases] == ["T", "T"]


def test_a_system_in_full(tmp_path: Path) -> None:
    text = """
[systems.loaded]
passive = ["joint2"]
limits = { velocity = { joint2 = 2.0 }, jerk = { joint2 = 50.0 } }
payloads = [{ link = "tip", mass = 2, point = [0.0, 0.1, 0.0], inertia = [0.1, 0.2, 0.2] }]
[[systems.loaded.forces]]
link = "link2"
point = "tip"
force = { times = [0, 1], values = [[0, 0, 0], [0, -5, 0]] }
[[systems.loaded.forces]]
link = "tip"
moment = { times = [0, 1], values = [[0, 0, 0], [0, 0, 2]], over = "phase" }
[transcription]
method = "spline"
"""
    problem = loaded(tmp_path, text + REST + 'system = "loaded"\nimpact = true\n')
    (system,) = problem.systems.values()
    assert [phase.system for phase in problem.phases] == [None, "loaded"]
    assert [phase.impact for phase in problem.phases] == [False, True]
    (load,) = system.payloads
    assert (load.link, load.mass, load.point) == ("tip", 2, [0.0, 0.1, 0.0])
    assert load.inertia == [0.1, 0.2, 0.2]
    assert system.passive == ("joint2",)
    first, second = system.forces
    np.testing.assert_allclose(first.point, [0.4, 0.0, 0.0], rtol=0, atol=1e-15)
    assert isinstance(first.force, Profile)
    assert (first.force.over, second.moment.over) == ("time", "phase")
    np.testing.assert_array_equal(first.force.at(1.0), [0, -5, 0])
    # what a system does not limit is limited as in the rest of the task
    np.testing.assert_array_equal(system.limits.velocity, [[-5, 5], [-2, 2]])
    np.testing.assert_array_equal(system.limits.effort, problem.model.limits.effort)
    np.testing.assert_array_equal(system.jerk_limit, [100.0, 50.0])
    np.testing.assert_array_equal(problem.jerk_limit, [100.0, np.inf])


def test_system_defaults_are_those_of_the_task(tmp_path: Path) -> None:
    problem = loaded(tmp_path, "[systems.plain]\n" + REST + 'system = "plain"\n')
    system = problem.systems["plain"]
    assert (system.payloads, system.forces, system.passive) == ((), None, None)
    assert system.limits is None
    assert system.jerk_limit is None


def test_passive_joints_of_a_system_select_the_method(tmp_path: Path) -> None:
    text = '[systems.loose]\npassive = ["joint2"]\n' + REST + 'system = "loose"\n'
    assert loaded(tmp_path, text).transcription.method == "hybrid"


def test_constraints_over_the_motion_and_sums(tmp_path: Path) -> None:
    text = """
[[constraint]]
term = "effort"
integral = true
over = "motion"
upper = 5.0
[[constraint]]
term = "weighted_sum"
unit = "m"
terms = [{ term = "frame_step", frame = "tip", axis = "y" }, { factor = -0.5, term = "time" }]
"""
    total, balance = loaded(tmp_path, text + REST).constraints
    assert (total.over, total.integral) == ("motion", True)
    assert (balance.over, balance.term.unit) == ("phase", "m")
    assert isinstance(balance.term, WeightedSum)
    (one, step), (other, time) = balance.term.terms
    assert (one, other) == (1.0, -0.5)
    assert isinstance(step, FrameStep)
    assert isinstance(time, TotalTime)


def test_degrees_of_a_signal_that_is_an_angle(tmp_path: Path) -> None:
    text = PRESS.replace("press", "bend") + 'unit = "rad"\n' + REST
    cost = '[[cost]]\nterm = "signal"\nsignal = "bend"\ntarget_deg = 180\n'
    term = loaded(tmp_path, text + cost).costs[1].term
    assert isinstance(term, SignalValue)
    assert term.target == pytest.approx(np.pi, rel=1e-15)
    with pytest.raises(FileError, match="'bend x' is in N, not an angle: write 'target' in SI"):
        loaded(tmp_path, text.replace('"rad"', '"N"') + cost)


def test_errors_in_several_tables_are_reported_together(tmp_path: Path) -> None:
    text = PRESS + "scale = 0.0\n" + '[systems.loaded]\npayloads = [{ link = "tap", mass = 1.0 }]\n'
    text += '[[parameters]]\nname = "T"\nmin = 2.0\nmax = 1.0\n[[cost]]\nterm = "signal"\n'
    text += 'signal = "pres"\n' + REST + 'system = "loaded"\n'
    with pytest.raises(FileError) as error:
        loaded(tmp_path, text)
    message = str(error.value)
    assert "3 problems" in message
    for part in ("[[signals]] 1, scale", "[[parameters]] 1, min", "[systems.loaded] payloads[1]"):
        assert part in message


def test_a_parameter_that_stands_for_numbers_of_the_model(tmp_path: Path) -> None:
    keys = '[[parameters]]\nname = "k"\nmin = 0.0\nmax = 8.0\nquantity = '
    one = loaded(tmp_path, keys + '"stiffness of joint2"\n' + REST)
    assert one.parameters == (Parameter("k", 0.0, 8.0, 4.0, quantity="stiffness of joint2"),)
    both = '["stiffness of joint1", "stiffness of joint2"]'
    (parameter,) = loaded(tmp_path, keys + both + "\n" + REST).parameters
    assert parameter.quantities == ("stiffness of joint1", "stiffness of joint2")
    for wrong in ('""', "3", '["stiffness of joint1", 3]'):
        with pytest.raises(FileError, match=r"\[\[parameters\]\] 1, quantity \(line \d+\): .*text"):
            loaded(tmp_path, keys + wrong + "\n" + REST)
