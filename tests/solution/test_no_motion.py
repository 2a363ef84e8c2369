"""Solutions whose last iterate is no motion, and motions without motors."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.view.report import report_html


def diverged(value: float) -> predyn.Solution:
    solution = fake_solution(status="failed")
    curves = tuple(curve._replace(control=0.0 * curve.control + value) for curve in solution.curves)
    return replace(solution, curves=curves, q=0.0 * solution.q + value)


@pytest.mark.parametrize("value", [np.nan, 1e20])
def test_what_needs_a_motion_says_that_there_is_none(value, tmp_path):
    pytest.importorskip("pandas")
    solution = diverged(value)
    assert not solution.finite
    for evaluate in (solution.to_pandas, lambda: solution.at(0.1), lambda: solution.channel("com")):
        with pytest.raises(predyn.InputError, match=r"'two-link-lifting' .status 'failed'. has no"):
            evaluate()
    assert solution.channel("q").shape == solution.q.shape
    assert "not finite" in report_html(solution)
    assert "not finite" in solution._repr_html_()
    with pytest.raises(predyn.InputError, match="there is no motion to draw"):
        solution.animate(tmp_path / "a.gif")


def test_a_fall_without_motors_is_shown():
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    solution = fake_solution()
    falling = replace(solution, passive=solution.model.joint_names)
    axes = falling.plot()
    assert [ax.get_ylabel() for ax in axes] == ["Joint angle [rad]"]
    pyplot.close(axes[0].figure)
    assert "Joint angle" in falling._repr_html_()
