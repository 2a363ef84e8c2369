"""Models of mechanisms: frozen, checked arrays and names; parts, edits, checks and file format."""

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
