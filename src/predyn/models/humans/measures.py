"""Measures of the body by regression on height and mass, and their spread in a population.

ANSUR II, the anthropometric survey of the US Army of 2012 (Gordon et al. 2014, NATICK/TR-15/007):
4082 men and 1986 women of its public data. Lengths are least-squares fits c0 + c1 height + c2 mass.
"""

from __future__ import annotations

from typing import NamedTuple


class Fit(NamedTuple):
    """Coefficients of a measure (m): constant, per m of height, per kg of mass."""

    constant: float
    height: float
    mass: float


class Spread(NamedTuple):
    """The 5th, 50th and 95th percentile."""

    low: float
    median: float
    high: float


FITS: dict[str, dict[str, Fit]] = {
    "male": {
        "malleolus_height": Fit(0.01173, 0.03098, 8e-05),
        "foot_length": Fit(0.04493, 0.12038, 0.00017),
        "foot_breadth": Fit(0.05585, 0.01802, 0.00017),
        "biacromial_breadth": Fit(0.20459, 0.09168, 0.00059),
        "hip_breadth": Fit(0.23257, -0.00647, 0.00146),
        "buttock_depth": Fit(0.25904, -0.09808, 0.00186),
        "waist_breadth": Fit(0.30601, -0.10326, 0.00236),
        "waist_depth": Fit(0.3024, -0.15329, 0.00239),
        "chest_breadth": Fit(0.2062, 0.00356, 0.0009),
        "chest_depth": Fit(0.25813, -0.08938, 0.00179),
        "head_length": Fit(0.14473, 0.02454, 0.00014),
        "head_breadth": Fit(0.15656, -0.00861, 0.00015),
        "hand_breadth": Fit(0.04659, 0.0176, 0.00013),
        "thigh_circumference": Fit(0.59474, -0.18359, 0.00413),
        "calf_circumference": Fit(0.35096, -0.06845, 0.00189),
        "ankle_breadth": Fit(0.03042, 0.02065, 9e-05),
        "span": Fit(0.069, 0.97112, 0.00046),
    },
    "female": {
        "malleolus_height": Fit(0.00692, 0.03381, 1e-05),
        "foot_length": Fit(0.03785, 0.11804, 0.00024),
        "foot_breadth": Fit(0.05769, 0.01382, 0.00018),
        "biacromial_breadth": Fit(0.13199, 0.12829, 0.00036),
        "hip_breadth": Fit(0.26242, -0.03156, 0.00211),
        "buttock_depth": Fit(0.26363, -0.11128, 0.00222),
        "waist_breadth": Fit(0.2959, -0.11378, 0.00279),
        "waist_depth": Fit(0.31707, -0.18103, 0.00282),
        "chest_breadth": Fit(0.20635, -0.01285, 0.00124),
        "chest_depth": Fit(0.27781, -0.11634, 0.00235),
        "head_length": Fit(0.1343, 0.02787, 0.00015),
        "head_breadth": Fit(0.13512, 0.00368, 0.0001),
        "hand_breadth": Fit(0.04161, 0.01755, 0.00012),
        "thigh_circumference": Fit(0.58401, -0.19423, 0.00514),
        "calf_circumference": Fit(0.30585, -0.05141, 0.00223),
        "ankle_breadth": Fit(0.02762, 0.02011, 0.0001),
        "span": Fit(-0.00949, 0.99753, 0.00067),
    },
}
HEIGHTS = {"male": Spread(1.648, 1.755, 1.870), "female": Spread(1.525, 1.626, 1.740)}  # m
MASSES = {"male": Spread(64.4, 84.6, 110.695), "female": Spread(51.3, 66.8, 87.075)}  # kg


def measure(name: str, sex: str, height: float, mass: float) -> float:
    """A measure of FITS (m) of a person of this height (m) and mass (kg)."""
    fit = FITS[sex][name]
    return fit.constant + fit.height * height + fit.mass * mass
