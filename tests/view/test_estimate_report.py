"""The report of an estimate without a browser: complete, with its warnings, small, escaped."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_estimate import STEP, WARNING, fake_estimate
from predyn.dynamics.kinematics import frame_kinematics
from predyn.published.lcurve import LCurve
from predyn.recordings.measurements import Measurements
from predyn.view.estimate_charts import (
    channel_charts,
    lcurve_charts,
    state_charts,
    thinned,
    torque_charts,
)
from predyn.view.estimate_report import estimate_html
from predyn.view.estimate_scene import estimate_scene, positions_at
from predyn.view.estimate_tables import lag_one, orders
from predyn.view.sheets import Times
from view.html_page import Page, assert_self_contained

NASTY = "</script><script>alert(1)</script>\"'&<!--é漢\u2028"
DRAWN = 1e-4  # the page holds five digits


def test_report_is_whole_and_loads_nothing(tmp_path):
    fake_estimate().report(tmp_path / "report.html")
    assert_self_contained((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_numbers_are_shown():
    text = Page(estimate_html(fake_estimate())).text
    for expected in ("arm-trial", "✓ converged", WARNING, "50 per second", "of 20 ms", "0.573 °",
                     "2 mm", "given", "estimated", "14.5 above the next", "1 ✓", "±",
                     "Butterworth filter (6 Hz)", "Assumed size: that of the torque", "trial.csv",
                     "angles in degrees", "acts on link2", "10 of 244"):  # fmt: skip
        assert expected in text
    assert "not a valid estimate" not in text


def test_failure_is_plain():
    page = Page(estimate_html(fake_estimate(status="unidentifiable")))
    assert "✗ unidentifiable" in page.text
    alarm = page.text[page.text.index("These torques are not a valid estimate") :][:120]
    assert "the data do not tell the torque of joint2" in alarm


def test_torques_are_steps_with_bands_and_the_filter_beside_them():
    estimate, times = fake_estimate(), Times()
    first, second = torque_charts(estimate, times)
    assert (first["title"], first["unit"]) == ("Torque of joint1", "N m")
    step, usual = second["series"]
    assert step["step"]
    assert times.lists[step["x"]] == pytest.approx(estimate.t, rel=1e-6)
    assert step["y"] == pytest.approx(estimate.tau[:, 1], rel=DRAWN, abs=1e-6)
    lower, upper = estimate.tau_band
    assert step["band"][0] == pytest.approx(lower[:, 1], rel=DRAWN, abs=1e-6)
    assert step["band"][1] == pytest.approx(upper[:, 1], rel=DRAWN, abs=1e-6)
    assert usual["faint"]
    assert "6 Hz" in usual["name"]
    assert usual["y"] == pytest.approx(estimate.comparison.tau[:, 1], rel=DRAWN, abs=1e-6)
    (alone,) = torque_charts(replace(estimate, comparison=None, unactuated=("joint1",)), times)
    assert len(alone["series"]) == 1
    page = Page(estimate_html(replace(estimate, unactuated=("joint1",))))
    assert "Without a motor: joint1" in page.text
    assert page.data["state"][0]["effort"] is None


def test_angles_are_in_degrees_and_slides_in_metres():
    estimate = fake_estimate(model=predyn.models.prismatic_revolute())
    charts = {spec["title"]: spec for spec in state_charts(estimate, Times())}
    assert charts["Joint angle"]["unit"] == "°"
    (angle,) = charts["Joint angle"]["series"]
    assert angle["y"] == pytest.approx(np.degrees(estimate.q[:, 1]), rel=DRAWN, abs=1e-6)
    (speed,) = charts["Velocity"]["series"]
    assert speed["y"] == pytest.approx(estimate.v[:, 0], rel=DRAWN)
    half = (np.array(speed["band"][1]) - speed["band"][0]) / 2.0
    assert half == pytest.approx(1.959964 * estimate.v_sd[:, 0], rel=1e-3)
    assert torque_charts(estimate, Times())[0]["title"].startswith("Force of")


def test_residuals_are_in_noise_levels():
    estimate = fake_estimate()
    fit, residual, *_, marker, _ = channel_charts(estimate, Times())
    channel = estimate.channels[0]
    fitted, measured = fit["series"]
    assert measured["dots"]
    assert measured["y"] == pytest.approx(np.degrees(channel.measured), rel=DRAWN)
    assert fitted["y"] == pytest.approx(np.degrees(channel.fitted), rel=DRAWN)
    (line,) = residual["series"]
    expected = (channel.measured - channel.fitted) / channel.sd
    assert line["y"] == pytest.approx(expected, rel=DRAWN)
    assert line["limits"] == pytest.approx([-1.96, 1.96], abs=1e-3)
    assert (marker["title"], marker["unit"]) == ("tip.y", "m")
    assert len(marker["series"][1]["y"]) == 56


def test_the_fitted_curve_is_the_motion_in_gaps_too():
    estimate, times = fake_estimate(), Times()
    *_, angle, x, _ = estimate.channels
    for channel in (angle, x):
        fit, *_ = channel_charts(replace(estimate, channels=(channel,)), times)
        fitted, measured = fit["series"]
        assert len(measured["y"]) == len(channel.t)
        assert times.lists[fitted["x"]] == pytest.approx(estimate.t)
        motion = np.degrees(estimate.q[:, 1])
        if channel is x:
            motion = frame_kinematics(estimate.model, "tip", estimate.q).p[:, 0]
        assert fitted["y"] == pytest.approx(motion, rel=DRAWN)


def test_residuals_of_a_marker_share_their_axis():
    estimate = fake_estimate()
    *angles, x, y = estimate.channels
    assert (x.name, y.name) == ("tip.x", "tip.y")
    measured = x.fitted.copy()
    measured[3] -= 7.0 * x.sd
    far = x._replace(measured=measured)
    calm = [c._replace(measured=c.fitted) for c in (*angles, y)]
    charts = channel_charts(replace(estimate, channels=(*calm[:-1], far, calm[-1])), Times())
    shown = {spec["title"].partition(":")[0]: spec["shows"] for spec in charts[1::2]}
    assert shown["tip.x"] == shown["tip.y"] == pytest.approx([-7.0, 2.5])
    assert shown[angles[0].name] == [-2.5, 2.5]


def test_trials_are_in_order():
    estimate = fake_estimate()
    first, second, third = estimate.orders
    trials = (third, second, first._replace(independent="accelerations"), first)
    words = orders(replace(estimate, orders=trials))
    assert "Assumed" in words
    places = [words.index(text) for text in (
        ">torques of joints", ">accelerations of joints", ">differences of torques",
        ">second differences of torques")]  # fmt: skip
    assert places == sorted(places)


def test_coloured_noise_is_marked():
    estimate = fake_estimate()
    channel = estimate.channels[0]
    slow = channel.fitted + 0.01 * np.sin(2.0 * np.pi * channel.t)
    coloured = channel._replace(measured=slow)
    shift = 2.0 * np.pi * STEP
    assert lag_one(coloured) == pytest.approx(np.cos(shift), abs=0.05)
    assert lag_one(channel._replace(measured=channel.fitted)) != lag_one(coloured)
    flips = channel._replace(measured=channel.fitted + (-1.0) ** np.arange(len(channel.t)))
    assert lag_one(flips) == pytest.approx(-1.0)
    html = estimate_html(replace(estimate, channels=(coloured, *estimate.channels[1:])))
    assert "0.99 ⚠" in html
    assert "⚠</td>" not in estimate_html(estimate)


def test_a_gap_joins_no_residuals():
    channel = fake_estimate().channels[0]
    t = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    left = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    gappy = channel._replace(t=t, measured=left, fitted=np.zeros(6))
    assert lag_one(gappy) == pytest.approx(1.0)
    assert np.isnan(lag_one(channel._replace(t=t[:2], measured=left[:2], fitted=left[:2])))
    assert np.isnan(lag_one(gappy._replace(measured=np.zeros(6))))


def test_corner_and_chosen_weight_are_marked():
    estimate = fake_estimate()
    (spec,) = lcurve_charts(estimate, Times())
    assert spec["log"]
    assert spec["logX"]
    assert [mark["label"] for mark in spec["marks"]] == ["corner", "chosen"]
    curve = estimate.lcurve
    assert spec["marks"][0]["x"] == curve.misfit[5]
    assert spec["marks"][1]["y"] == curve.size[8]
    (spec,) = lcurve_charts(replace(estimate, lcurve=curve._replace(corner=8)), Times())
    assert [mark["label"] for mark in spec["marks"]] == ["corner, chosen"]
    none = replace(estimate, lcurve=LCurve(np.zeros(0), np.zeros(0), np.zeros(0), -1))
    assert lcurve_charts(none, Times()) == []


def test_the_animation_follows_the_motion_and_shows_what_was_measured():
    estimate = fake_estimate()
    assert positions_at(estimate, estimate.t) == pytest.approx(estimate.q, abs=2e-4)
    scene = estimate_scene(estimate)
    (marker,) = scene["markers"]
    count = len(scene["times"])
    assert len(marker["points"]) == count
    missing = [k for k, x in enumerate(marker["points"]) if x is None]
    assert all(0.18 < scene["times"][k] < 0.30 for k in missing)
    assert missing
    there = frame_kinematics(estimate.model, "tip", estimate.q[-1]).p
    assert marker["points"][-1] == pytest.approx(there, abs=0.01)
    (load,) = scene["loads"]
    assert load["labels"][0] == "1.73 N"


def test_the_clock_has_the_times_of_the_recording():
    estimate = fake_estimate()
    later = [channel._replace(t=channel.t + 7.0) for channel in estimate.channels]
    data = estimate.measurements
    moved = replace(
        estimate,
        t=estimate.t + 7.0,
        t_tau=estimate.t_tau + 7.0,
        channels=tuple(later),
        measurements=Measurements(data.t + 7.0, data.angles, data.markers),
        force_links={},
    )
    clock = Page(estimate_html(moved)).data["clock"]
    assert (clock["start"], clock["end"]) == pytest.approx((7.0, 8.2))


def test_total_variation_and_given_order_are_stated():
    estimate = fake_estimate()
    assert "Total variation, as requested" in estimate_html(replace(estimate, total_variation=True))
    assert "Order 1, as given" in estimate_html(replace(estimate, orders=()))


def test_missing_motion_is_stated_not_drawn():
    estimate = fake_estimate(status="unidentifiable")
    nan = np.full_like(estimate.q, np.nan)
    nothing = np.full_like(estimate.tau, np.nan)
    broken = replace(
        estimate, q=nan, v=nan, q_sd=nan, v_sd=nan, a=nothing, tau=nothing, tau_sd=nothing
    )
    page = Page(estimate_html(broken))
    assert page.data["clock"] is None
    assert "there is no animation" in page.text


def test_long_recordings_stay_small_and_hide_no_peak():
    estimate = fake_estimate(model=predyn.models.random_tree(20, 3))
    times = 400
    count = times * len(estimate.t_tau)
    t = np.linspace(0.0, 300.0, count + 1)
    tau = np.tile(estimate.tau, (times, 1))
    tau[7777, 3] = 1e4
    nodes = {name: np.resize(getattr(estimate, name), (count + 1, 20))
             for name in ("q", "v", "q_sd", "v_sd")}  # fmt: skip
    long = replace(
        estimate, t=t, t_tau=0.5 * (t[1:] + t[:-1]), tau=tau, comparison=None,
        grid_error=np.zeros_like(tau), tau_sd=np.tile(estimate.tau_sd, (times, 1)),
        a=np.zeros_like(tau),
        channels=tuple(c._replace(t=t, measured=np.resize(c.measured, count + 1),
                                  fitted=np.resize(c.fitted, count + 1))
                       for c in estimate.channels), **nodes,
    )  # fmt: skip
    html = estimate_html(long)
    assert len(html.encode()) < 3_000_000
    chart = torque_charts(long, Times())[3]
    assert max(chart["series"][0]["band"][1]) >= 1e4
    assert chart["series"][0]["joined"]
    assert "mean of" in chart["note"]
    page = Page(html)
    assert len(page.data["pickers"][0]["first"]) == 6
    frames = page.data["scene"]["times"]
    assert np.diff(frames).max() <= 1.0 / 15.0 + 1e-4  # six digits are stored
    assert page.data["clock"]["end"] == pytest.approx(frames[-1])
    assert "The animation ends at 26.6 s of 300 s." in page.text


def test_thinning_keeps_the_ends():
    assert thinned(5, 10).tolist() == [0, 1, 2, 3, 4]
    kept = thinned(1001, 11)
    assert kept.tolist() == list(range(0, 1001, 100))


def test_names_cannot_break_out():
    body = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.1, 0.1, 0.1)}
    builder = predyn.ModelBuilder(NASTY).add_link(NASTY, "world", NASTY + "j", **body)
    estimate = fake_estimate(model=builder.build())
    data = estimate.measurements
    estimate = replace(
        estimate,
        name=NASTY,
        message=NASTY,
        warnings=(NASTY,),
        status="unidentifiable",
        measurements=Measurements(data.t, data.angles, source=NASTY, notes=(NASTY,)),
    )
    page = Page(estimate_html(estimate))
    assert len(page.scripts) == 2
    assert page.data["pickers"][0]["names"] == [NASTY + "j"]
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]
