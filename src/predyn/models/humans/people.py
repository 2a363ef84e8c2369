"""Person: height, mass, sex and age group of an adult, checked; percentiles of a population."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from predyn.errors import InputError, unknown_name
from predyn.model.edits import number
from predyn.models.humans.measures import HEIGHTS, MASSES, Spread
from predyn.models.humans.strengths import AGES

SEXES = ("male", "female")
HEIGHT = (1.40, 2.00)  # m
MASS = (35.0, 145.0)  # kg
BMI = (15.0, 40.0)  # kg/m^2
PERCENTILE = (1.0, 99.0)


@dataclass(frozen=True)
class Person:
    """An adult: height (m), mass (kg), sex and age group."""

    height: float = 1.75
    mass: float = 75.0
    sex: str = "male"
    age: str = "18-25"

    def __post_init__(self) -> None:
        check_choice("sex", self.sex, SEXES)
        check_choice("age", self.age, AGES)
        height = check_range("height", self.height, HEIGHT, "m")
        mass = check_range("mass", self.mass, MASS, "kg")
        object.__setattr__(self, "height", height)
        object.__setattr__(self, "mass", mass)
        low, high = BMI
        if not low <= self.bmi <= high:
            raise InputError(
                f"height {height:g} m and mass {mass:g} kg: expected a body mass index (mass / "
                f"height^2) from {low:g} to {high:g} kg/m^2, got {self.bmi:.1f}; at this height "
                f"give a mass from {low * height**2:.0f} to {high * height**2:.0f} kg"
            )

    @property
    def bmi(self) -> float:
        """Body mass index, kg/m^2."""
        return self.mass / self.height**2


def check_choice(what: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise unknown_name(f"{what} of a person", value, choices)


def check_range(what: str, value: Any, bounds: tuple[float, float], unit: str) -> float:
    """The value as a float within the bounds."""
    result = number(value, f"{what} of a person")
    low, high = bounds
    if not low <= result <= high:
        raise InputError(
            f"{what} of a person: expected {low:g} to {high:g} {unit}".rstrip()
            + f", got {result:g}{_hint(what, result)}"
        )
    return result


def _hint(what: str, value: float) -> str:
    if what == "height" and HEIGHT[0] <= value / 100.0 <= HEIGHT[1]:
        return f"; in m that is {value / 100.0:g}"
    return ""


def person_of(
    height: float | None, mass: float | None, sex: str, age: str, percentile: float | None
) -> Person:
    """The person with these numbers; those that are not given are usual, or of a percentile."""
    if percentile is None:
        usual = Person().height, Person().mass
    elif height is not None and mass is not None:
        raise InputError(
            f"percentile {percentile!r}: height and mass are both given, nothing is left for it; "
            "omit one of the three"
        )
    else:
        usual = height_and_mass(percentile, sex)
    return Person(
        usual[0] if height is None else height, usual[1] if mass is None else mass, sex, age
    )


def height_and_mass(percentile: float, sex: str) -> tuple[float, float]:
    """Height (m) and mass (kg), each of this percentile among soldiers of ANSUR II."""
    check_choice("sex", sex, SEXES)
    percentile = check_range("percentile", percentile, PERCENTILE, "")
    return at_percentile(HEIGHTS[sex], percentile), at_percentile(MASSES[sex], percentile)


def at_percentile(spread: Spread, percentile: float) -> float:
    """Between and beyond the three percentiles by two halves of normal distributions."""
    z = NormalDist().inv_cdf(percentile / 100.0) / NormalDist().inv_cdf(0.95)
    side = spread.high - spread.median if z > 0.0 else spread.median - spread.low
    return spread.median + z * side
