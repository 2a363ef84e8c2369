"""Dynamics and kinematics of a Model for whole batches of states, with exact derivatives.

Every function takes and returns arrays with any leading shape. Names load when first used, and
kernels compile when first called.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predyn.dynamics.aba import forward_dynamics as forward_dynamics
    from predyn.dynamics.aba_derivatives import (
        forward_dynamics_derivatives as forward_dynamics_derivatives,
    )
    from predyn.dynamics.closed_dynamics import ClosedMotion as ClosedMotion
    from predyn.dynamics.closed_dynamics import ClosedTorques as ClosedTorques
    from predyn.dynamics.closed_dynamics import closed_forward_dynamics as closed_forward_dynamics
    from predyn.dynamics.closed_dynamics import closed_inverse_dynamics as closed_inverse_dynamics
    from predyn.dynamics.crba import mass_matrix as mass_matrix
    from predyn.dynamics.discrete import discrete_inverse_dynamics as discrete_inverse_dynamics
    from predyn.dynamics.discrete_derivatives import DiscreteDerivatives as DiscreteDerivatives
    from predyn.dynamics.discrete_derivatives import (
        discrete_inverse_dynamics_derivatives as discrete_inverse_dynamics_derivatives,
    )
    from predyn.dynamics.discrete_hessian import DiscreteHessian as DiscreteHessian
    from predyn.dynamics.discrete_hessian import (
        discrete_inverse_dynamics_hessian as discrete_inverse_dynamics_hessian,
    )
    from predyn.dynamics.energy import kinetic_energy as kinetic_energy
    from predyn.dynamics.energy import potential_energy as potential_energy
    from predyn.dynamics.force_derivatives import (
        inverse_dynamics_force_derivatives as inverse_dynamics_force_derivatives,
    )
    from predyn.dynamics.hybrid import hybrid_dynamics as hybrid_dynamics
    from predyn.dynamics.hybrid_derivatives import (
        hybrid_dynamics_derivatives as hybrid_dynamics_derivatives,
    )
    from predyn.dynamics.kinematics import FrameDerivatives as FrameDerivatives
    from predyn.dynamics.kinematics import FrameMotion as FrameMotion
    from predyn.dynamics.kinematics import frame_kinematics as frame_kinematics
    from predyn.dynamics.kinematics import (
        frame_kinematics_derivatives as frame_kinematics_derivatives,
    )
    from predyn.dynamics.kinematics_hessian import (
        frame_kinematics_hessian as frame_kinematics_hessian,
    )
    from predyn.dynamics.lagrangian import EnergyGradients as EnergyGradients
    from predyn.dynamics.lagrangian import energy_gradients as energy_gradients
    from predyn.dynamics.lagrangian_derivatives import (
        EnergyGradientsDerivatives as EnergyGradientsDerivatives,
    )
    from predyn.dynamics.lagrangian_derivatives import (
        energy_gradients_derivatives as energy_gradients_derivatives,
    )
    from predyn.dynamics.lagrangian_hessian import (
        EnergyGradientsHessian as EnergyGradientsHessian,
    )
    from predyn.dynamics.lagrangian_hessian import (
        energy_gradients_hessian as energy_gradients_hessian,
    )
    from predyn.dynamics.load_reactions import (
        joint_reactions_force_derivatives as joint_reactions_force_derivatives,
    )
    from predyn.dynamics.loop_closing import close_loops as close_loops
    from predyn.dynamics.loop_closing import project_velocities as project_velocities
    from predyn.dynamics.loop_kinematics import LoopEquations as LoopEquations
    from predyn.dynamics.loop_kinematics import loop_equations as loop_equations
    from predyn.dynamics.loop_rank import IndependentEquations as IndependentEquations
    from predyn.dynamics.loop_rank import independent_equations as independent_equations
    from predyn.dynamics.momentum import CentroidalDerivatives as CentroidalDerivatives
    from predyn.dynamics.momentum import CentroidalMotion as CentroidalMotion
    from predyn.dynamics.momentum import center_of_mass as center_of_mass
    from predyn.dynamics.momentum import spatial_momentum as spatial_momentum
    from predyn.dynamics.momentum import (
        spatial_momentum_derivatives as spatial_momentum_derivatives,
    )
    from predyn.dynamics.placement import dh_sensitivity as dh_sensitivity
    from predyn.dynamics.placement import length_sensitivity as length_sensitivity
    from predyn.dynamics.placement import placement_sensitivity as placement_sensitivity
    from predyn.dynamics.pose_search import PoseResult as PoseResult
    from predyn.dynamics.pose_search import inverse_kinematics as inverse_kinematics
    from predyn.dynamics.reactions import ReactionDerivatives as ReactionDerivatives
    from predyn.dynamics.reactions import joint_reactions as joint_reactions
    from predyn.dynamics.reactions import joint_reactions_derivatives as joint_reactions_derivatives
    from predyn.dynamics.reactions_hessian import joint_reactions_hessian as joint_reactions_hessian
    from predyn.dynamics.regressor import torque_regressor as torque_regressor
    from predyn.dynamics.resultant import ResultantDerivatives as ResultantDerivatives
    from predyn.dynamics.resultant import resultant_wrench as resultant_wrench
    from predyn.dynamics.resultant import (
        resultant_wrench_derivatives as resultant_wrench_derivatives,
    )
    from predyn.dynamics.rnea import inverse_dynamics as inverse_dynamics
    from predyn.dynamics.rnea_derivatives import (
        inverse_dynamics_derivatives as inverse_dynamics_derivatives,
    )
    from predyn.dynamics.rnea_hessian import Hessian as Hessian
    from predyn.dynamics.rnea_hessian import inverse_dynamics_hessian as inverse_dynamics_hessian
    from predyn.dynamics.two_step import Foot as Foot
    from predyn.dynamics.two_step import TwoStep as TwoStep
    from predyn.dynamics.two_step import two_step_dynamics as two_step_dynamics
    from predyn.dynamics.two_step_derivatives import TwoStepDerivatives as TwoStepDerivatives
    from predyn.dynamics.two_step_derivatives import TwoStepPartials as TwoStepPartials
    from predyn.dynamics.two_step_derivatives import (
        two_step_dynamics_derivatives as two_step_dynamics_derivatives,
    )
    from predyn.kernels.forces import ExternalForce as ExternalForce
    from predyn.published.discrete_recursion import (
        discrete_recursion_residual as discrete_recursion_residual,
    )
    from predyn.published.hybrid_recursion import (
        hybrid_recursion_dynamics as hybrid_recursion_dynamics,
    )
    from predyn.published.hybrid_recursion_sensitivity import (
        hybrid_recursion_derivatives as hybrid_recursion_derivatives,
    )
    from predyn.published.lagrangian_dh import PointMotion as PointMotion
    from predyn.published.lagrangian_dh import lagrangian_dh_point as lagrangian_dh_point
    from predyn.published.lagrangian_dh import lagrangian_dh_torques as lagrangian_dh_torques
    from predyn.published.lagrangian_dh_sensitivity import PointPartials as PointPartials
    from predyn.published.lagrangian_dh_sensitivity import (
        lagrangian_dh_derivatives as lagrangian_dh_derivatives,
    )
    from predyn.published.lagrangian_dh_sensitivity import (
        lagrangian_dh_point_derivatives as lagrangian_dh_point_derivatives,
    )
    from predyn.published.newton_euler_dh import (
        newton_euler_dh_internal_forces as newton_euler_dh_internal_forces,
    )
    from predyn.published.newton_euler_dh import newton_euler_dh_torques as newton_euler_dh_torques
    from predyn.published.newton_euler_dh_kinematics import LinkQuantities as LinkQuantities
    from predyn.published.newton_euler_dh_kinematics import (
        newton_euler_dh_sensitivities as newton_euler_dh_sensitivities,
    )
    from predyn.published.newton_euler_dh_sensitivity import (
        newton_euler_dh_derivatives as newton_euler_dh_derivatives,
    )
    from predyn.published.newton_euler_dh_sensitivity import (
        newton_euler_dh_internal_force_derivatives as newton_euler_dh_internal_force_derivatives,
    )

_HOMES = {
    "dynamics.aba": ("forward_dynamics",),
    "dynamics.aba_derivatives": ("forward_dynamics_derivatives",),
    "dynamics.closed_dynamics": (
        "ClosedMotion",
        "ClosedTorques",
        "closed_forward_dynamics",
        "closed_inverse_dynamics",
    ),
    "dynamics.crba": ("mass_matrix",),
    "dynamics.discrete": ("discrete_inverse_dynamics",),
    "dynamics.discrete_derivatives": (
        "DiscreteDerivatives",
        "discrete_inverse_dynamics_derivatives",
    ),
    "dynamics.discrete_hessian": ("DiscreteHessian", "discrete_inverse_dynamics_hessian"),
    "published.discrete_recursion": ("discrete_recursion_residual",),
    "dynamics.energy": ("kinetic_energy", "potential_energy"),
    "dynamics.force_derivatives": ("inverse_dynamics_force_derivatives",),
    "kernels.forces": ("ExternalForce",),
    "dynamics.hybrid": ("hybrid_dynamics",),
    "dynamics.hybrid_derivatives": ("hybrid_dynamics_derivatives",),
    "published.hybrid_recursion": ("hybrid_recursion_dynamics",),
    "published.hybrid_recursion_sensitivity": ("hybrid_recursion_derivatives",),
    "dynamics.kinematics": (
        "FrameDerivatives",
        "FrameMotion",
        "frame_kinematics",
        "frame_kinematics_derivatives",
    ),
    "dynamics.kinematics_hessian": ("frame_kinematics_hessian",),
    "dynamics.lagrangian": ("EnergyGradients", "energy_gradients"),
    "dynamics.lagrangian_derivatives": (
        "EnergyGradientsDerivatives",
        "energy_gradients_derivatives",
    ),
    "dynamics.lagrangian_hessian": ("EnergyGradientsHessian", "energy_gradients_hessian"),
    "published.lagrangian_dh": ("PointMotion", "lagrangian_dh_point", "lagrangian_dh_torques"),
    "published.lagrangian_dh_sensitivity": (
        "PointPartials",
        "lagrangian_dh_derivatives",
        "lagrangian_dh_point_derivatives",
    ),
    "dynamics.loop_closing": ("close_loops", "project_velocities"),
    "dynamics.loop_kinematics": ("LoopEquations", "loop_equations"),
    "dynamics.loop_rank": ("IndependentEquations", "independent_equations"),
    "dynamics.momentum": (
        "CentroidalDerivatives",
        "CentroidalMotion",
        "center_of_mass",
        "spatial_momentum",
        "spatial_momentum_derivatives",
    ),
    "published.newton_euler_dh": ("newton_euler_dh_internal_forces", "newton_euler_dh_torques"),
    "published.newton_euler_dh_kinematics": ("LinkQuantities", "newton_euler_dh_sensitivities"),
    "published.newton_euler_dh_sensitivity": (
        "newton_euler_dh_derivatives",
        "newton_euler_dh_internal_force_derivatives",
    ),
    "dynamics.load_reactions": ("joint_reactions_force_derivatives",),
    "dynamics.placement": ("dh_sensitivity", "length_sensitivity", "placement_sensitivity"),
    "dynamics.pose_search": ("PoseResult", "inverse_kinematics"),
    "dynamics.reactions": (
        "ReactionDerivatives",
        "joint_reactions",
        "joint_reactions_derivatives",
    ),
    "dynamics.reactions_hessian": ("joint_reactions_hessian",),
    "dynamics.regressor": ("torque_regressor",),
    "dynamics.resultant": (
        "ResultantDerivatives",
        "resultant_wrench",
        "resultant_wrench_derivatives",
    ),
    "dynamics.rnea": ("inverse_dynamics",),
    "dynamics.rnea_derivatives": ("inverse_dynamics_derivatives",),
    "dynamics.rnea_hessian": ("Hessian", "inverse_dynamics_hessian"),
    "dynamics.two_step": ("Foot", "TwoStep", "two_step_dynamics"),
    "dynamics.two_step_derivatives": (
        "TwoStepDerivatives",
        "TwoStepPartials",
        "two_step_dynamics_derivatives",
    ),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'predyn.dynamics' has no attribute {name!r}")
    value = getattr(import_module(f"predyn.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
