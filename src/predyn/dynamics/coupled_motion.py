"""Motion and reactions of the links of coupled models, with partials in the coordinates.

Each quantity is that of the tree at the joints' states; its partials follow by the chain rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn import dynamics
from predyn.dynamics.chain_rule import Chain
from predyn.dynamics.expansion import A, B, C
from predyn.kernels.forces import ExternalForce
from predyn.model import Model

if TYPE_CHECKING:
    from predyn.dynamics.kinematics import FrameMotion

Forces = Sequence[ExternalForce]
State = ArrayLike | None


def frame_kinematics(
    model: Model, frame: str, q: ArrayLike, v: State, a: State, point: ArrayLike, out: Any
) -> FrameMotion:
    chain = Chain(model, q, v, a)
    return dynamics.frame_kinematics(chain.tree, frame, *chain.motion, point=point, out=out)


def frame_kinematics_derivatives(
    model: Model, frame: str, q: ArrayLike, v: State, a: State, point: ArrayLike, out: Any
) -> tuple[NDArray, ...]:
    chain = Chain(model, q, v, a)
    J, velocity_q, acceleration_q, acceleration_v = dynamics.frame_kinematics_derivatives(
        chain.tree, frame, *chain.motion, point=point
    )
    return chain.give(
        out,
        chain.columns((J, A)),
        chain.columns((velocity_q, A), (J, B)),
        chain.columns((acceleration_q, A), (acceleration_v, B), (J, C)),
        chain.columns((acceleration_v, A), (2.0 * J, B)),
    )


def frame_kinematics_hessian(
    model: Model,
    frame: str,
    states: Sequence[ArrayLike],
    weights: FrameMotion,
    point: ArrayLike,
    out: Any,
) -> tuple[NDArray, ...]:
    """Blocks qq, qv, vv, qa."""
    chain = Chain(model, *states)
    blocks = dynamics.frame_kinematics_hessian(
        chain.tree, frame, *chain.motion, weights, point=point
    )[:4]
    R = dynamics.frame_kinematics(chain.tree, frame, *chain.motion, point=point).R
    J, velocity_q, acceleration_q, acceleration_v = dynamics.frame_kinematics_derivatives(
        chain.tree, frame, *chain.motion, point=point
    )
    w_R, w_p, *rest = (np.asarray(x, float) for x in weights)
    moment = np.cross(R, w_R, axisa=-2, axisb=-2).sum(axis=-2)  # of each column
    pose, velocity, acceleration = (
        np.concatenate(np.broadcast_arrays(x, y), axis=-1)
        for x, y in ((moment, w_p), rest[:2], rest[2:])
    )

    def along(x: NDArray, y: NDArray) -> NDArray:
        return np.einsum("...x,...xj->...j", x, y)

    gradient = (
        along(pose, J) + along(velocity, velocity_q) + along(acceleration, acceleration_q),
        along(velocity, J) + along(acceleration, acceleration_v),
        along(acceleration, J),
    )
    return chain.give(out, *chain.second(blocks, gradient))


def spatial_momentum_derivatives(
    model: Model, q: ArrayLike, v: State, a: State, out: Any
) -> tuple[NDArray, ...]:
    chain = Chain(model, q, v, a)
    tree = dynamics.spatial_momentum_derivatives(chain.tree, *chain.motion)
    return chain.give(
        out,
        chain.columns((tree.com_q, A)),
        chain.columns((tree.velocity_q, A), (tree.com_q, B)),
        chain.columns((tree.acceleration_q, A), (tree.acceleration_v, B), (tree.com_q, C)),
        chain.columns((tree.acceleration_v, A), (2.0 * tree.com_q, B)),
        chain.columns((tree.L_q, A), (tree.L_v, B)),
        chain.columns((tree.L_v, A)),
        chain.columns((tree.rate_q, A), (tree.rate_v, B), (tree.L_v, C)),
        chain.columns((tree.rate_v, A), (2.0 * tree.L_v, B)),
    )


def joint_reactions_derivatives(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, forces: Forces, out: Any
) -> tuple[NDArray, ...]:
    chain = Chain(model, q, v, a)
    wrench, *tree = dynamics.joint_reactions_derivatives(chain.tree, *chain.motion, forces=forces)
    links = len(model.parent)
    flat = [x.reshape(*x.shape[:-3], 6 * links, links) for x in tree]
    parts = chain.first(*flat)
    return chain.give(out, wrench, *(x.reshape(*x.shape[:-2], links, 6, model.n) for x in parts))


def joint_reactions_hessian(
    model: Model,
    states: Sequence[ArrayLike],
    weights: ArrayLike,
    forces: Forces,
    out: Any,
) -> tuple[tuple[NDArray, ...], tuple[NDArray, ...]]:
    """Blocks qq, qv, vv, qa; and q with each force."""
    chain = Chain(model, *states)
    tree = dynamics.joint_reactions_hessian(chain.tree, *chain.motion, weights, forces=forces)
    found = dynamics.joint_reactions_derivatives(chain.tree, *chain.motion, forces=forces)
    w = np.asarray(weights, float)
    by_q, by_v, by_a = (np.einsum("...jx,...jxi->...i", w, x) for x in found[1:])
    blocks = chain.give(out, *chain.second(tree[:4], (by_q, by_v, by_a)))
    return blocks, tuple(chain.rows(x) for x in tree.qf)
