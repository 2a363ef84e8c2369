"""The person's table: segments with masses and lengths, as notes of the model."""

from __future__ import annotations

from predyn.models.humans.dimensions import (
    ANKLE,
    MIDDLE_TRUNK,
    NECK,
    UPPER_TRUNK,
    Dimensions,
)
from predyn.models.humans.measures import measure
from predyn.models.humans.people import Person
from predyn.models.humans.segments import PAIRED, mass_of

TITLES = {"male": "man", "female": "woman"}
POPULATION = "soldiers of the US Army in 2012 (ANSUR II)"


def notes_of(
    person: Person, size: Dimensions, percentile: float | None, loads: dict[str, float]
) -> list[str]:
    """Who the person is, its table of segments, and what it carries."""
    who = (
        f"person: {TITLES[person.sex]} of {person.height:.4g} m and {person.mass:.4g} kg, BMI "
        f"{person.bmi:.1f} kg/m^2, strength of age {person.age}"
    )
    if percentile is not None:
        who += f"; what was not given is at percentile {percentile:g} of {POPULATION}"
    carried = [f"carries {kg:g} kg {where}" for where, kg in loads.items() if kg > 0.0]
    return [who, table_of(person, size), *carried]


def table_of(person: Person, size: Dimensions) -> str:
    """Segments with mass and length; those of arms and legs for one side."""
    rows = [("segment", "mass [kg]", "length [m]")]
    lengths = {
        "head": size.vertex - size.trunk * NECK,
        "upper trunk": size.trunk * (NECK - UPPER_TRUNK),
        "middle trunk": size.trunk * (UPPER_TRUNK - MIDDLE_TRUNK),
        "lower trunk": size.trunk * MIDDLE_TRUNK,
        "upper arm": size.upper_arm,
        "forearm": size.forearm,
        "hand": size.fingertip,
        "thigh": size.thigh,
        "shank": size.shank,
        "foot": measure("foot_length", person.sex, person.height, person.mass),
    }
    for name, length in lengths.items():
        key = name.replace(" ", "_")
        mass = mass_of(key, person.sex, person.mass)
        side = " (each)" if key in PAIRED else ""
        rows.append((name + side, f"{mass:.3f}", f"{length:.3f}"))
    heights = (
        f"hip joints {size.hip_height:.3f} m and ankles {size.foot.high * ANKLE:.3f} m above the "
        "ground when standing"
    )
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    lines = [
        "  " + "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(["body", *lines, f"  {heights}"])
