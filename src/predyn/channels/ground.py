"""Channels `ground:FOOT`: torques if one foot alone carries the ground force, by two steps.

Step 1 gives the resultant W of all forces that move the mechanism (dynamics/resultant.py), a
wrench about the world origin; step 2 applies it to the foot. With S_j the axis of joint j,

    torque of joint j = tau_j - S_j . W            if j is between the base and the foot
    shift of joint j  = S_j . (e x F, 0)           e = x, y: how that changes by 1 m, see below

and tau_j for the other joints. The last components are W. If the ground force is shared, or acts
elsewhere than at the zero-moment point, the torques are sums of these (terms/ground.py): a wrench
that is moved by D changes by (D x F, 0).

Second partials. h = weights . value is c . tau + T(q) . W(q, v, a). For T fixed, T . W is a sum of
torques of the base joints, b . tau, because their axes span all motions; so only these torques and
products of first partials are needed:

    d2 h = d2 ((c + b) . tau) + sum_m d2 U_m . (K_m W) + dU_m (K_m dW) + (K_m dW) dU_m

where U_m are sums of axes with constant factors (that for K = 1 includes -b), dU_m/dq_k is
S_k x (the part of the sum below joint k), and K_m W is W or (e x F, 0).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.channels.derived import Derived, Floats, States, scratch, sweep
from predyn.channels.torques import Torques
from predyn.dynamics.ground_chain import (
    GROUND_AXES,
    GROUND_BENDS,
    GROUND_PARTIALS,
    GROUND_VALUE,
    Site,
)
from predyn.dynamics.kinematics import (
    FRAME_DERIVATIVES,
    FRAME_MOTION,
    frame_kinematics,
    frame_kinematics_derivatives,
    target_of,
)
from predyn.dynamics.resultant import RESULTANT, RESULTANT_DERIVATIVES, resultant_wrench
from predyn.dynamics.rnea import inverse_dynamics
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.forces import ExternalForce, UnknownForce
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import placed_tree_of, weightless_tree_of
from predyn.model import Model
from predyn.model.floating_base import carrying_joints, require_free_base

PER_JOINT = False  # not all components are forces of the joints


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, components) for q, v, a (instants, n), by a second pass of inverse dynamics."""
    q, v, a = states
    wrench = resultant_wrench(model, q, v, a, forces=forces)
    force = wrench[:, 3:]
    p = frame_kinematics(model, member, q).p
    ground = ExternalForce(member, force, wrench[:, :3] - np.cross(p, force))
    tau = inverse_dynamics(model, q, v, a, forces=[*forces, ground])
    own = carrying_joints(model, member)
    turn = frame_kinematics_derivatives(model, member, q).jacobian[:, :3, own]
    shifts = [np.einsum("bin,bi->bn", turn, np.cross(e, force)) for e in np.eye(3)[:2]]
    tau[:, require_free_base(model)] = 0.0
    return np.concatenate([tau, *shifts, wrench], axis=1)


def in_lanes(
    model: Model, member: str, states: States, forces: Sequence[ExternalForce]
) -> GroundTorques:
    """The channel in lanes, for a program."""
    return GroundTorques(model, member, states, forces)


class GroundTorques(Derived):
    """Components: n torques, shifts in x of the joints that carry the foot, those in y, W."""

    def __init__(
        self, model: Model, foot: str, states: States, forces: Sequence[ExternalForce]
    ) -> None:
        if any(isinstance(force, UnknownForce) for force in forces):
            raise InputError(f"channel 'ground:{foot}': external forces must not be signals")
        base, own = require_free_base(model), carrying_joints(model, foot)
        if len(base) != 6:
            raise InputError(
                f"channel 'ground:{foot}': expected a base of six joints, got {len(base)}"
            )
        n, chunks = model.n, len(states[0])
        self._n, self._base, self._own = n, base, np.array(own, np.int64)
        self._torques = Torques(model, states, forces)
        size = n + 2 * len(own) + 6
        count = n * (n + 1) // 2
        self.value, self.weights = (aligned(chunks, size, WIDTH) for _ in range(2))
        self.dq, self.dv, self.da = (aligned(chunks, size * n, WIDTH) for _ in range(3))
        self.curvature = tuple(aligned(chunks, k * count, WIDTH) for k in (1, 2, 1, 2))
        self.pairs = np.stack(np.tril_indices(n), axis=1).astype(np.int64)
        self.depends = [
            [] if x in base else [(j, x * n + j, x * n + j, x * n + j) for j in range(n)]
            for x in range(size)
        ]
        self._bind(model, foot, states)

    def _bind(self, model: Model, foot: str, states: States) -> None:
        """Fix the arrays that the kernels read and write."""
        inner, chunks = self._torques, len(states[0])
        placed, moving = placed_tree_of(model), weightless_tree_of(model)
        wrench = self._wrench = scratch(RESULTANT_DERIVATIVES, placed, chunks)
        motion = scratch(FRAME_MOTION, moving, chunks)
        slopes = scratch(FRAME_DERIVATIVES, moving, chunks)
        chain = np.concatenate([self._base, self._own])
        self._axes = aligned(chunks, 6 * len(chain), WIDTH)
        self._factors = aligned(chunks, 3 * len(chain), WIDTH)
        target, site = (
            target_of(model, foot, (0.0, 0.0, 0.0)),
            Site(chain, np.array([len(self._base)]), inner.pairs),
        )
        ins = (*states, inner.load_values)
        self._sum = sweep(RESULTANT, placed, inner.loads, ins, (wrench[0],))
        self._derive_sum = sweep(RESULTANT_DERIVATIVES, placed, inner.loads, ins, wrench)
        self._place = (
            sweep(FRAME_MOTION, moving, target, states, motion),
            sweep(FRAME_DERIVATIVES, moving, target, states, slopes),
            sweep(GROUND_AXES, moving, site, (motion[1], slopes[0]), (self._axes,)),
        )
        taken = (inner.value, wrench[0], self._axes)
        self._fill = sweep(GROUND_VALUE, moving, site, taken, (self.value,))
        given = (inner.dq, inner.dv, inner.da, *wrench, self._axes)
        self._chain = sweep(GROUND_PARTIALS, moving, site, given, (self.dq, self.dv, self.da))
        bent = (*inner.curvature, *wrench, self._axes, self._factors)
        self._bend = sweep(GROUND_BENDS, moving, site, bent, self.curvature)

    def evaluate(self) -> None:
        self._torques.evaluate()
        self._sum.run()
        for step in (*self._place, self._fill):
            step.run()

    def derive(self) -> None:
        self._torques.derive()
        self._derive_sum.run()
        for step in (*self._place, self._fill, self._chain):
            step.run()

    def curve(self) -> None:
        """Needs the partials of the last derive()."""
        n, k, w, inner = self._n, len(self._own), self.weights, self._torques
        factors = self._factors.reshape(len(w), -1, 3, WIDTH)
        factors[:, 6:, 0] = -w[:, self._own]
        factors[:, 6:, 1], factors[:, 6:, 2] = w[:, n : n + k], w[:, n + k : n + 2 * k]
        factors[:, :6] = 0.0
        S = self._axes.reshape(len(w), -1, 6, WIDTH)
        U = np.einsum("ckmb,ckib->cmib", factors[:, 6:], S[:, 6:])
        # T = W's own weights + U_0 + (0, w_x x e_x) + (0, w_y x e_y)
        T = w[:, -6:] + U[:, 0]
        T[:, 3] -= U[:, 2, 2]
        T[:, 4] += U[:, 1, 2]
        T[:, 5] += U[:, 2, 0] - U[:, 1, 1]
        spans = S[:, :6].transpose(0, 3, 2, 1)  # (chunks, WIDTH, components, base joints)
        through = np.linalg.solve(spans, T.transpose(0, 2, 1)[..., None])[..., 0]
        base = through.transpose(0, 2, 1)
        factors[:, :6, 0] = -base
        inner.weights[:] = w[:, :n]
        inner.weights[:, self._base] = base
        inner.curve()
        self._bend.run()
