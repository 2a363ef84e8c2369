"""Collisions: distances between a robot and its surroundings, and proofs between samples.

Names load when first used, and kernels compile when first called.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predyn.collision.capsule_fit import fit_capsules as fit_capsules
    from predyn.collision.certificate import Certificate as Certificate
    from predyn.collision.certificate import certify as certify
    from predyn.collision.checker import Checker as Checker
    from predyn.collision.distances import Distances as Distances
    from predyn.collision.motions import JointPath as JointPath
    from predyn.collision.motions import load_joint_path as load_joint_path
    from predyn.collision.scene import Obstacle as Obstacle
    from predyn.collision.scene import Part as Part
    from predyn.collision.scene import Path as Path
    from predyn.collision.scene import Scene as Scene
    from predyn.collision.scene_file import load_scene as load_scene

_HOMES: dict[str, tuple[str, ...]] = {
    "capsule_fit": ("fit_capsules",),
    "certificate": ("Certificate", "certify"),
    "checker": ("Checker",),
    "distances": ("Distances",),
    "motions": ("JointPath", "load_joint_path"),
    "scene": ("Obstacle", "Part", "Path", "Scene"),
    "scene_file": ("load_scene",),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'predyn.collision' has no attribute {name!r}")
    value = getattr(import_module(f"predyn.collision.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
