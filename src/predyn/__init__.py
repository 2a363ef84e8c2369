"""Dynamics of articulated mechanisms, for many instants at once, with exact derivatives.

The public names are loaded on first use: `import predyn` reads no numba and compiles nothing.
"""

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from predyn import dynamics as dynamics
    from predyn import models as models
    from predyn.builder import ModelBuilder as ModelBuilder
    from predyn.dynamics.aba import forward_dynamics as forward_dynamics
    from predyn.dynamics.aba_derivatives import (
        forward_dynamics_derivatives as forward_dynamics_derivatives,
    )
    from predyn.dynamics.crba import mass_matrix as mass_matrix
    from predyn.dynamics.forces import ExternalForce as ExternalForce
    from predyn.dynamics.reactions import joint_reactions as joint_reactions
    from predyn.dynamics.rnea import inverse_dynamics as inverse_dynamics
    from predyn.dynamics.rnea_derivatives import (
        inverse_dynamics_derivatives as inverse_dynamics_derivatives,
    )
    from predyn.dynamics.rnea_hessian import inverse_dynamics_hessian as inverse_dynamics_hessian
    from predyn.errors import FileError as FileError
    from predyn.errors import InputError as InputError
    from predyn.errors import ModelError as ModelError
    from predyn.errors import ModelWarning as ModelWarning
    from predyn.errors import PredynError as PredynError
    from predyn.load.dh import DHRow as DHRow
    from predyn.load.dh import load_dh as load_dh
    from predyn.load.urdf import load_urdf as load_urdf
    from predyn.model import Frame as Frame
    from predyn.model import Limits as Limits
    from predyn.model import Model as Model
    from predyn.model import Shape as Shape

__version__ = "0.1.0"

_PACKAGES = ("dynamics", "models")

# public name -> the module that defines it
_NAMES = {
    "DHRow": "predyn.load.dh",
    "ExternalForce": "predyn.dynamics.forces",
    "FileError": "predyn.errors",
    "Frame": "predyn.model",
    "InputError": "predyn.errors",
    "Limits": "predyn.model",
    "Model": "predyn.model",
    "ModelBuilder": "predyn.builder",
    "ModelError": "predyn.errors",
    "ModelWarning": "predyn.errors",
    "PredynError": "predyn.errors",
    "Shape": "predyn.model",
    "forward_dynamics": "predyn.dynamics.aba",
    "forward_dynamics_derivatives": "predyn.dynamics.aba_derivatives",
    "inverse_dynamics": "predyn.dynamics.rnea",
    "inverse_dynamics_derivatives": "predyn.dynamics.rnea_derivatives",
    "inverse_dynamics_hessian": "predyn.dynamics.rnea_hessian",
    "joint_reactions": "predyn.dynamics.reactions",
    "load_dh": "predyn.load.dh",
    "load_urdf": "predyn.load.urdf",
    "mass_matrix": "predyn.dynamics.crba",
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
