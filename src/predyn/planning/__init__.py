"""Motions of robots: collision-free paths, and the best timing along a path.

Names load when first used, and kernels compile when first called.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predyn.planning.plan_goals import PoseGoal as PoseGoal
    from predyn.planning.plan_result import Plan as Plan
    from predyn.planning.planner import plan as plan
    from predyn.planning.retimed_motion import Retiming as Retiming
    from predyn.planning.retiming import retime as retime

_MODULE_OF = {
    "Plan": "plan_result",
    "PoseGoal": "plan_goals",
    "Retiming": "retimed_motion",
    "plan": "planner",
    "retime": "retiming",
}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'predyn.planning' has no attribute {name!r}")
    value = getattr(import_module(f"predyn.planning.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
