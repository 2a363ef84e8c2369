"""Wrong input ends in an error that says what to do, or in a named warning; never in NaN."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from predyn.errors import DataWarning, InputError
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.result import Estimate
from predyn.model import PRISMATIC, Frame, Model
from predyn.model.builder import ModelBuilder
from predyn.models import random_tree
from predyn.recordings.measurements import MeasuredForce, Measurements
from recorded_motions import marked, recorded, rms, sway

NOISE = 1e-3
T = np.linspace(0.0, 1.0, 101)
MODEL = marked(random_tree(3, 46), 46)
MOTION = sway(3, 46)
Q = MOTION.at(T)[0]
GOOD = recorded(MODEL, T, Q, noise=NOISE)
MARKERS = recorded(
    MODEL, T, Q, joints=(), markers=tuple(frame.name for frame in MODEL.frames), noise=NOISE
)
NOTHING = np.full(101, np.nan)


def plate(t: np.ndarray = T) -> MeasuredForce:
    zero = np.zeros((len(t), 3))
    return MeasuredForce(t, zero + [0.0, 0.0, 5.0], zero, zero)


PUSHED = replace(GOOD, forces={"plate": plate()})


def estimated(data: Measurements = GOOD, model: Model = MODEL, **options: object) -> Estimate:
    """The estimate; all numbers are finite and each warning was issued."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = estimate_torques(model, data, **options)
    assert [found.category for found in caught] == [DataWarning] * len(estimate.warnings)
    names = ("t", "q", "v", "a", "tau", "tau_sd", "q_sd", "v_sd", "weights", "grid_error")
    for name in names:
        assert np.isfinite(getattr(estimate, name)).all(), name
    return estimate


def messages_of(estimate: Estimate) -> str:
    return "\n".join(estimate.warnings)


def away(estimate: Estimate) -> float:
    """Error of the torques over their size."""
    truth = MOTION.torques(MODEL, estimate.t_tau)
    return rms(estimate.tau - truth) / rms(truth)


# ---- arguments


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "order 4": ({"order": 4}, "order: expected 0, 1, 2"),
    "order -1": ({"order": -1}, "order: expected 0, 1, 2"),
    "order 1.5": ({"order": 1.5}, "order: expected 0, 1, 2"),
    "order as text": ({"order": "1"}, "order: expected 0, 1, 2"),
    "order True": ({"order": True}, "order: expected 0, 1, 2"),
    "order of several": ({"order": np.array([1, 2])}, "order: expected 0, 1, 2"),
    "order of switching": ({"order": 2, "total_variation": True}, "order 1; got order=2"),
    "switching as text": ({"total_variation": "no"}, "total_variation: expected True or"),
    "independent": ({"independent": "arms"}, "'joints', 'links'"),
    "independent list": ({"independent": ["joints"]}, r"independent: expected a name \(str\)"),
    "weight 0": ({"weight": 0.0}, "weight: expected a finite number above 0, got 0"),
    "weight negative": ({"weight": -1.0}, "weight: expected a finite number above 0, got -1"),
    "weight NaN": ({"weight": np.nan}, "weight: expected a finite number above 0, got nan"),
    "weight infinite": ({"weight": np.inf}, "weight: expected a finite number above 0, got inf"),
    "weight as text": ({"weight": "a"}, "weight: expected a number above 0, got 'a'"),
    "weight as list": ({"weight": [1.0, 2.0]}, "weight: expected a number above 0"),
    "weight of nothing": ({"weight": {"j9": 1.0}}, "unknown joint 'j9': did you mean"),
    "weight of one": ({"weight": {"j0": 0.0}}, "weight of joint j0: expected a finite number"),
    "weight not square": ({"weight": 1e-200}, "weight: expected a size in N m or N between 1e-30"),
    "weight too large": ({"weight": {"j1": 1e200}}, "weight of joint j1: expected a size in N m"),
    "weight of no motor": (
        {"weight": {"j0": 3.0}, "unactuated": ["j0"]},
        "weight of joint j0: the joint is listed as unactuated",
    ),
    "noise not square": ({"noise": 1e-200}, "noise: expected a size in rad or m between 1e-30"),
    "noise far too small": ({"noise": 1e-20}, "noise of j0: 1e-20 is implausible: the noise"),
    "noise far too large": ({"noise": {"j2": 1e20}}, r"noise of j2: 1e\+20 is implausible: the"),
    "noise 0": ({"noise": 0.0}, "noise: expected a finite number above 0, got 0"),
    "noise negative": ({"noise": -1e-3}, "noise: expected a finite number above 0, got -0.001"),
    "noise NaN": ({"noise": np.nan}, "noise: expected a finite number above 0, got nan"),
    "noise True": ({"noise": True}, "noise: expected a number above 0, got True"),
    "noise of nothing": ({"noise": {"j9": 1.0}}, "unknown joint or marker in noise 'j9'"),
    "noise of one": ({"noise": {"j1": -1.0}}, "noise of j1: expected a finite number above 0"),
    "unactuated unknown": ({"unactuated": ["j9"]}, "unknown joint 'j9': did you mean"),
    "unactuated as text": ({"unactuated": "j0"}, r"expected a list of joint names, got 'j0'"),
    "unactuated all": ({"unactuated": ["j0", "j1", "j2"]}, "no torque to estimate"),
    "unactuated numbers": ({"unactuated": [0]}, "expected a name"),
    "unactuated a number": ({"unactuated": 5}, "unactuated: expected a list of joint"),
    "unactuated None": ({"unactuated": None}, "unactuated: expected a list of joint names"),
    "step too long": ({"step": 0.5}, "gives 2 intervals in 1 s; expected at least 5"),
    "step too short": ({"step": 1e-9}, "expected at most 1000000: use a longer step"),
    "step tiny": ({"step": 1e-300}, r"gives 1e\+300 intervals; expected at most 1000000"),
    "step 0": ({"step": 0}, "step: expected a finite number above 0, got 0"),
    "step NaN": ({"step": np.nan}, "step: expected a finite number above 0, got nan"),
    "cutoff 0": ({"cutoff": 0}, "cutoff: expected a finite number above 0, got 0"),
    "cutoff tiny": ({"cutoff": 1e-9}, r"cutoff: expected from 0\.1 to 49 Hz"),
    "cutoff at Nyquist": ({"cutoff": 50.0}, r"cutoff: expected from 0\.1 to 49 Hz"),
    "cutoff huge": ({"cutoff": 1e300}, r"cutoff: expected from 0\.1 to 49 Hz"),
    "guess unknown": ({"guess": {"j9": 0.0}}, "unknown joint 'j9'"),
    "guess NaN": ({"guess": {"j0": np.nan}}, "guess of joint j0: expected a finite number"),
    "guess as list": ({"guess": [0.0, 0.0, 0.0]}, "guess: expected a mapping"),
    "guess as number": ({"guess": 5}, "guess: expected a mapping"),
    "guess far away": ({"guess": {"j0": 1e300}}, "guess of joint j0: expected at most 10000 rad"),
    "force unknown": ({"forces": {"plat": "l2"}}, "unknown force 'plat': did you mean 'plate'"),
    "force on nothing": ({"forces": {"plate": "foot"}}, "unknown frame or link 'foot'"),
    "force on the world": ({"forces": {"plate": "world"}}, "fixed to the world; name one of"),
    "force as text": ({"forces": "plate"}, "forces: expected a mapping"),
    "force as list": ({"forces": ["plate"]}, "forces: expected a mapping"),
    "report": ({"report": 3}, "report: expected a function"),
}


@pytest.mark.filterwarnings("ignore:force plate. recorded but not used:predyn.errors.DataWarning")
@pytest.mark.parametrize("case", REFUSED)
def test_arguments_are_refused_with_a_hint(case: str) -> None:
    options, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        estimate_torques(MODEL, PUSHED, **options)


@pytest.mark.parametrize("model", ["leg", None, 3])
def test_the_model_must_be_a_model(model: object) -> None:
    with pytest.raises(InputError, match=r"model: expected a predyn\.Model"):
        estimate_torques(model, GOOD)


@pytest.mark.parametrize("data", [None, 3, {}])
def test_data_must_be_a_recording_or_a_path(data: object) -> None:
    with pytest.raises(InputError, match="data: expected Measurements or the path of a file"):
        estimate_torques(MODEL, data)


# ---- names and gaps


def test_unmatched_names_are_reported_with_similar_ones() -> None:
    data = replace(
        GOOD,
        angles={**GOOD.angles, "J1": Q[:, 1], "elbow": Q[:, 1]},
        markers={"m0-1": MARKERS.markers["m0_1"]},
    )
    found = estimated(data)
    assert "skipped: J1 (similar: j1); elbow; m0-1 (similar: m0_1" in messages_of(found)
    assert found.tau == pytest.approx(estimated().tau)


def test_no_matching_name_is_an_error() -> None:
    data = Measurements(T, {"J1": Q[:, 1], "elbow": Q[:, 0]})
    with pytest.raises(
        InputError, match=r"J1 \(similar: j1\); elbow; .*; joints of the model: j0, j1"
    ):
        estimate_torques(MODEL, data)


def test_forces_without_positions_are_an_error() -> None:
    data = Measurements(T, forces={"plate": plate()})
    with pytest.raises(InputError, match="neither joint angles nor markers"):
        estimate_torques(MODEL, data)


def test_a_channel_without_samples_is_skipped_with_a_warning() -> None:
    data = replace(MARKERS, angles={"j1": NOTHING})
    found = estimated(data)
    assert messages_of(found) == "joint j1: every sample is missing; skipped"
    assert found.tau == pytest.approx(estimated(MARKERS).tau)
    empty = np.full((101, 3), np.nan)
    found = estimated(replace(GOOD, markers={"m1_0": empty}))
    assert messages_of(found) == "marker m1_0: every sample is missing; skipped"


def test_channels_that_are_all_missing_are_an_error() -> None:
    data = Measurements(T, dict.fromkeys(MODEL.joint_names, NOTHING))
    with pytest.raises(InputError, match="contains nothing usable; joint j0: every sample is"):
        estimate_torques(MODEL, data)


def test_a_marker_on_the_world_is_an_error() -> None:
    lab = Frame("lab", -1, np.eye(3), np.zeros(3))
    model = replace(MODEL, frames=(*MODEL.frames, lab))
    data = replace(GOOD, markers={"lab": np.zeros((101, 3))})
    with pytest.raises(InputError, match="fixed to the world, not to a link; place it on one of"):
        estimate_torques(model, data)


def test_too_few_samples() -> None:
    def cut(count: int) -> Measurements:
        return Measurements(T[:count], {name: x[:count] for name, x in GOOD.angles.items()})

    with pytest.raises(InputError, match="7 samples; expected at least 8"):
        estimate_torques(MODEL, cut(7))
    assert re.search("of .*j1: the measurements do not determine", messages_of(estimated(cut(8))))


def test_an_unmeasured_joint_is_named() -> None:
    found = estimated(Measurements(T, {name: GOOD.angles[name] for name in ("j0", "j1")}))
    assert found.status == "unidentifiable"
    assert "do not determine the position of j2: it" in found.message
    found = estimated(Measurements(T, {name: GOOD.angles[name] for name in ("j0", "j2")}))
    assert "do not determine the position of j1: it" in found.message
    one = replace(MODEL, frames=(Frame("first", 0, np.eye(3), np.array([0.3, 0.1, 0.0])),))
    found = estimated(recorded(one, T, Q, joints=(), markers=("first",)), one)
    assert found.status == "unidentifiable"
    assert "do not determine the position of j1, j2: it" in found.message


# ---- forces


def test_a_force_with_a_gap_is_refused() -> None:
    force = np.zeros((101, 3))
    force[40, 2] = np.nan
    with pytest.raises(InputError, match=r"force 'plate', row 40, z: missing \(NaN\)"):
        replace(GOOD, forces={"plate": MeasuredForce(T, force, force * 0 + 1, force * 0 + 1)})


def test_a_force_at_other_times_is_refused() -> None:
    data = replace(GOOD, forces={"plate": plate(T + 5.0)})
    with pytest.raises(InputError, match="from 5 to 6 s, the motion from 0 to 1 s: the times do"):
        estimate_torques(MODEL, data, forces={"plate": "l2"})


def test_a_force_over_part_of_the_motion_gives_a_warning() -> None:
    data = replace(GOOD, forces={"plate": plate(0.5 * T)})
    found = estimated(data, forces={"plate": "l2"})
    text = messages_of(found)
    assert "force plate: recorded from 0 to 0.5 s only; taken as zero in the rest" in text


def test_a_force_without_a_link_gives_a_warning() -> None:
    text = messages_of(estimated(PUSHED))
    assert 'give the link it acts on: forces={"plate": link}, or --force plate=LINK' in text


# ---- levels that leave nothing to find


@pytest.mark.parametrize("switching", [False, True], ids=["smooth", "switching"])
@pytest.mark.parametrize("weight", [1e-12, 1e12, {"j0": 1e-12}], ids=["tiny", "huge", "one tiny"])
def test_weights_that_leave_nothing_to_estimate(weight: object, switching: bool) -> None:
    try:
        found = estimated(weight=weight, total_variation=switching)
    except InputError as error:
        assert "the measurements do not determine the motion" in str(error)  # noqa: PT017
        return
    assert not found.success or messages_of(found)
    assert messages_of(found)


@pytest.mark.parametrize(
    ("noise", "way"),
    [
        (1e-9, r"the given noise, 1e-09, is far below that between neighbouring samples, 0\.0"),
        (10.0, r"residuals are [\d.e-]+ times the given noise, which is too large"),
    ],
)
def test_implausible_noise_warns_in_the_right_direction(noise: float, way: str) -> None:
    text = messages_of(estimated(noise=noise))
    for name in MODEL.joint_names:
        assert re.search(f"{name}: {way}", text), text


@pytest.mark.parametrize("weight", [1e-12, 1e-6, {"j0": 1e-12}])
def test_a_weight_too_small_asks_for_a_larger_one(weight: object) -> None:
    """Order 1: with order 0, suppressing the torque leaves a falling arm, a wild motion."""
    text = messages_of(estimated(weight=weight, order=1, independent="joints"))
    names = "j0" if isinstance(weight, dict) else "j0, j1, j2"
    start = f"torque of {names}: the measurements do not determine how it changes; the weight"
    assert start in text
    assert re.search(r"the data; try a larger one \(about [\d.]+\)", text)
    assert "estimated as constant" not in text


# ---- data that are odd


def test_clean_data_give_the_torques_and_a_warning_about_bands() -> None:
    for data in (
        recorded(MODEL, T, Q, noise=0.0),
        recorded(MODEL, T, Q, joints=(), markers=tuple(MARKERS.markers), noise=0.0),
    ):
        found = estimated(data)
        assert away(found) < 2e-3
        assert "estimated as zero" in messages_of(found)


def test_a_held_pose_needs_constant_torques() -> None:
    still = np.full((101, 3), 0.3)
    held = MOTION._replace(centre=still[0], amplitude=0.0 * MOTION.amplitude)
    found = estimated(Measurements(T, {name: still[:, 0] for name in MODEL.joint_names}))
    truth = held.torques(MODEL, found.t_tau)
    assert found.tau == pytest.approx(truth, abs=1e-3 * rms(truth))
    assert messages_of(found)


ODD: dict[str, Callable[[], Measurements]] = {
    "degrees taken as rad": lambda: Measurements(
        T, {name: np.rad2deg(x) for name, x in GOOD.angles.items()}
    ),
    "milliseconds taken as seconds": lambda: Measurements(1e3 * T, GOOD.angles),
    "seconds taken as milliseconds": lambda: Measurements(1e-3 * T, GOOD.angles),
    "markers in mm taken as m": lambda: Measurements(
        T, markers={name: 1e3 * x for name, x in MARKERS.markers.items()}
    ),
    "axes of markers exchanged": lambda: Measurements(
        T, markers={name: x[:, [1, 2, 0]] for name, x in MARKERS.markers.items()}
    ),
    "markers exchanged": lambda: Measurements(
        T,
        markers={
            **MARKERS.markers,
            "m1_0": MARKERS.markers["m2_0"],
            "m2_0": MARKERS.markers["m1_0"],
        },
    ),
    "noise alone": lambda: Measurements(
        T,
        dict(zip(MODEL.joint_names, np.random.default_rng(3).normal(size=(3, 101)), strict=True)),
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_implausible_data_give_warnings(case: str) -> None:
    assert message_of(ODD[case]())


def message_of(data: Measurements) -> str:
    """The warnings, or the error if the data are unusable."""
    try:
        return messages_of(estimated(data))
    except InputError as error:
        return str(error)


def wild(value: float) -> Measurements:
    values = GOOD.angles["j1"].copy()
    values[50] += value
    return Measurements(T, {**GOOD.angles, "j1": values})


def test_wild_samples_are_named() -> None:
    with pytest.raises(InputError, match=r"joint j1: jumps by 1e\+08 \w+ after sample 49; mark"):
        estimate_torques(MODEL, wild(1e8))
    found = messages_of(estimated(wild(3.0)))
    assert re.search(r"joint j1: jumps by [23]\.\d+ \w+ after sample 49 \(2 jumps in all\)", found)


def test_impossible_speeds_suggest_wrong_units() -> None:
    text = messages_of(estimated(ODD["seconds taken as milliseconds"]()))
    assert re.search(r"implausible speed of j0 \([\d.e+]+ \w+/s\), j1 .* j2 .*; check the", text)
    assert "check the units of positions" in message_of(ODD["degrees taken as rad"]())
    assert "milliseconds?" in messages_of(estimated(ODD["milliseconds taken as seconds"]()))


@pytest.mark.parametrize("case", ["markers in mm taken as m", "axes of markers exchanged"])
def test_markers_that_do_not_fit_are_reported_in_one_sentence(case: str) -> None:
    found = estimated(ODD[case]())
    (about,) = [text for text in found.warnings if "from where the model can place them" in text]
    assert re.match(r"markers m\d_\d \([\d.e+]+ m\), .*check units, axes, names, link", about)
    assert len(found.warnings) < 4, found.warnings


def test_one_marker_at_the_end_allows_several_motions() -> None:
    """Its three coordinates are as many as the joints, and both signs of an elbow fit."""
    model = replace(MODEL, frames=(Frame("tip", 2, np.eye(3), np.array([0.3, 0.1, 0.2])),))
    data = recorded(model, T, Q, joints=(), markers=("tip",), noise=1e-4)
    assert "the markers allow" in messages_of(estimated(data, model))
    guess = dict(zip(MODEL.joint_names, Q[0], strict=True))
    assert "the markers allow" not in messages_of(estimated(data, model, guess=guess))


def test_lengths_are_not_angles() -> None:
    kinds = ["m" if kind == PRISMATIC else "rad" for kind in MODEL.kind]
    units = dict(zip(MODEL.joint_names, kinds, strict=True))
    assert messages_of(estimated(replace(GOOD, units=units))) == ""
    wrong = {**units, "j0": "rad" if units["j0"] == "m" else "m"}
    with pytest.raises(InputError, match=r"joint 'j0' (rotates|slides), but its column is in"):
        estimate_torques(MODEL, replace(GOOD, units=wrong))


def test_a_gap_of_a_minute_is_refused_before_the_estimate() -> None:
    late = np.where(T < 0.5, T, T + 60.0)
    with pytest.raises(InputError, match=r"no samples from 0\.49 to 60\.5 s.*; split the"):
        estimate_torques(MODEL, Measurements(late, GOOD.angles))


def test_one_marker_under_two_names_gives_a_warning() -> None:
    frames = {frame.name: frame for frame in MODEL.frames}
    again = Frame("again", 2, np.eye(3), frames["m2_0"].p)
    model = replace(MODEL, frames=(*MODEL.frames, again))
    data = replace(MARKERS, markers={**MARKERS.markers, "again": MARKERS.markers["m2_0"]})
    text = messages_of(estimated(data, model))
    assert (
        "the same noise appears in m2_0.x and again.x, m2_0.y and again.y, m2_0.z and again.z"
        in text
    )
    assert "the same noise" not in messages_of(estimated(MARKERS))


def test_markers_at_one_point_leave_the_rest_to_the_prior() -> None:
    spot = np.array([0.3, 0.0, 0.0])
    model = replace(MODEL, frames=tuple(Frame(x, 2, np.eye(3), spot) for x in ("a", "b")))
    data = recorded(model, T, Q, joints=("j0", "j1"), markers=("a", "b"), noise=NOISE)
    assert estimated(data, model).success


def test_hinges_in_line_with_one_marker_give_a_warning() -> None:
    """The marker determines only the sum of two angles."""
    builder = ModelBuilder("in_line", (0.0, -9.81, 0.0))
    for name, before, joint in (("inner", "world", "one"), ("outer", "inner", "two")):
        builder.add_link(name, before, joint, mass=1.0, com=(0.0, -0.3, 0.0),
                         inertia=(0.02, 0.0, 0.02))  # fmt: skip
    model = builder.add_frame("tip", "outer", (0.0, -0.5, 0.0)).build()
    q = np.stack((0.3 * np.sin(4.0 * T), 0.2 * np.cos(5.0 * T)), axis=1)
    found = estimated(recorded(model, T, q, joints=(), markers=("tip",), noise=NOISE), model)
    assert found.status == "unidentifiable"
    assert "do not determine the position of one, two: it" in found.message


# ---- Ctrl-C


@pytest.mark.parametrize("switching", [False, True], ids=["smooth", "switching"])
def test_ctrl_c_returns_the_current_estimate(switching: bool) -> None:
    calls: list[str] = []
    estimated(total_variation=switching, report=lambda *now: calls.append(now[3]))
    for stop in sorted({1, 2, len(calls) // 2, len(calls)}):
        seen = []

        def report(*now: object, seen: list = seen, stop: int = stop) -> None:
            seen.append(now)
            if len(seen) == stop:
                raise KeyboardInterrupt

        found = estimated(total_variation=switching, report=report)
        assert found.status == "interrupted"
        assert not found.success
        assert len(seen) >= stop
        assert away(found) < 1.0


def test_errors_of_a_report_propagate() -> None:
    def report(*_: object) -> None:
        raise RuntimeError("the report's own")

    with pytest.raises(RuntimeError, match="the report's own"):
        estimate_torques(MODEL, GOOD, report=report)
