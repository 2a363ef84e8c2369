"""A table of a study without solving: payload and mix, with failed cases and odd names."""

import numpy as np

from fake_solution import fake_solution
from predyn.view.study_columns import PageColumn
from predyn.view.study_page import PageText

ODD = '</script><img src=x onerror="alert(1)">'  # names may be anything
COLUMNS = [
    PageColumn("payload", "kg", role="varied"),
    PageColumn("mix", "1", role="varied"),
    PageColumn("person", kind="text", role="varied"),
    PageColumn("duration", "s"),
    PageColumn("effort", "N^2 m^2 s"),
    PageColumn(ODD, "N m"),
    PageColumn("gravity", "m/s^2"),
    PageColumn("iterations", kind="whole", role="status"),
]
TEXT = PageText(
    f"lifts {ODD}", "Payloads & mixes", (("duration", "min"), ("effort", "min")), {"Task": ODD}
)


def fake_table(count, failed=True):
    """payload by mix; every 10th case fails, and the last one is set aside."""
    k = np.arange(count)
    mix, payload = (k % 10) / 10.0, k // 10 * 1.0
    status = np.array(["optimal"] * count, object)
    if failed:
        status[k % 10 == 3] = "infeasible"
        status[-1:] = "set_aside"
    good = status == "optimal"
    message = np.array([f"effort of {ODD}: {0.1 * x:.1f} N m too much" for x in k], object)
    message[good] = ""
    message[status == "set_aside"] = "its worker was lost twice"
    nan = np.where(good, 0.0, np.nan)
    return {
        "case": k,
        "payload": payload,
        "mix": mix,
        "person": np.array(["p5", "p50 <b>", "p95"], object)[k % 3],
        "status": status,
        "message": message,
        "duration": 0.6 + 0.5 * mix + 0.03 * payload + nan,
        "effort": 40.0 + 60.0 * (1.0 - mix) ** 2 + 5.0 * payload + nan,
        ODD: 3.0 * mix - 1.0 + nan,
        "gravity": np.full(count, 9.81),
        "iterations": 10 + k % 7,
    }


def fake_motions(cases):
    return [(case, fake_solution) for case in cases]
