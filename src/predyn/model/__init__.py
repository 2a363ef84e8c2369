"""A mechanism: frozen, checked arrays and names; its parts, edits, checks and file form."""

from predyn.model.model import (
    KINDS,
    PRISMATIC,
    REVOLUTE,
    SCREW,
    DHTable,
    Frame,
    Limits,
    Model,
    Shape,
)

__all__ = [
    "KINDS",
    "PRISMATIC",
    "REVOLUTE",
    "SCREW",
    "DHTable",
    "Frame",
    "Limits",
    "Model",
    "Shape",
]
