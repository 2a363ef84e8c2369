"""Terms as CasADi expressions, written independently from their documentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline

from oracles.casadi_oracle import Expression, frame_expression, link_frame_expression
from predyn.dynamics import ExternalForce
from predyn.model import Model
from predyn.problem import Constraint

ROUNDING = 1e-15  # a direction cosine below it was meant to be zero: operations are left out
FRAME = ("R", "p", "w", "v", "alpha", "a")


class Symbols:
    """What a residual may be made of at one instant."""

    def __init__(self, model: Model, forces: Sequence[ExternalForce] = ()) -> None:
        self.model = replace(model, R=np.where(np.abs(model.R) < ROUNDING, 0.0, model.R))
        self._take(link_frame_expression(self.model, forces), forces)

    def _take(self, e: Expression, forces: Sequence[ExternalForce]) -> None:
        self.forces = forces
        loads = [np.concatenate((f.moment, f.force)) for f in forces]
        acting = ca.SX(ca.DM(np.concatenate(loads))) if loads else ca.SX(0, 1)
        self.q, self.v, self.a = e.q, e.v, e.a
        self.jerk, self.t = ca.SX.sym("jerk", self.model.n), ca.SX.sym("t")
        self.tau, self.wrench = ca.substitute([e.tau, e.wrench], [e.loads], [acting])
        self.inputs = [self.q, self.v, self.a, self.jerk, self.t]

    def again(self) -> Symbols:
        """The same at another instant."""
        return type(self)(self.model, self.forces)

    def joints(self, names: Sequence[str] | None) -> list[int]:
        """Numbers of joints; None means all."""
        every = list(self.model.joint_names)
        return list(range(len(every))) if names is None else [every.index(x) for x in names]

    def reaction(self, joint: str) -> ca.SX:
        """The wrench that the link receives through its joint."""
        (k,) = self.joints([joint])
        return self.wrench[6 * k : 6 * k + 6]

    def frame(self, name: str) -> dict[str, ca.SX]:
        """R (3, 3), p, w, v, alpha, a of a frame's origin."""
        q, v, a, parts = frame_expression(self.model, name, (0.0, 0.0, 0.0))
        found = ca.substitute(parts, [q, v, a], [self.q, self.v, self.a])
        return dict(zip(FRAME, found, strict=True))


Residuals = tuple[list[str], ca.SX]  # name and value of each row


def loss_of(loss: str, term: Any, r: ca.SX) -> ca.SX:
    """Sum over the rows; the smooth |r| is rounded off within the term's width."""
    width = getattr(term, "width", 1e-3)
    forms: dict[str, Callable[[ca.SX], ca.SX]] = {
        "linear": lambda r: r,
        "square": lambda r: r * r,
        "abs": lambda r: ca.sqrt(r * r + width**2) - width,
    }
    return ca.sum1(forms[loss](r))


def bounds_of(constraint: Constraint, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bound of each row; without any, what the term stands for."""
    low, high = constraint.lower, constraint.upper
    term = constraint.term
    if low is None and high is None:
        low, high = np.zeros(rows), np.zeros(rows)
        if term.kind == "torque_speed":
            low, high = -np.ones(rows), np.ones(rows)
        elif term.kind == "frame_pose" or getattr(term, "form", None) == "equal":
            low[-1], high[-1] = -np.inf, 1.0  # 1 - cos: at most a quarter turn
        elif getattr(term, "tolerance", None) is not None:
            low[-1], high[-1] = -np.inf, 2 * np.sin(term.tolerance / 2) ** 2
    low = -np.inf if low is None else low
    high = np.inf if high is None else high
    return np.broadcast_to(low, rows), np.broadcast_to(high, rows)


def residual(term: Any, symbols: Symbols) -> Residuals:
    """Of a term, by its kind."""
    return RESIDUALS[term.kind](term, symbols)


def _time(term: Any, s: Symbols) -> Residuals:
    return ["time"], ca.SX(1)


def _limit(s: Symbols, joints: list[int]) -> np.ndarray:
    return np.abs(s.model.limits.effort[joints]).max(axis=1)


def _effort(term: Any, s: Symbols) -> Residuals:
    joints = s.joints(term.joints)
    per = 1.0 if term.per is None else np.asarray(term.per, float)
    if term.normalised:
        per = _limit(s, joints)
    weights = np.asarray(term.weights, float)
    factors = (np.sqrt(weights) if term.form == "square" else weights) / per
    return _named(s, joints), ca.DM(np.broadcast_to(factors, len(joints))) * s.tau[joints]


def _momentum(term: Any, s: Symbols) -> Residuals:
    """The slope of the kinetic energy in v: torques for accelerations v at rest, weightless."""
    free = {"stiffness": np.zeros(s.model.n), "ligaments": None}
    still = replace(s.model, gravity=np.zeros(3), **free)
    e = link_frame_expression(still)
    rest = ca.SX.zeros(s.model.n)
    (p,) = ca.substitute([e.tau], [e.q, e.v, e.a], [s.q, rest, s.v])
    return list(s.model.joint_names), p


def _joint(channel: str) -> Callable[[Any, Symbols], Residuals]:
    def of(term: Any, s: Symbols) -> Residuals:
        joints = s.joints(term.joints)
        target = ca.DM(np.broadcast_to(np.asarray(term.target, float), len(joints)))
        return _named(s, joints), getattr(s, channel)[joints] - target

    return of


def _joint_sum(term: Any, s: Symbols) -> Residuals:
    parts = [factor * s.q[s.joints([name])[0]] for name, factor in term.factors.items()]
    return [term.name], sum(parts) - term.target


def _named(s: Symbols, joints: list[int]) -> list[str]:
    return [s.model.joint_names[j] for j in joints]


def _energy(term: Any, s: Symbols) -> Residuals:
    joints = s.joints(term.joints)
    power = s.tau[joints] * s.v[joints]
    if term.form == "positive":
        power = (power + ca.sqrt(power**2 + term.width**2) - term.width) / 2
    return _named(s, joints), power


def _electrical_energy(term: Any, s: Symbols) -> Residuals:
    joints = s.joints(term.joints)
    tau, power = s.tau[joints], s.tau[joints] * s.v[joints]
    driving = 1.0 / np.broadcast_to(np.asarray(term.efficiency, float), len(joints))
    braking = np.asarray(term.regeneration, float) / driving
    loss = term.copper_loss
    if term.resistance is not None:
        gear = np.asarray(1.0 if term.gear is None else term.gear, float)
        loss = np.asarray(term.resistance, float) / (np.asarray(term.torque_constant) * gear) ** 2
    loss = np.broadcast_to(np.asarray(loss, float), len(joints))
    root = ca.sqrt(power**2 + term.width**2) - term.width
    up, down = ca.DM(driving), ca.DM(np.broadcast_to(braking, len(joints)))
    used = up * (power + root) / 2 + down * (power - root) / 2
    return _named(s, joints), used + ca.DM(loss) * tau**2


def _torque_speed(term: Any, s: Symbols) -> Residuals:
    joints = s.joints(term.joints)
    effort = _limit(s, joints) if term.effort is None else np.asarray(term.effort, float)
    effort, speed = (np.broadcast_to(x, len(joints)) for x in (effort, term.speed))
    return _named(s, joints), s.tau[joints] / ca.DM(effort) + s.v[joints] / ca.DM(speed)


def _minus(name: str, letter: str, x: ca.SX, target: Any) -> Residuals:
    """x - target along the axes that have a target."""
    given = np.array((None,) * 3 if target is None else target, dtype=float)
    kept = np.flatnonzero(~np.isnan(given)).tolist()
    return [f"{name} {letter}{'xyz'[k]}" for k in kept], x[kept] - ca.DM(given[kept])


def _frame_distance(term: Any, s: Symbols) -> Residuals:
    one, other = (s.frame(name)["p"] for name in (term.frame, term.other))
    return [f"{term.frame} to {term.other}"], ca.norm_2(one - other)


def _swing_together(term: Any, s: Symbols) -> Residuals:
    u = np.eye(3)["xyz".index(term.axis)] if isinstance(term.axis, str) else np.array(term.axis)
    u = ca.DM(u / np.linalg.norm(u))
    reach = [
        ca.dot(u, s.frame(end)["p"] - s.frame(top)["p"]) for top, end in (term.first, term.second)
    ]
    return [f"{term.first[1]} with {term.second[1]}"], reach[0] * reach[1]


def _height_above_steps(term: Any, s: Symbols) -> Residuals:
    p = s.frame(term.frame)["p"]
    x, z = p[0], p[2]
    ground, before = term.height, term.height
    for at, height in term.steps:
        begin = at - term.ramp if height > before else at
        u = (x - begin) / term.ramp
        ramp = ca.if_else(u <= 0.0, 0.0, ca.if_else(u >= 1.0, 1.0, u**3 * (10 - 15 * u + 6 * u**2)))
        ground, before = ground + (height - before) * ramp, height
    return [f"{term.frame} height"], z - ground


def _frame_position(term: Any, s: Symbols) -> Residuals:
    return _minus(term.frame, "", s.frame(term.frame)["p"], term.target)


def _frame_velocity(term: Any, s: Symbols) -> Residuals:
    frame = s.frame(term.frame)
    names, v = _minus(term.frame, "v", frame["v"], term.linear)
    more, w = _minus(term.frame, "w", frame["w"], term.angular)
    return names + more, ca.vertcat(v, w)


def _turned(name: str, R: ca.SX, target: Any) -> Residuals:
    """sin(angle) axis and 1 - cos(angle) of the turn from the target, in target axes."""
    wanted = np.asarray(target, float)
    if wanted.shape == (3,):
        roll, pitch, yaw = wanted
        wanted = _about(2, yaw) @ _about(1, pitch) @ _about(0, roll)
    E = ca.DM(wanted).T @ R
    sine = ca.vertcat(E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]) / 2
    names = [f"{name} {part}" for part in ("turn x", "turn y", "turn z", "1-cos")]
    return names, ca.vertcat(sine, (3 - ca.trace(E)) / 2)


def _about(axis: int, angle: float) -> np.ndarray:
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = np.cos(angle)
    R[j, i], R[i, j] = np.sin(angle), -np.sin(angle)
    return R


def _frame_orientation(term: Any, s: Symbols) -> Residuals:
    names, r = _turned(term.frame, s.frame(term.frame)["R"], term.target)
    return (names, r) if term.form == "equal" else (names[3:], r[3])


def _frame_pose(term: Any, s: Symbols) -> Residuals:
    frame = s.frame(term.frame)
    names, p = _minus(term.frame, "", frame["p"], term.position)
    more, r = _turned(term.frame, frame["R"], term.orientation)
    return names + more, ca.vertcat(p, r)


def _frame_axis(term: Any, s: Symbols) -> Residuals:
    axis = s.frame(term.frame)["R"][:, "xyz".index(term.axis)]
    if isinstance(term.direction, str):
        along = np.eye(3)["xyz".index(term.direction)]
    else:
        along = np.asarray(term.direction, float) / np.linalg.norm(term.direction)
    side = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    side /= np.linalg.norm(side)
    directions = ca.DM(np.stack((side, np.cross(along, side), along)))
    x = directions @ axis
    names = [f"{term.frame} {term.axis} {part}" for part in ("side1", "side2", "1-cos")]
    r = ca.vertcat(x[0], x[1], 1 - x[2])
    return (names, r) if term.form == "equal" else (names[2:], r[2])


def _smoothness(term: Any, s: Symbols) -> Residuals:
    joints = s.joints(term.joints)
    per = np.broadcast_to(1.0 if term.per is None else np.asarray(term.per, float), len(joints))
    x = {"acceleration": s.a, "jerk": s.jerk}[term.order]
    return _named(s, joints), x[joints] / ca.DM(per)


WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")


def _reaction(term: Any, s: Symbols) -> Residuals:
    parts = {"moment": [0, 1, 2], "force": [3, 4, 5], "wrench": list(range(6))}
    chosen = parts[term.part] if term.part in parts else [WRENCH.index(term.part)]
    x = s.reaction(term.joint)[chosen]
    if term.form == "magnitude":
        return [f"{term.joint} {term.part}"], ca.sqrt(ca.sumsqr(x) + term.width**2)
    return [f"{term.joint} {WRENCH[k]}" for k in chosen], x


def _through(times: Any, values: Any, t: ca.SX) -> ca.SX:
    """The C2 cubic spline, not a knot next to the ends: the first piece, and the jumps of the
    third derivative as truncated powers."""
    spline = CubicSpline(np.asarray(times, float), np.asarray(values, float), bc_type="not-a-knot")
    x = t - float(spline.x[0])
    y = sum(ca.DM(c) * x**k for k, c in enumerate(spline.c[::-1, 0]))
    for at, jump in zip(spline.x[1:-1], np.diff(spline.c[0], axis=0), strict=True):
        y += ca.DM(jump) * ca.fmax(t - float(at), 0) ** 3
    return y


def _track_joints(term: Any, s: Symbols) -> Residuals:
    joints = s.joints(term.joints)
    return _named(s, joints), s.q[joints] - _through(term.times, term.values, s.t)


def _track_point(term: Any, s: Symbols) -> Residuals:
    p = s.frame(term.frame)["p"][["xyz".index(axis) for axis in term.axes]]
    names = [f"{term.frame} {axis}" for axis in term.axes]
    return names, p - _through(term.times, term.values, s.t)


RESIDUALS: dict[str, Callable[[Any, Symbols], Residuals]] = {
    "momentum": _momentum,
    "time": _time,
    "effort": _effort,
    "position": _joint("q"),
    "joint_sum": _joint_sum,
    "velocity": _joint("v"),
    "acceleration": _joint("a"),
    "jerk": _joint("jerk"),
    "torque": _joint("tau"),
    "energy": _energy,
    "electrical_energy": _electrical_energy,
    "torque_speed": _torque_speed,
    "frame_position": _frame_position,
    "height_above_steps": _height_above_steps,
    "frame_distance": _frame_distance,
    "swing_together": _swing_together,
    "frame_velocity": _frame_velocity,
    "frame_orientation": _frame_orientation,
    "frame_pose": _frame_pose,
    "frame_axis": _frame_axis,
    "smoothness": _smoothness,
    "reaction": _reaction,
    "track_joints": _track_joints,
    "track_point": _track_point,
}
