"""What clinics expect of a motion: gait cycles, loads of a lift, joint centres from markers."""

from predyn.analysis.centres import add_joint_centres
from predyn.analysis.cycles import find_gait, gait_cycles
from predyn.analysis.events import Event
from predyn.analysis.gait import Band, Curve, Cycle, GaitCycles, Parameter, Peak
from predyn.analysis.leg_scaling import leg_lengths
from predyn.analysis.lifting import LiftLoads, LiftPeak, lift_loads
from predyn.analysis.marker_sets import MARKER_SETS, find_landmarks
from predyn.analysis.motions import GroundForce, Motion, motion_of
from predyn.analysis.norms import Norms, load_norms
from predyn.analysis.sides import find_pairs

__all__ = [
    "MARKER_SETS",
    "Band",
    "Curve",
    "Cycle",
    "Event",
    "GaitCycles",
    "GroundForce",
    "LiftLoads",
    "LiftPeak",
    "Motion",
    "Norms",
    "Parameter",
    "Peak",
    "add_joint_centres",
    "find_gait",
    "find_landmarks",
    "find_pairs",
    "gait_cycles",
    "leg_lengths",
    "lift_loads",
    "load_norms",
    "motion_of",
]
