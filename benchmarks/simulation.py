"""RK4 simulation beside MuJoCo's: a 6-joint arm, 256 trajectories, 1000 steps of 1 ms, one thread.

The peer is `mujoco.rollout` with its RK4 integrator and one MjData, so one thread. Contacts and
all other constraints are off (mjDSBL_CONSTRAINT), as are its actuators, sensors, warm starts and
checks of the arguments; the model has no shapes. What it cannot be spared: poses of all bodies
and their inertial frames, and the sparse factorisation of its mass matrix, with which it computes
accelerations. Both keep every state; held torques go in as generalized forces. Its output array
is allocated once and reused, ours is new at every call.
"""

from __future__ import annotations

from functools import partial

import mujoco
import numpy as np
from mujoco import rollout
from timing import medians

import predyn
from oracles.mujoco_oracle import mujoco_model

BATCH, STEPS, STEP = 256, 1000, 1e-3
NOT_NEEDED = ("CONSTRAINT", "CONTACT", "LIMIT", "EQUALITY", "FRICTIONLOSS", "ACTUATION", "SENSOR",
              "WARMSTART", "AUTORESET", "ISLAND")  # fmt: skip


def against_mujoco(repeats: int) -> list[dict]:
    """Microseconds of a step of one trajectory, and how far the last states are apart."""
    rows = []
    for n in (2, 6, 12):
        model = predyn.models.random_tree(n, 1, depth_like=1.0, kinds=("revolute",))
        model = model.with_gravity((0.0, 0.0, -9.81))
        q, v, tau = np.random.default_rng(0).standard_normal((3, BATCH, n))
        t = STEP * np.arange(STEPS + 1)
        peer, data, start, kept = _peer(model, q, v)
        forces = tau[:, None]  # (batch, one for all steps, n)
        spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        rivals = {
            "predyn": partial(predyn.simulate, model, q, v, tau, t, method="rk4"),
            "mujoco": partial(
                rollout.rollout, [peer] * BATCH, [data], start, np.repeat(forces, STEPS, axis=1),
                control_spec=spec, skip_checks=True, nstep=STEPS, state=kept,
                sensordata=np.empty((BATCH, STEPS, 0)),
            ),
        }  # fmt: skip
        times = medians(rivals, max(3, repeats // 5))
        us = {key: 1e6 * value / (BATCH * STEPS) for key, value in times.items()}
        run = rivals["predyn"]()
        apart = np.abs(np.hstack((run.q[:, -1], run.v[:, -1])) - kept[:, -1, 1 : 2 * n + 1])
        rows.append(
            {
                "joints": n,
                "predyn": us["predyn"],
                "mujoco": us["mujoco"],
                "ratio": us["mujoco"] / us["predyn"],
                "largest difference at the end": float(apart.max()),
            }
        )
    return rows


def _peer(
    model: predyn.Model, q: np.ndarray, v: np.ndarray
) -> tuple[mujoco.MjModel, mujoco.MjData, np.ndarray, np.ndarray]:
    peer = mujoco_model(model)
    peer.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    peer.opt.timestep = STEP
    for name in NOT_NEEDED:
        peer.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    size = mujoco.mj_stateSize(peer, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((BATCH, size))  # time, positions, velocities
    start[:, 1 : model.n + 1], start[:, model.n + 1 :] = q, v
    return peer, mujoco.MjData(peer), start, np.empty((BATCH, STEPS, size))
