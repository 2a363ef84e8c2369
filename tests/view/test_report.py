"""The report without a browser: self-contained, complete, escaped, small, honest."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.errors import FileError
from predyn.problem import Hybrid, Spline
from predyn.solution import Violation
from predyn.view.curves import (
    clock_data,
    history_charts,
    motion_charts,
    signal_charts,
    state_rows,
)
from predyn.view.figures import sparsity_svg
from predyn.view.method import method_words
from predyn.view.numbers import shown
from predyn.view.report import report_html
from predyn.view.sheets import Times
from predyn.view.stage import set_stage
from predyn.view.tables import between_only, violations
from view.html_page import Page, assert_self_contained

NASTY = "</script><script>alert(1)</script>\"'&<!--é漢\u2028"


def test_report_is_whole_and_loads_nothing(tmp_path):
    path = tmp_path / "report.html"
    fake_solution().report(path)
    html = path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert_self_contained(html)


def test_numbers_are_shown():
    solution = replace(fake_solution(), objective=0.8449415, iterations=27)
    text = Page(report_html(solution)).text
    for expected in ("0.8449415", "1.2 s", "27", "12.3 ms", "0.0004", "effort of joint1",
                     "✓ optimal", "60.6 %", "two-link-lifting", "±9.513 N m", "0, −10, 0",  # noqa: RUF001
                     "infeasible", "2026-01-31"):  # fmt: skip
        assert expected in text
    assert "not converged" not in text


def test_failure_is_plain():
    worst = (
        Violation("effort of joint2", 2.5, 0.25, 12.5, -10.0, 10.0, 0.4),
        Violation("rounding", 1e-15, 1e-15, 0.0, 0.0, 0.0, math.nan),
    )
    solution = replace(fake_solution(status="infeasible"), violations=worst)
    page = Page(report_html(solution))
    alarm = page.text[page.text.index("This motion is not a solution") :].split("Objective")[0]
    assert "not converged: infeasible" in page.text
    assert "widen them" in alarm
    assert "effort of joint2" in alarm
    assert "rounding" not in alarm


def test_excess_between_the_points_is_stated():
    caution = "Between the imposed points a limit is exceeded"
    (limit,) = fake_solution().dense_violations
    assert caution not in report_html(fake_solution())
    exceeded = limit._replace(relative=0.023)
    page = Page(report_html(replace(fake_solution(), dense_violations=(exceeded,))))
    assert f"{caution} by 2.3 % (effort of joint1" in page.text.replace("  ", " ")
    torque = Violation("lift: passive torque joint2", 9.0, 1.2, 9.0, 0.0, 0.0, 0.2)
    passive = replace(fake_solution(), passive=("joint2",), dense_violations=(torque, limit))
    assert caution not in report_html(passive)
    both = replace(passive, dense_violations=(torque, exceeded))
    assert f"{caution} by 2.3 %" in report_html(both)
    stated = replace(both, message="effort of joint1 is outside its bounds by 2.3 %: refine")
    assert caution not in report_html(stated)  # once is enough, in a box that warns
    assert 'class="message caution"' in report_html(stated)


def test_violations_have_units():
    slide = predyn.models.prismatic_revolute()
    names = [f"position {slide.joint_names[0]}", f"lift: velocity {slide.joint_names[1]} at 2.5 %"]
    names += [f"effort {slide.joint_names[0]}", "my term at 50 %"]
    listed = [Violation(name, 0.1, 0.1, 1.1, -1.0, 1.0, 0.2) for name in names]
    units = re.findall(r'<td class="w">(.*?)</td>', violations(listed, slide))
    assert units == ["m", "rad/s", "N", "SI"]


def test_imposed_violations_are_not_listed_as_between_points():
    solution = fake_solution()
    rounding = Violation("passive motion joint1", 1e-9, 1e-9, 1e-9, 0.0, 0.0, math.nan)
    found = replace(
        solution,
        violations=(rounding,),
        dense_violations=(*solution.dense_violations, rounding._replace(time=float("nan"))),
    )
    assert between_only(found) == list(solution.dense_violations)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1551.3, "1550"),
        (-20512.0, "−20500"),  # noqa: RUF001
        (2.5e6, "2.5e+06"),
        (0.0123456, "0.0123"),
        (999.6, "1000"),
    ],
)
def test_format_of_large_numbers(value, text):
    assert shown(value, 3) == text


def test_paths_are_named_in_their_colours():
    solution = fake_solution(model=predyn.models.branched_acrobot())
    page, names = Page(report_html(solution)), [end.name for end in set_stage(solution).ends]
    assert len(names) == 2
    legend = f"Path of ━ {names[0]}, ━ {names[1]}."
    assert re.sub(r"\s+", " ", page.text).replace(" ,", ",").count(legend) == 2
    strobe = [v for tag, key, v in page.attributes if tag == "path" and key == "class"]
    assert {"path way0", "path way1"} <= set(strobe)


def test_method_is_described_in_words():
    swing = fake_solution(model=predyn.models.acrobot())
    said = {
        repr(Spline(segments=6)): "all joints follow B-splines of degree 3 with 6 segments",
        repr(Hybrid(steps=2)): "with 3 segments; those without a motor (joint1) are integrated by "
        "the fourth-order Runge-Kutta method, 2 steps per segment, separately in each segment",
        repr(Hybrid(steps=2, shooting="single")): "from start to end (single shooting)",
    }
    for recorded, words in said.items():
        told = replace(swing, passive=("joint1",), provenance={"transcription": recorded})
        assert words in report_html(told)
    for other in ("", "Spline(", "Spline(degree=f())", "1 + 1", "Hybrid(degree=3, steps=0)"):
        assert method_words(replace(swing, provenance={"transcription": other})) == ""


def test_names_in_the_model_tables_stay_on_one_line():
    html = report_html(fake_solution())
    assert '<td class="w">joint1</td><td class="w">revolute</td>' in html


def test_failure_without_violations_says_so():
    solution = replace(fake_solution(status="iteration_limit"), violations=())
    assert "No constraint is violated" in report_html(solution)


def test_spread_of_the_starts():
    runs = [(9.5, "optimal"), (9.5000001, "acceptable"), (110.0, "optimal"), (3.0, "infeasible")]
    runs = [{"start": k, "status": s, "objective": f} for k, (f, s) in enumerate(runs, 1)]
    text = Page(report_html(replace(fake_solution(), starts=tuple(runs)))).text
    told = "3 of 4 converged, to objectives from 9.5 to 110 (median 9.5); 2 reached the best."
    assert told in text
    assert text.count("Start ") == 1  # one column of numbers
    none = replace(fake_solution(), starts=tuple(runs[3:]))
    assert "None converged." in report_html(none)


def test_names_cannot_break_out():
    body = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.1, 0.1, 0.1)}
    builder = predyn.ModelBuilder(NASTY).add_link(NASTY, "world", NASTY + "j", **body)
    solution = fake_solution(model=builder.add_frame(NASTY + "f", NASTY, (1.0, 0.0, 0.0)).build())
    solution = replace(
        solution,
        name=NASTY,
        message=NASTY,
        costs={NASTY: 1.0},
        active=(NASTY,),
        phase_names=(NASTY,),
        starts=({"status": NASTY, NASTY: 1.0},),
        provenance={NASTY: NASTY + "\n" + NASTY},
        forces=({"link": NASTY, "force": np.ones(3), "moment": np.zeros(3),
                 "point": np.zeros(3), "frame": "link"},),
        violations=(Violation(NASTY, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0),),
    )  # fmt: skip
    page = Page(report_html(solution))
    assert len(page.scripts) == 2
    assert page.data["pickers"][0]["names"] == [NASTY + "j"]
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]


def test_half_a_surrogate_pair_is_written(tmp_path):
    replace(fake_solution(), name="\ud800").report(tmp_path / "r.html")
    assert "\\ud800" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_many_joints_stay_small():
    model = predyn.models.random_tree(55, 3)
    solution = fake_solution(model=model)
    copies = 60
    solution = replace(
        solution,
        t=np.linspace(0.0, solution.duration, copies * len(solution.t)),
        **{
            name: np.repeat(getattr(solution, name), copies, axis=0)
            for name in ("phase", "q", "v", "a", "tau", "reactions")
        },
    )
    html = report_html(solution)
    assert len(html.encode()) < 1_500_000
    data = Page(html).data
    t = data["times"][data["charts"]["charts"][0]["series"][0]["x"]]
    assert t[0] == 0.0
    assert t[-1] == pytest.approx(solution.duration, rel=1e-5)
    assert len(data["pickers"][0]["first"]) == 6


def test_missing_motion_is_stated_not_drawn():
    solution = fake_solution(status="diverged")
    bad = solution.curves[0]._replace(control=np.full_like(solution.curves[0].control, np.nan))
    nan = np.full_like(solution.q, np.nan)
    solution = replace(
        solution, curves=(bad,), q=nan, v=nan, a=nan, tau=nan, objective=math.nan,
        history={"iteration": np.arange(3.0), "objective": np.array([1.0, np.inf, np.nan]),
                 "violation": np.full(3, np.nan)},
    )  # fmt: skip
    page = Page(report_html(solution))
    assert page.data["clock"] is None
    assert page.data["scene"] is None
    assert "no curves and no animation" in page.text


def test_failed_write_leaves_the_earlier_report(tmp_path):
    folder = tmp_path / "report.html"
    folder.mkdir()
    with pytest.raises(FileError, match="folder"):
        fake_solution().report(folder)
    with pytest.raises(FileError, match="make the folder first"):
        fake_solution().report(tmp_path / "missing" / "report.html")


def lines_of(solution):
    """By title of the chart: its series, by name; and the list of times."""
    times = Times()
    charts = motion_charts(solution, times)
    t = times.lists[charts[0]["series"][0]["x"]]
    return {chart["title"]: {line["name"]: line for line in chart["series"]} for chart in charts}, t


def test_curves_have_the_units_of_their_joints():
    solution = fake_solution(model=predyn.models.prismatic_revolute())
    charts = {chart["title"]: chart for chart in motion_charts(solution, Times())}
    (angle,), (position,) = charts["Joint angle"]["series"], charts["Joint position"]["series"]
    assert (angle["joint"], position["joint"]) == (1, 0)
    assert angle["y"][-1] == pytest.approx(180.0 / math.pi, rel=1e-4)
    assert position["y"][-1] == pytest.approx(1.0, rel=1e-4)
    assert charts["Joint force"]["unit"] == "N"
    largest = np.abs(solution.tau).max(axis=0)
    assert charts["Joint torque"]["series"][0]["limits"][1] == pytest.approx(largest[1], rel=1e-4)
    assert angle["limits"] == [None, None]


def test_both_sides_of_a_phase_boundary_are_kept():
    solution = fake_solution(phases=2)
    _, t = lines_of(solution)
    assert t == sorted(t)
    assert t.count(0.6) == 2
    clock = clock_data(solution)
    assert [phase["name"] for phase in clock["phases"]] == ["phase 1", "phase 2"]
    assert clock["end"] == pytest.approx(1.2)


def test_reaction_sizes():
    solution = fake_solution()
    charts, _ = lines_of(solution)
    force = np.linalg.norm(solution.reactions[0, :, 3:], axis=1)
    shown = [line["y"][0] for line in charts["Reaction force"].values()]
    assert shown == pytest.approx(force, rel=1e-4)


def test_state_of_the_joints_is_that_of_the_curves():
    solution = fake_solution()
    charts = motion_charts(solution, Times())
    first, second = state_rows(solution, charts)
    assert (first["name"], second["joint"]) == ("joint1", 1)
    place = first["position"]
    line = charts[place["chart"]]["series"][place["line"]]
    assert line["y"][-1] == pytest.approx(np.degrees(solution.q[-1, 0]), rel=1e-4)
    assert charts[second["effort"]["chart"]]["title"] == "Joint torque"
    assert second["effort"]["most"] == pytest.approx(np.abs(solution.tau[:, 1]).max(), rel=1e-4)


def test_history_is_logarithmic_only_where_it_can_be():
    solution = fake_solution()
    objective, violation = history_charts(solution, Times())
    assert not objective["log"]
    assert violation["log"]
    x = np.arange(3.0)
    crossing = {"iteration": x, "objective": np.array([1e6, 1.0, -1.0]), "violation": 0 * x}
    assert not any(
        chart["log"] for chart in history_charts(replace(solution, history=crossing), Times())
    )
    assert history_charts(replace(solution, history={}), Times()) == []


def test_pattern_shows_exactly_the_entries():
    rows, columns = np.array([0, 0, 1, 3], np.int32), np.array([0, 1, 2, 3], np.int32)
    path = re.search(r'class="cells" d="([^"]*)"', sparsity_svg((rows, columns), 4, 4))
    boxes = re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v", path[1])
    cells = {
        (round(float(y) / 90), round(float(x) / 90) + k)
        for x, y, width in boxes
        for k in range(round(float(width) / 90))
    }
    assert cells == set(zip(rows.tolist(), columns.tolist(), strict=True))


def test_large_pattern_is_small():
    random = np.random.default_rng(1)
    pattern = tuple(random.integers(0, size, 400_000).astype(np.int32) for size in (20_000, 5_000))
    assert len(sparsity_svg(pattern, 20_000, 5_000)) < 600_000
    assert "<path" in sparsity_svg((np.zeros(0, np.int32), np.zeros(0, np.int32)), 0, 3)


def test_systems_of_phases_are_listed():
    html = report_html(loaded_solution(passive=True))
    assert_self_contained(html)
    text = " ".join(Page(html).text.split())
    for expected in (
        "Parameters Parameter Value Unit stiffness 1234.5 N/m share 0.25 –",  # noqa: RUF001
        "Payloads Link or frame Mass [kg] Centre of mass [m] Ixx, Iyy, Izz about it [kg m²] Phases "
        "tip 2.5 0.05, −0.02, 0 0.01, 0.02, 0.025 carry",  # noqa: RUF001
        "tip 0, −10, 0 0, 0, 0 0, 0, 0 world reach",  # noqa: RUF001
        "link1 given curve, up to 4.123 given curve, up to 0.5 0.1, 0.05, 0 world reach",
        "link2 signal press 0, 0, 0 0.1, 0.05, 0 link carry",
        "joint2 (reach) revolute",
        "no motor",
    ):
        assert expected in text, expected
    plain = Page(report_html(fake_solution(2))).text
    for absent in ("Parameters", "Payloads", "Phases", "(phase 1)"):
        assert absent not in plain


def test_signals_are_drawn_up_to_their_jumps():
    solution = loaded_solution()
    times = Times()
    press, level = signal_charts(solution, times)
    press_t, level_t = (times.lists[spec["series"][0]["x"]] for spec in (press, level))
    assert (press["title"], press["unit"], level["unit"]) == ("Signal press", "N", "")
    assert [line["name"] for line in press["series"]] == ["x", "y", "z"]
    assert (press_t[0], press_t[-1]) == (0.0, 1.2)
    first = press["series"][0]["y"]
    inside = [t for t, y in zip(press_t, first, strict=True) if y is not None]
    assert (inside[0], inside[-1]) == (0.6, 1.2)
    steps = [x for x in zip(level_t, level["series"][0]["y"], strict=True) if x[1] is not None]
    assert steps[:4] == [(0.0, 1.0), (0.2, 1.0), (0.2, 3.0), (0.4, 3.0)]


def test_limits_and_efforts_where_phases_differ():
    solution = loaded_solution(passive=True)
    one, two = solution.systems
    limits = one.limits._replace(velocity=np.array([[-3.0, 3.0], [-4.0, 4.0]]))
    other = limits._replace(velocity=np.array([[-3.0, 3.0], [-5.0, 5.0]]))
    pair = (replace(one, limits=limits), replace(two, limits=other))
    charts, t = lines_of(replace(solution, systems=pair))
    velocity = charts["Angular velocity"]
    assert velocity["joint1"]["limits"] == pytest.approx([-171.887, 171.887], abs=1e-2)
    assert velocity["joint2"]["limits"] == [None, None]
    upper = np.degrees([4.0, 4.0, 5.0, 5.0])  # drawn as a curve that changes between the phases
    assert velocity["limit of joint2"]["y"] == pytest.approx(upper, rel=1e-4)
    assert "limit of joint1" not in velocity
    second = charts["Joint torque"]["joint2"]["y"]
    later = [y for time, y in zip(t, second, strict=True) if time > 0.6]
    earlier = [y for time, y in zip(t, second, strict=True) if time < 0.6]
    assert set(later) == {None}
    assert None not in earlier


def test_a_signal_that_is_not_finite_leaves_no_motion_to_draw():
    solution = loaded_solution()
    level = solution.signal_curves["level"]
    curve = level.curves[0]._replace(control=np.full((3, 1), np.nan))
    signals = solution.signal_curves | {"level": level._replace(curves=(curve, curve))}
    failed = replace(solution, status="diverged", signal_curves=signals)
    assert "no curves and no animation" in " ".join(Page(report_html(failed)).text.split())
