"""What clinics expect of a motion: gait events, cycles, norms; joint centres from markers."""

from predyn.analysis.cycles import find_gait, gait_cycles
from predyn.analysis.events import Event
from predyn.analysis.gait import Band, Curve, Cycle, GaitCycles, Parameter, Peak
from predyn.analysis.motions import GroundForce, Motion, motion_of
from predyn.analysis.norms import Norms, load_norms
from predyn.analysis.sides import find_pairs

__all__ = [
    "Band",
    "Curve",
    "Cycle",
    "Event",
    "GaitCycles",
    "GroundForce",
    "Motion",
    "Norms",
    "Parameter",
    "Peak",
    "find_gait",
    "find_pairs",
    "gait_cycles",
    "load_norms",
    "motion_of",
]
