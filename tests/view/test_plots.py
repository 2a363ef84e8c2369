"""Plots: the curves are the solution's own numbers, with their names, units, limits and phases."""

import sys

import numpy as np
import pytest

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from loaded_solution import loaded_solution

matplotlib = pytest.importorskip("matplotlib", reason="plots need the extra predyn[pictures]")
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def curve(ax, name):
    (line,) = (line for line in ax.get_lines() if line.get_label() == name)
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def at_samples(ax, name, t):
    """Values of a curve at times that it contains."""
    x, y = curve(ax, name)
    assert np.isin(t, x).all()
    return y[np.searchsorted(x, t)]


def test_curves_are_the_samples_and_the_channel_between_them():
    solution = fake_solution()
    axes = solution.plot("q", "v", "a", "jerk", "tau")
    assert len(axes) == 5
    for ax, name in zip(axes, ("q", "v", "a", "jerk", "tau"), strict=True):
        for j, joint in enumerate(solution.model.joint_names):
            x, y = curve(ax, joint)
            assert len(x) > 300
            assert np.array_equal(y, solution.channel(name, x)[:, j])
            if name != "jerk":
                own = getattr(solution, name)[:, j]
                assert at_samples(ax, joint, solution.t) == pytest.approx(own, rel=1e-9, abs=1e-9)


def test_default_is_q_and_tau_with_units():
    labels = [ax.get_ylabel() for ax in fake_solution().plot()]
    assert labels == ["Joint angle [rad]", "Joint torque [N m]"]


def test_degrees_are_labelled_and_torques_stay():
    solution = fake_solution()
    for ax, plain in zip(
        solution.plot("q", "a", "tau", degrees=True), solution.plot("q", "a", "tau"), strict=True
    ):
        factor = 1.0 if "torque" in ax.get_ylabel() else 180.0 / np.pi
        assert ax.get_ylabel() == plain.get_ylabel().replace("rad", "°")
        assert curve(ax, "joint1")[1] == pytest.approx(factor * curve(plain, "joint1")[1])


def test_slides_and_hinges_have_axes_of_their_own():
    solution = fake_solution(model=predyn.models.cart_pole())
    axes = solution.plot("q")
    assert [ax.get_ylabel() for ax in axes] == ["Joint angle [rad]", "Joint position [m]"]
    (slide,) = (line.get_label() for line in axes[1].get_lines())
    j = solution.model.joint_index(slide)
    assert at_samples(axes[1], slide, solution.t) == pytest.approx(solution.q[:, j])


def test_selection_of_joints_and_given_axes():
    solution = fake_solution()
    ax = pyplot.figure().add_subplot()
    assert solution.plot("tau", joints=["joint2"], ax=ax) == [ax]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["joint2"]
    with pytest.raises(predyn.InputError, match=r"expected 2 axes \(Joint angle \[rad\], "):
        solution.plot("q", "tau", ax=[ax])
    with pytest.raises(predyn.InputError, match="joint1"):
        solution.plot(joints=["join1"])
    with pytest.raises(predyn.InputError, match="a list of names"):
        solution.plot(joints="joint1")


def test_limits_are_dashed_where_they_hold():
    solution = loaded_solution()  # two phases; velocities of the second have half the limits
    (ax,) = solution.plot("v")
    drawn = {
        (float(segment[0, 1]), *segment[:, 0].tolist())
        for lines in ax.collections
        if lines.get_linestyle()[0][1] is not None
        for segment in lines.get_segments()
    }
    middle, end = solution.curves[0].duration, solution.duration
    for k, (start, stop) in enumerate(((0.0, middle), (middle, end))):
        bounds = np.asarray(solution.system(k).limits.velocity)
        assert {(bound, start, stop) for bound in bounds[np.isfinite(bounds)]} <= drawn


def test_both_sides_of_a_jump_are_drawn_and_phases_named():
    solution = loaded_solution()
    axes = solution.plot("tau", "q")
    x, y = curve(axes[0], "joint1")
    meeting = np.flatnonzero(x == solution.curves[0].duration)
    assert y[meeting] == pytest.approx(
        solution.tau[solution.t == solution.curves[0].duration, 0], rel=1e-6
    )
    assert abs(np.diff(y[meeting])[0]) > 0.1
    assert {text.get_text() for text in axes[0].texts} == {"reach", "carry"}
    assert len(axes[0].patches) == 1
    low, high = axes[0].patches[0].get_x(), axes[0].patches[0].get_width()
    assert (low, low + high) == pytest.approx((solution.curves[0].duration, solution.duration))


@pytest.mark.parametrize(
    ("name", "label", "first", "part"),
    [
        ("frame:tip", "tip: position [m]", "x", 9),
        ("frame:tip.v", "tip: velocity [m/s]", "x", 15),
        ("frame:tip.R", "tip: rotation matrix", "R11", 0),
        ("signal:press", "Signal press [N]", "x", 0),
        ("rate:press", "Rate of press [N/s]", "x", 0),
        ("parameter:stiffness", "Parameter stiffness [N/m]", "stiffness", 0),
        ("com", "Centre of mass [m]", "x", 0),
        ("power", "Power [W]", "joint1", 0),
    ],
)
def test_every_kind_of_channel(name, label, first, part):
    solution = loaded_solution()
    (ax,) = solution.plot(name)
    assert ax.get_ylabel() == label
    x, y = curve(ax, first)
    inside = np.abs(x - solution.curves[0].duration) > 1e-6
    base = name.split(".")[0]
    assert np.array_equal(y[inside], solution.channel(base, x[inside])[:, part], equal_nan=True)


def test_reactions_are_sizes_of_force_and_moment():
    solution = fake_solution()
    force, moment = solution.plot("reactions")
    assert [force.get_ylabel(), moment.get_ylabel()] == [
        "Reaction force [N]",
        "Reaction moment [N m]",
    ]
    sizes = np.linalg.norm(solution.reactions[:, 1, 3:], axis=1)
    assert at_samples(force, "joint2", solution.t) == pytest.approx(sizes)


def test_joints_without_motor_have_no_torque():
    solution = loaded_solution(passive=True)  # joint2 in the second phase
    x, y = curve(solution.plot("tau")[0], "joint2")
    later = x > solution.curves[0].duration + 1e-6
    assert np.isnan(y[later]).all()
    assert np.isfinite(y[x < solution.curves[0].duration - 1e-6]).all()


def test_an_estimate_has_bands_and_held_torques():
    estimate = fake_estimate()
    q, tau = estimate.plot("q", "tau")
    assert curve(q, "joint1")[1] == pytest.approx(estimate.q[:, 0])
    x, y = curve(tau, "joint1")
    for side, t in enumerate((estimate.t[:-1], estimate.t[1:])):
        assert np.array_equal(x[side::2], t)
        assert np.array_equal(y[side::2], estimate.tau[:, 0])
    (corners,) = (path.vertices for path in tau.collections[0].get_paths())
    low, high = estimate.tau_band
    assert corners[:, 1].min() == pytest.approx(low[:, 0].min())
    assert corners[:, 1].max() == pytest.approx(high[:, 0].max())
    with pytest.raises(predyn.InputError, match="unknown quantity of an estimate 'power'"):
        estimate.plot("power")


def test_a_trajectory_with_its_energy_and_a_batch_that_is_refused():
    model, t = predyn.models.two_link(), np.linspace(0.0, 0.5, 26)
    motion = predyn.simulate(model, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0], t)
    q, energy = motion.plot("q", "energy")
    assert np.array_equal(curve(q, "joint2")[1], motion.q[:, 1])
    assert np.array_equal(curve(energy, "energy")[1], motion.energy)
    batch = predyn.simulate(model, [[0.1, 0.2]] * 3, [0.0, 0.0], [0.0, 0.0], t)
    with pytest.raises(
        predyn.InputError, match=r"expected one motion, got a batch of shape \(3,\)"
    ):
        batch.plot("q")


def test_unknown_names_and_a_failed_solve():
    solution = fake_solution()
    with pytest.raises(predyn.InputError, match="unknown channel 'torque'"):
        solution.plot("torque")
    with pytest.raises(predyn.InputError, match="unknown part of 'frame:tip' 'velocity'"):
        solution.plot("frame:tip.velocity")
    with pytest.raises(predyn.InputError):
        solution.plot(3)
    with pytest.raises(predyn.InputError, match="quantity of an estimate: expected a name"):
        fake_estimate().plot(np.array(["q", "tau"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": 3}, "joints: expected a list of names, got 3"),
        ({"joints": []}, "joints: expected at least one name"),
        ({"ax": [3]}, "ax: expected matplotlib axes"),
        ({"ax": pyplot}, "ax: expected matplotlib axes"),
        ({"degrees": "false"}, "degrees: expected True or False, got 'false'"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(predyn.InputError, match=message):
        fake_solution().plot("q", **options)


def test_names_with_dollar_signs_and_underscores_stay_text():
    from dataclasses import replace

    model = replace(predyn.models.two_link(), joint_names=("_a", "$x^$"))
    axes = fake_solution(model=model).plot("q")
    texts = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert [text.strip("\N{WORD JOINER}") for text in texts] == ["_a", "$x^$"]
    axes[0].figure.canvas.draw()  # parses no mathematics


def test_without_matplotlib_the_message_has_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(predyn.InputError, match=r"pip install 'predyn\[pictures\]'"):
        fake_solution().plot()
