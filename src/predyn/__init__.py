"""Predict how robots and people move: optimal motions of mechanisms, from dynamics in batches.

The public names are loaded on first use: `import predyn` reads no numba and compiles nothing.
"""

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from predyn import analysis as analysis
    from predyn import collision as collision
    from predyn import dynamics as dynamics
    from predyn import models as models
    from predyn import movements as movements
    from predyn import terms as terms
    from predyn.collision.certificate import Certificate as Certificate
    from predyn.collision.certificate import certify as certify
    from predyn.collision.motions import JointPath as JointPath
    from predyn.collision.scene import Obstacle as Obstacle
    from predyn.collision.scene import Scene as Scene
    from predyn.collision.scene_file import load_scene as load_scene
    from predyn.config import load_task as load_task
    from predyn.curves.profile import Profile as Profile
    from predyn.dynamics.aba import forward_dynamics as forward_dynamics
    from predyn.dynamics.aba_derivatives import (
        forward_dynamics_derivatives as forward_dynamics_derivatives,
    )
    from predyn.dynamics.crba import mass_matrix as mass_matrix
    from predyn.dynamics.hybrid import hybrid_dynamics as hybrid_dynamics
    from predyn.dynamics.hybrid_derivatives import (
        hybrid_dynamics_derivatives as hybrid_dynamics_derivatives,
    )
    from predyn.dynamics.loop_closing import close_loops as close_loops
    from predyn.dynamics.pose_search import inverse_kinematics as inverse_kinematics
    from predyn.dynamics.reactions import joint_reactions as joint_reactions
    from predyn.dynamics.rnea import inverse_dynamics as inverse_dynamics
    from predyn.dynamics.rnea_derivatives import (
        inverse_dynamics_derivatives as inverse_dynamics_derivatives,
    )
    from predyn.dynamics.rnea_hessian import inverse_dynamics_hessian as inverse_dynamics_hessian
    from predyn.dynamics.system import Payload as Payload
    from predyn.errors import DataWarning as DataWarning
    from predyn.errors import FileError as FileError
    from predyn.errors import InputError as InputError
    from predyn.errors import ModelError as ModelError
    from predyn.errors import ModelWarning as ModelWarning
    from predyn.errors import NotConverged as NotConverged
    from predyn.errors import PredynError as PredynError
    from predyn.errors import ProblemWarning as ProblemWarning
    from predyn.estimate.estimating import estimate_torques as estimate_torques
    from predyn.estimate.placing import Placed as Placed
    from predyn.estimate.placing import place_markers as place_markers
    from predyn.estimate.result import Estimate as Estimate
    from predyn.estimate.result_file import load_estimate as load_estimate
    from predyn.kernels.forces import ExternalForce as ExternalForce
    from predyn.load.dh import DHRow as DHRow
    from predyn.load.dh import load_dh as load_dh
    from predyn.load.external_loads import ExternalLoads as ExternalLoads
    from predyn.load.external_loads import load_external_loads as load_external_loads
    from predyn.load.osim import load_osim as load_osim
    from predyn.load.urdf import load_urdf as load_urdf
    from predyn.model import Frame as Frame
    from predyn.model import Limits as Limits
    from predyn.model import Model as Model
    from predyn.model import Shape as Shape
    from predyn.model.builder import ModelBuilder as ModelBuilder
    from predyn.model.capsules import Capsule as Capsule
    from predyn.model.contacts import ContactPoint as ContactPoint
    from predyn.model.couplings import Coupling as Coupling
    from predyn.model.couplings import PiecewisePolynomial as PiecewisePolynomial
    from predyn.model.loops import Loop as Loop
    from predyn.nlp import SolverOptions as SolverOptions
    from predyn.planning.plan_goals import PoseGoal as PoseGoal
    from predyn.planning.plan_result import Plan as Plan
    from predyn.planning.planner import plan as plan
    from predyn.planning.retimed_motion import Retiming as Retiming
    from predyn.planning.retiming import retime as retime
    from predyn.problem import Constraint as Constraint
    from predyn.problem import Contact as Contact
    from predyn.problem import Cost as Cost
    from predyn.problem import Cycle as Cycle
    from predyn.problem import Dmoc as Dmoc
    from predyn.problem import Duration as Duration
    from predyn.problem import Ground as Ground
    from predyn.problem import Hybrid as Hybrid
    from predyn.problem import Parameter as Parameter
    from predyn.problem import Phase as Phase
    from predyn.problem import Points as Points
    from predyn.problem import Problem as Problem
    from predyn.problem import Signal as Signal
    from predyn.problem import Spline as Spline
    from predyn.problem import State as State
    from predyn.problem import System as System
    from predyn.recordings.loading import load_measurements as load_measurements
    from predyn.recordings.measurements import MeasuredForce as MeasuredForce
    from predyn.recordings.measurements import Measurements as Measurements
    from predyn.simulation import simulate as simulate
    from predyn.simulation.replaying import Replay as Replay
    from predyn.simulation.replaying import replay as replay
    from predyn.simulation.trajectories import Trajectory as Trajectory
    from predyn.simulation.verification import verify as verify
    from predyn.solution import Solution as Solution
    from predyn.solution.file import load_solution as load_solution
    from predyn.solving import solve as solve
    from predyn.solving.kkt_sensitivities import sensitivities as sensitivities
    from predyn.solving.sensitivity_table import Sensitivities as Sensitivities
    from predyn.study.pareto import pareto_front as pareto_front
    from predyn.study.running import run_study as run_study
    from predyn.study.study import Study as Study
    from predyn.study.study_file import read_study as read_study
    from predyn.study.study_file import study_of as study_of
    from predyn.study.study_results import StudyResults as StudyResults

__version__ = "0.3.0.dev0"

_PACKAGES = ("analysis", "collision", "dynamics", "models", "movements", "terms")

# public name -> the module that defines it
_NAMES = {
    "Capsule": "predyn.model.capsules",
    "Certificate": "predyn.collision.certificate",
    "Constraint": "predyn.problem",
    "Contact": "predyn.problem",
    "ContactPoint": "predyn.model.contacts",
    "Cost": "predyn.problem",
    "Coupling": "predyn.model.couplings",
    "Cycle": "predyn.problem",
    "DHRow": "predyn.load.dh",
    "DataWarning": "predyn.errors",
    "Duration": "predyn.problem",
    "Estimate": "predyn.estimate.result",
    "ExternalForce": "predyn.kernels.forces",
    "ExternalLoads": "predyn.load.external_loads",
    "FileError": "predyn.errors",
    "Frame": "predyn.model",
    "Ground": "predyn.problem",
    "Dmoc": "predyn.problem",
    "Hybrid": "predyn.problem",
    "InputError": "predyn.errors",
    "JointPath": "predyn.collision.motions",
    "Limits": "predyn.model",
    "Loop": "predyn.model.loops",
    "MeasuredForce": "predyn.recordings.measurements",
    "Measurements": "predyn.recordings.measurements",
    "Model": "predyn.model",
    "ModelBuilder": "predyn.model.builder",
    "ModelError": "predyn.errors",
    "ModelWarning": "predyn.errors",
    "NotConverged": "predyn.errors",
    "Obstacle": "predyn.collision.scene",
    "Parameter": "predyn.problem",
    "Payload": "predyn.dynamics.system",
    "Phase": "predyn.problem",
    "PiecewisePolynomial": "predyn.model.couplings",
    "Placed": "predyn.estimate.placing",
    "Plan": "predyn.planning.plan_result",
    "Points": "predyn.problem",
    "PoseGoal": "predyn.planning.plan_goals",
    "PredynError": "predyn.errors",
    "Problem": "predyn.problem",
    "ProblemWarning": "predyn.errors",
    "Profile": "predyn.curves.profile",
    "Replay": "predyn.simulation.replaying",
    "Retiming": "predyn.planning.retimed_motion",
    "Scene": "predyn.collision.scene",
    "Sensitivities": "predyn.solving.sensitivity_table",
    "Shape": "predyn.model",
    "Signal": "predyn.problem",
    "Solution": "predyn.solution",
    "SolverOptions": "predyn.nlp",
    "Spline": "predyn.problem",
    "State": "predyn.problem",
    "Study": "predyn.study.study",
    "StudyResults": "predyn.study.study_results",
    "System": "predyn.problem",
    "Trajectory": "predyn.simulation.trajectories",
    "certify": "predyn.collision.certificate",
    "close_loops": "predyn.dynamics.loop_closing",
    "estimate_torques": "predyn.estimate.estimating",
    "forward_dynamics": "predyn.dynamics.aba",
    "forward_dynamics_derivatives": "predyn.dynamics.aba_derivatives",
    "hybrid_dynamics": "predyn.dynamics.hybrid",
    "hybrid_dynamics_derivatives": "predyn.dynamics.hybrid_derivatives",
    "inverse_dynamics": "predyn.dynamics.rnea",
    "inverse_dynamics_derivatives": "predyn.dynamics.rnea_derivatives",
    "inverse_dynamics_hessian": "predyn.dynamics.rnea_hessian",
    "inverse_kinematics": "predyn.dynamics.pose_search",
    "joint_reactions": "predyn.dynamics.reactions",
    "load_dh": "predyn.load.dh",
    "load_estimate": "predyn.estimate.result_file",
    "load_external_loads": "predyn.load.external_loads",
    "load_measurements": "predyn.recordings.loading",
    "load_osim": "predyn.load.osim",
    "load_scene": "predyn.collision.scene_file",
    "load_solution": "predyn.solution.file",
    "load_task": "predyn.config",
    "load_urdf": "predyn.load.urdf",
    "mass_matrix": "predyn.dynamics.crba",
    "pareto_front": "predyn.study.pareto",
    "place_markers": "predyn.estimate.placing",
    "plan": "predyn.planning.planner",
    "read_study": "predyn.study.study_file",
    "replay": "predyn.simulation.replaying",
    "retime": "predyn.planning.retiming",
    "run_study": "predyn.study.running",
    "sensitivities": "predyn.solving.kkt_sensitivities",
    "simulate": "predyn.simulation",
    "solve": "predyn.solving",
    "study_of": "predyn.study.study_file",
    "verify": "predyn.simulation.verification",
}

__all__ = sorted([*_NAMES, *_PACKAGES])


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if not TYPE_CHECKING:  # a type checker shall report unknown names, not accept them all

    def __getattr__(name: str) -> object:
        if name in _PACKAGES:
            return importlib.import_module(f"predyn.{name}")
        if name not in _NAMES:
            raise AttributeError(
                f"predyn has no public name {name!r}; dir(predyn) lists them",
                name=name,
                obj=sys.modules[__name__],
            )
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
