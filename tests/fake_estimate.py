"""Small valid estimates without estimating: a two-link arm whose torques are known."""

import numpy as np

import predyn
from predyn.dynamics.kinematics import frame_kinematics
from predyn.estimate.result import Channel, Estimate, Filtered, OrderTrial
from predyn.model import Model
from predyn.published.lcurve import LCurve
from predyn.recordings.measurements import MeasuredForce, Measurements

STEP, INTERVALS = 0.02, 60
ANGLE_SD, MARKER_SD = 0.01, 0.002
WARNING = "the noise of joint1 is coloured: neighbouring residuals agree"


def fake_estimate(status: str = "converged", model: Model | None = None, seed: int = 3) -> Estimate:
    """A smooth motion, seen by noisy angles and, of the two-link arm, by a marker with gaps."""
    arm = model is None
    model = predyn.models.two_link() if model is None else model
    random = np.random.default_rng(seed)
    n, t = model.n, STEP * np.arange(INTERVALS + 1)
    speed = 1.0 + 0.3 * np.arange(n)
    q, v = np.sin(t[:, None] * speed), speed * np.cos(t[:, None] * speed)
    middle = t[:-1] + 0.5 * STEP
    a = np.diff(v, axis=0) / STEP
    tau = predyn.inverse_dynamics(
        model, np.sin(middle[:, None] * speed), speed * np.cos(middle[:, None] * speed), a
    )
    noisy = q + ANGLE_SD * random.standard_normal(q.shape)
    angles = dict(zip(model.joint_names, noisy.T.copy(), strict=True))
    channels = [
        Channel(name, "angle", "rad", t, noisy[:, j], q[:, j], ANGLE_SD, True)
        for j, name in enumerate(model.joint_names)
    ]
    markers, forces = {}, {}
    if arm:
        fitted = frame_kinematics(model, "tip", q).p
        seen = fitted + MARKER_SD * random.standard_normal(fitted.shape)
        seen[10:15], seen[:, 2] = np.nan, np.nan
        markers["tip"] = seen
        for k, axis in enumerate("xy"):
            there = np.isfinite(seen[:, k])
            channels.append(
                Channel(f"tip.{axis}", "marker", "m", t[there], seen[there, k], fitted[there, k],
                        MARKER_SD, False)
            )  # fmt: skip
        plate = np.array([0.0, 0.5 * t[-1], t[-1]])
        forces["plate"] = MeasuredForce(plate, np.ones((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)))
    weights = 10.0 ** np.linspace(-8.0, 2.0, 11)
    size = np.abs(tau).max(axis=0)
    return Estimate(
        name="arm-trial" if arm else model.name,
        model=model,
        measurements=Measurements(t, angles, markers, forces, "trial.csv", ("angles in degrees",)),
        status=status,
        message="" if status == "converged" else "the data do not tell the torque of joint2",
        t=t,
        q=q,
        v=v,
        q_sd=np.full_like(q, 0.003),
        v_sd=np.full_like(v, 0.05),
        t_tau=middle,
        a=a,
        tau=tau,
        tau_sd=np.broadcast_to(0.05 * size, tau.shape).copy(),
        grid_error=np.full_like(tau, 1e-3),
        channels=tuple(channels),
        order=1,
        total_variation=False,
        independent="joints",
        weights=0.1 * size,
        orders=(
            OrderTrial(0, "joints", -812.25, size, False),
            OrderTrial(1, "joints", -640.5, 0.1 * size, True),
            OrderTrial(2, "links", -655.0, 0.01 * size, False),
        ),
        lcurve=LCurve(weights, 1e-4 + weights / (1.0 + weights), 10.0 / (1.0 + 1e4 * weights), 5),
        comparison=Filtered(6.0, t, q, v, np.gradient(v, STEP, axis=0), np.vstack((tau, tau[-1:]))),
        unactuated=(),
        force_links={"plate": model.link_names[-1]} if arm else {},
        warnings=(WARNING,) if arm else (),
        iterations=7,
        solve_seconds=0.123,
    )
