"""Every derivative function of predyn.dynamics and what it is the derivative of.

A new function is tested by being registered here: dynamics/test_derivatives.py goes through all
entries, and fails if a public function is missing. An entry has the partials that the function
gives, and a value function of the inputs that it differentiates. The value function is either
COMPLEX  the kernel's own source on complex numbers: Im f(x + ih)/h is exact to rounding;
CENTRAL  any function, by central differences;
LINEAR   any function that is linear in x: a difference over a step of one is exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from predyn import dynamics
from predyn.dynamics.aba import ABA
from predyn.dynamics.actuation import view_with_mask
from predyn.dynamics.discrete import DISCRETE
from predyn.dynamics.discrete_derivatives import DISCRETE_DERIVATIVES
from predyn.dynamics.hybrid import HYBRID, HYBRID_PARTITIONED
from predyn.dynamics.kinematics import FRAME_DERIVATIVES, FRAME_MOTION, FrameMotion, target_of
from predyn.dynamics.lagrangian import ENERGY_GRADIENTS
from predyn.dynamics.lagrangian_derivatives import ENERGY_GRADIENTS_DERIVATIVES
from predyn.dynamics.momentum import CENTROIDAL_MOTION
from predyn.dynamics.reactions import REACTIONS, REACTIONS_DERIVATIVES
from predyn.dynamics.resultant import RESULTANT
from predyn.dynamics.rnea import RNEA
from predyn.dynamics.rnea_derivatives import RNEA_DERIVATIVES
from predyn.dynamics.rnea_hessian import Hessian
from predyn.kernels.batch import Kernel
from predyn.kernels.forces import NO_LOADS
from predyn.published.lagrangian_dh import LAGRANGIAN, POINT
from predyn.published.newton_euler_dh import INTERNAL_FORCES_DH, NEWTON_EULER_DH
from registry_cases import (
    BATCH,
    PAYLOAD_POINTS,
    Case,
    Inputs,
    coupled_cases,
    coupled_hybrid_cases,
    cross_matrix,
    dh_cases,
    dh_point_cases,
    discrete_cases,
    frame_cases,
    hybrid_cases,
    length_cases,
    loaded_cases,
    payload_cases,
    placement_cases,
    table_cases,
    tree_cases,
    two_step_cases,
    uncoupled_cases,
)

COMPLEX, CENTRAL, LINEAR = "complex", "central", "linear"
LANES = "lanes"


@dataclass(frozen=True)
class Entry:
    """`partials` gives (B, m, k) for each input that it names, `value` what they belong to, (B, m);
    if the derivative function returns the value as well, that is given as "value".

    `condition` is the factor (B,) by which the problem itself multiplies relative rounding errors.
    """

    name: str
    cases: Callable[[], Sequence[Case]]
    value: Callable[[Case, Inputs], np.ndarray]
    partials: Callable[[Case], Inputs]
    step: str = COMPLEX
    condition: Callable[[Case], Any] = lambda case: 1.0


# -- parts of value functions -------------------------------------------------------------------


def outputs(
    kernel: Kernel,
    case: Case,
    x: Inputs,
    names: Sequence[str] = ("q", "v", "a"),
    dtype: Any = np.complex128,
) -> list[np.ndarray]:
    """Dense outputs (B, ...) of a kernel's source, run on plain numbers of a type or on LANES."""
    model, site = case.model, case.options
    view = view_with_mask(model, site["active"]) if "active" in site else kernel.view(model)
    loads: Any = NO_LOADS
    if "frame" in site:
        loads = target_of(model, **site)
    elif kernel.forces:
        place = (site["link"], site["point"]) if "point" in site else case.forces()
        loads, _ = kernel.pack(model, view, place)
    ins = [x[name] for name in names] + ([x["loads"]] if kernel.forces else [])
    fields = kernel.fields(view)
    if dtype is LANES:
        result = [np.full((BATCH, *f.shape), np.nan) for f in fields]
        kernel.run(view, loads, tuple(ins), tuple(x.reshape(BATCH, -1) for x in result))
        return result
    packed = kernel.plain(view, loads, tuple(ins), dtype)
    return [f.unpacked(x).reshape(BATCH, *f.shape) for x, f in zip(packed, fields, strict=True)]


def values(*arrays: np.ndarray) -> np.ndarray:
    """Outputs (B, ...) side by side, (B, m)."""
    return np.concatenate([x.reshape(BATCH, -1) for x in arrays], axis=1)


def partials(*arrays: np.ndarray) -> np.ndarray:
    """Partials (B, ..., k) of outputs side by side, (B, m, k)."""
    return np.concatenate([x.reshape(BATCH, -1, x.shape[-1]) for x in arrays], axis=1)


def kernel_value(kernel: Kernel, *names: str) -> Callable[[Case, Inputs], np.ndarray]:
    return lambda case, x: values(*outputs(kernel, case, x, names or ("q", "v", "a")))


def rebuilt_torques(case: Case, x: Inputs) -> np.ndarray:
    assert case.rebuild is not None
    model = case.rebuild(x["parameters"])
    return dynamics.inverse_dynamics(model, *case.state(), forces=case.forces())


def by_name(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Inputs:
    return {"q": partials(q), "v": partials(v), "a": partials(a)}


def torque_partials(function: Callable) -> Callable[[Case], Inputs]:
    """Of a function that returns tau, dtau_dq, dtau_dv, dtau_da."""

    def of(case: Case) -> Inputs:
        tau, *by_input = function(case.model, *case.state(), forces=case.forces())
        return {"value": tau, **by_name(*by_input)}

    return of


def second_partials(h: Hessian) -> Inputs:
    """Of the gradient in q, v and a, in this order."""
    zero, turned = np.zeros_like(h.qq), (0, 2, 1)
    result = {
        "q": partials(h.qq, h.qv.transpose(turned), h.qa.transpose(turned)),
        "v": partials(h.qv, h.vv, zero),
        "a": partials(h.qa, zero, zero),
    }
    if h.qf:
        qf = np.concatenate(h.qf, axis=-1)
        result["loads"] = partials(qf, np.zeros_like(qf), np.zeros_like(qf))
    return result


# -- inverse and forward dynamics ---------------------------------------------------------------


def torque_gradient(case: Case, x: Inputs) -> np.ndarray:
    w = x["weights"][:, : case.model.n]
    _, *by_input = outputs(RNEA_DERIVATIVES, case, x)
    return values(*(np.einsum("bi,bij->bj", w, part) for part in by_input))


def torque_hessian(case: Case) -> Inputs:
    w = case.x["weights"][:, : case.model.n]
    return second_partials(
        dynamics.inverse_dynamics_hessian(case.model, *case.state(), w, forces=case.forces())
    )


def force_partials(case: Case) -> Inputs:
    parts = dynamics.inverse_dynamics_force_derivatives(case.model, case.x["q"], case.forces())
    return {"loads": np.concatenate(parts, axis=-1)}


def acceleration_partials(case: Case) -> Inputs:
    x = case.x
    a, dq, dv, dtau = dynamics.forward_dynamics_derivatives(
        case.model, x["q"], x["v"], x["tau"], forces=case.forces()
    )
    return {"value": a, "q": dq, "v": dv, "tau": dtau}


def accelerations(case: Case, x: Inputs) -> np.ndarray:
    forces = case.forces(x)
    return dynamics.forward_dynamics(case.model, x["q"], x["v"], x["tau"], forces=forces)


def hybrid_partials(function: Callable) -> Callable[[Case], Inputs]:
    """Of a function that returns a, tau, da, dtau."""

    def of(case: Case) -> Inputs:
        names = ("q", "v", "a", "tau")
        state = (case.x[name] for name in names)
        mask = case.options["active"]
        a, tau, da, dtau = function(case.model, *state, mask, forces=case.forces())
        by_input = zip(names, da, dtau, strict=True)
        return {"value": values(a, tau)} | {name: partials(x, y) for name, x, y in by_input}

    return of


def mass_condition(case: Case) -> np.ndarray:
    return np.linalg.cond(dynamics.mass_matrix(case.model, case.x["q"]))


# -- gradients of energies ----------------------------------------------------------------------


def energy_partials(case: Case) -> Inputs:
    q, v, _ = case.state()
    d = dynamics.energy_gradients_derivatives(case.model, q, v, forces=case.forces())
    found = {"q": partials(d.df_dq, d.dp_dq), "v": partials(d.df_dv, d.dp_dv)}
    return {"value": values(d.f, d.p), **found}


def energy_gradient_sum(case: Case, x: Inputs) -> np.ndarray:
    """Gradient of the weighted sum; rotors, which add a constant to it, are left out."""
    w = x["weights"][:, : 2 * case.model.n]
    _, *by_input = outputs(ENERGY_GRADIENTS_DERIVATIVES, case, x, ("q", "v"))
    return values(*(np.einsum("bi,bij->bj", w, part) for part in by_input))


def energy_hessian(case: Case) -> Inputs:
    q, v, _ = case.state()
    w = case.x["weights"][:, : 2 * case.model.n]
    h = dynamics.energy_gradients_hessian(case.model, q, v, w, forces=case.forces())
    return {"q": partials(h.qq, h.qv.transpose(0, 2, 1)), "v": partials(h.qv, h.vv)}


# -- discrete mechanics -------------------------------------------------------------------------

NODES = ("q0", "q1", "q2", "h")


def discrete_outputs(kernel: Kernel, case: Case, x: Inputs) -> list[np.ndarray]:
    """Dense outputs of a kernel on complex numbers, with loads that differ between intervals."""
    view = kernel.view(case.model)
    loads, _ = RNEA.pack(case.model, view, case.forces())
    ins = tuple(x[name] for name in (*NODES, "loads", "loads_after"))
    packed = kernel.plain(view, loads, ins, np.complex128)
    fields = kernel.fields(view)
    dense = [f.unpacked(y).reshape(BATCH, *f.shape) for y, f in zip(packed, fields, strict=True)]
    return [y for y, f in zip(dense, fields, strict=True) if f.size]


def discrete_arguments(case: Case) -> tuple:
    """Nodes and step, and forces with the interval as their first axis."""
    x = case.x
    before, after = case.forces(), case.forces({"loads": x["loads_after"]})
    forces = [
        replace(f, moment=np.stack([f.moment, g.moment]), force=np.stack([f.force, g.force]))
        for f, g in zip(before, after, strict=True)
    ]
    return (case.model, x["q0"], x["q1"], x["q2"], x["h"][:, 0]), {"forces": forces}


def discrete_partials(case: Case) -> Inputs:
    arguments, forces = discrete_arguments(case)
    d = dynamics.discrete_inverse_dynamics_derivatives(*arguments, **forces)
    found = {"q0": d.dq0, "q1": d.dq1, "q2": d.dq2, "h": d.dh[..., None]}
    return {"value": d.tau, **found}


def discrete_gradient(case: Case, x: Inputs) -> np.ndarray:
    """In q0, q1, q2, h; coupled rotors, R (q0 - 2 q1 + q2) / h^2, are not in the kernel's part."""
    w, n = x["weights"][:, : case.model.n], case.model.n
    _, *by_node, by_h = discrete_outputs(DISCRETE_DERIVATIVES, case, x)
    rotor = case.model.rotor if case.model.rotor[~np.eye(n, dtype=bool)].any() else np.zeros((n, n))
    coupled = w @ rotor / x["h"] ** 2
    by_node = [
        np.einsum("bi,bij->bj", w, d) + factor * coupled
        for d, factor in zip(by_node, (1.0, -2.0, 1.0), strict=True)
    ]
    return values(*by_node, np.einsum("bi,bi->b", w, by_h)[:, None])


def discrete_second(case: Case) -> Inputs:
    arguments, forces = discrete_arguments(case)
    w = case.x["weights"][:, : case.model.n]
    d = dynamics.discrete_inverse_dynamics_hessian(*arguments, w, **forces)
    none, turned = np.zeros_like(d.q0q0), (0, 2, 1)
    rows = [x[:, None] for x in (d.q0h, d.q1h, d.q2h)]
    columns = [x[..., None] for x in (d.q0h, d.q1h, d.q2h)]
    return {
        "q0": partials(d.q0q0, d.q0q1.transpose(turned), none, rows[0]),
        "q1": partials(d.q0q1, d.q1q1, d.q1q2.transpose(turned), rows[1]),
        "q2": partials(none, d.q1q2, d.q2q2, rows[2]),
        "h": partials(*columns, d.hh[:, None, None]),
    }


# -- reactions, frames, momentum ----------------------------------------------------------------


def reaction_partials(case: Case) -> Inputs:
    d = dynamics.joint_reactions_derivatives(case.model, *case.state(), forces=case.forces())
    return {"value": values(d.wrench), **by_name(d.dq, d.dv, d.da)}


def reaction_force_partials(case: Case) -> Inputs:
    parts = dynamics.joint_reactions_force_derivatives(case.model, case.x["q"], case.forces())
    return {"loads": partials(np.concatenate(parts, axis=-1))}


def reaction_weights(case: Case, x: Inputs) -> np.ndarray:
    return x["weights"][:, : 6 * case.model.n].reshape(BATCH, -1, 6)


def reaction_gradient(case: Case, x: Inputs) -> np.ndarray:
    w = reaction_weights(case, x)
    _, *by_input = outputs(REACTIONS_DERIVATIVES, case, x)
    return values(*(np.einsum("bir,birj->bj", w, part) for part in by_input))


def reaction_hessian(case: Case) -> Inputs:
    w = reaction_weights(case, case.x)
    return second_partials(
        dynamics.joint_reactions_hessian(case.model, *case.state(), w, forces=case.forces())
    )


def turned_axes(jacobian: np.ndarray, R: np.ndarray) -> np.ndarray:
    """d R/d q_j = w_j x R, (B, 3, 3, n), from the angular rows of a Jacobian."""
    return np.einsum("bnij,bjk->bikn", cross_matrix(jacobian[:, :3].transpose(0, 2, 1)), R)


def frame_partials(case: Case) -> Inputs:
    q, v, a = case.state()
    motion = dynamics.frame_kinematics(case.model, q=q, v=v, a=a, **case.options)
    d = dynamics.frame_kinematics_derivatives(case.model, q=q, v=v, a=a, **case.options)
    J, R_q = d.jacobian, turned_axes(d.jacobian, motion.R)
    R_0, p_0, J_0 = np.zeros_like(R_q), np.zeros_like(J[:, 3:]), np.zeros_like(J)
    return {
        "q": partials(R_q, J[:, 3:], d.velocity_q, d.acceleration_q),
        "v": partials(R_0, p_0, J, d.acceleration_v),
        "a": partials(R_0, p_0, J_0, J),
    }


def frame_weights(x: Inputs) -> FrameMotion:
    R, *vectors = np.split(x["weights"][:, :24], (9, 12, 15, 18, 21), axis=1)
    return FrameMotion(R.reshape(BATCH, 3, 3), *vectors)


def frame_gradient(case: Case, x: Inputs) -> np.ndarray:
    w = frame_weights(x)
    R = outputs(FRAME_MOTION, case, x)[0]
    J, velocity_q, acceleration_q, acceleration_v = outputs(FRAME_DERIVATIVES, case, x)
    of_velocity, of_acceleration = values(w.w, w.v), values(w.alpha, w.a)
    pose_q = np.einsum("bij,bijn->bn", w.R, turned_axes(J, R))
    pose_q = pose_q + np.einsum("bi,bin->bn", w.p, J[:, 3:])
    rates = np.einsum("bi,bin->bn", of_velocity, velocity_q)
    rates = rates + np.einsum("bi,bin->bn", of_acceleration, acceleration_q)
    along_v = np.einsum("bi,bin->bn", of_velocity, J)
    along_v = along_v + np.einsum("bi,bin->bn", of_acceleration, acceleration_v)
    return values(pose_q + rates, along_v, np.einsum("bi,bin->bn", of_acceleration, J))


def frame_hessian(case: Case) -> Inputs:
    q, v, a = case.state()
    w = frame_weights(case.x)
    h = dynamics.frame_kinematics_hessian(case.model, q=q, v=v, a=a, weights=w, **case.options)
    return second_partials(h)


def momentum_partials(case: Case) -> Inputs:
    d = dynamics.spatial_momentum_derivatives(case.model, *case.state())
    o = np.zeros_like(d.com_q)
    return {
        "q": partials(d.com_q, d.velocity_q, d.acceleration_q, d.L_q, d.rate_q),
        "v": partials(o, d.com_q, d.acceleration_v, d.L_v, d.rate_v),
        "a": partials(o, o, d.com_q, o, d.L_v),
    }


def resultant_partials(case: Case) -> Inputs:
    d = dynamics.resultant_wrench_derivatives(case.model, *case.state(), forces=case.forces())
    return {"value": d.wrench, **by_name(d.dq, d.dv, d.da)}


# -- the two-step algorithm ---------------------------------------------------------------------


def two_step_values(case: Case, x: Inputs) -> np.ndarray:
    """Zero-moment point, couple, wrenches and torques, with complex kernels: forces are applied at
    the points of pressure, and the torques are those of the second pass."""
    feet, height = case.options["feet"], case.options.get("height", 0.0)
    plain = {name: np.asarray(x[name], complex) for name in ("q", "v", "a", "loads")}
    places = [_place(case, foot.link, (0, 0, 0), plain) for foot in feet]
    W = outputs(RESULTANT, replace(case, options={}), plain)[0]
    M, F = W[:, :3] - np.cross([0.0, 0.0, height], W[:, 3:]), W[:, 3:]
    z = np.stack([-M[:, 1] / F[:, 2], M[:, 0] / F[:, 2], 0.0 * M[:, 0] + height], axis=1)
    couple = (M - np.cross(z - [0.0, 0.0, height], F))[:, 2]
    points, shares = [z], [np.ones(BATCH)]
    if len(feet) == 2:
        e1, e2 = (_place(case, foot.link, foot.edge, plain) for foot in feet)
        u = np.array([*case.options.get("direction", (1.0, 0.0)), 0.0])
        s = ((z - e1) @ u) / ((e2 - e1) @ u)
        if case.options.get("outside") != "extend":
            s = np.where(s.real < 0.0, 0.0, np.where(s.real > 1.0, 1.0, s))
        span = (e2 - e1) * [1.0, 1.0, 0.0]
        points, shares = [z - s[:, None] * span, z + (1.0 - s)[:, None] * span], [1.0 - s, s]
    wrenches = []
    for p, point, s in zip(places, points, shares, strict=True):
        free = (s * couple)[:, None] * [0.0, 0.0, 1.0]
        force = s[:, None] * F
        wrenches.append(np.concatenate([np.cross(point - p, force) + free, force], axis=1))
    sites = [*case.forces(), *(dynamics.ExternalForce(foot.link) for foot in feet)]
    loads, _ = RNEA.pack(case.model, RNEA.view(case.model), sites)
    ins = (plain["q"], plain["v"], plain["a"], np.hstack([plain["loads"], *wrenches]))
    (tau,) = RNEA.plain(RNEA.view(case.model), loads, ins, np.complex128)
    return np.hstack([tau, z[:, :2], couple[:, None], np.stack(shares, axis=1), *wrenches])


def _place(case: Case, frame: str, point: Any, x: Inputs) -> np.ndarray:
    site = replace(case, options={"frame": frame, "point": point})
    return outputs(FRAME_MOTION, site, x)[1]


def two_step_partials(case: Case) -> Inputs:
    d = dynamics.two_step_dynamics_derivatives(
        case.model, *case.state(), forces=case.forces(), **case.options
    )
    v = d.value
    found = {"value": values(v.tau, v.zmp, v.couple, v.shares, v.wrenches)}
    for name, part in (("q", d.dq), ("v", d.dv), ("a", d.da)):
        by_row = (part.tau, part.zmp, part.couple[:, None], part.shares, part.wrenches)
        found[name] = partials(*by_row)
    return found


def zmp_condition(case: Case) -> np.ndarray:
    """Rounding of the resultant grows with its size over the vertical force."""
    W = np.abs(dynamics.resultant_wrench(case.model, *case.state(), forces=case.forces()))
    return W.max(axis=1) / W[:, 5]


# -- parameters of the model --------------------------------------------------------------------


def payload_partials(case: Case) -> Inputs:
    """The regressor times the inertial parameters of unit masses at the payload points."""
    x, y, z = np.array(PAYLOAD_POINTS, dtype=float).T
    unit = [x**0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y]
    Y = dynamics.torque_regressor(case.model, *case.state())
    return {"parameters": Y @ np.kron(np.eye(case.model.n), unit)}


def parameter_partials(name: str) -> Callable[[Case], Inputs]:
    def of(case: Case) -> Inputs:
        q, v, a = case.state()
        function = getattr(dynamics, name)
        sensitivity = function(case.model, q=q, v=v, a=a, forces=case.forces(), **case.options)
        return {"parameters": sensitivity.reshape(BATCH, case.model.n, -1)}

    return of


# -- the DH formulations ------------------------------------------------------------------------


def internal_force_partials(case: Case) -> Inputs:
    forces = case.forces()
    return by_name(
        *dynamics.newton_euler_dh_internal_force_derivatives(
            case.model, *case.state(), forces=forces
        )
    )


def link_quantities(case: Case, x: Inputs) -> np.ndarray:
    return values(*dynamics.newton_euler_dh_sensitivities(case.model, *case.state(x))[0])


def link_quantity_partials(case: Case) -> Inputs:
    _, *by_input = dynamics.newton_euler_dh_sensitivities(case.model, *case.state())
    return by_name(*(partials(*quantities) for quantities in by_input))


def point_partials(case: Case) -> Inputs:
    q, v, a = case.state()
    d = dynamics.lagrangian_dh_point_derivatives(case.model, q=q, v=v, a=a, **case.options)
    o = np.zeros_like(d.position)
    return {
        "q": partials(*d),
        "v": partials(o, d.position, 2.0 * d.velocity),
        "a": partials(o, o, d.position),
    }


ENTRIES = [
    Entry(
        "inverse_dynamics_derivatives",
        tree_cases,
        kernel_value(RNEA),
        torque_partials(dynamics.inverse_dynamics_derivatives),
    ),
    Entry("inverse_dynamics_force_derivatives", loaded_cases, kernel_value(RNEA), force_partials),
    Entry("inverse_dynamics_hessian", tree_cases, torque_gradient, torque_hessian),
    Entry(
        "forward_dynamics_derivatives",
        uncoupled_cases,
        kernel_value(ABA, "q", "v", "tau"),
        acceleration_partials,
        condition=mass_condition,
    ),
    Entry(
        "forward_dynamics_derivatives",
        coupled_cases,
        accelerations,
        acceleration_partials,
        CENTRAL,
        mass_condition,
    ),
    *(
        Entry(
            name,
            cases,
            kernel_value(kernel, "q", "v", "a", "tau"),
            hybrid_partials(getattr(dynamics, name)),
            condition=mass_condition,
        )
        for name, cases, kernel in (
            ("hybrid_dynamics_derivatives", hybrid_cases, HYBRID),
            ("hybrid_dynamics_derivatives", coupled_hybrid_cases, HYBRID_PARTITIONED),
            ("hybrid_recursion_derivatives", hybrid_cases, HYBRID),
        )
    ),
    Entry(
        "energy_gradients_derivatives",
        tree_cases,
        kernel_value(ENERGY_GRADIENTS, "q", "v"),
        energy_partials,
    ),
    Entry("energy_gradients_hessian", tree_cases, energy_gradient_sum, energy_hessian),
    Entry(
        "discrete_inverse_dynamics_derivatives",
        discrete_cases,
        lambda case, x: discrete_outputs(DISCRETE, case, x)[0],
        discrete_partials,
    ),
    Entry("discrete_inverse_dynamics_hessian", discrete_cases, discrete_gradient, discrete_second),
    Entry("joint_reactions_derivatives", tree_cases, kernel_value(REACTIONS), reaction_partials),
    Entry(
        "joint_reactions_force_derivatives",
        loaded_cases,
        kernel_value(REACTIONS),
        reaction_force_partials,
    ),
    Entry("joint_reactions_hessian", tree_cases, reaction_gradient, reaction_hessian),
    Entry("frame_kinematics_derivatives", frame_cases, kernel_value(FRAME_MOTION), frame_partials),
    Entry("frame_kinematics_hessian", frame_cases, frame_gradient, frame_hessian),
    Entry(
        "spatial_momentum_derivatives",
        tree_cases,
        kernel_value(CENTROIDAL_MOTION),
        momentum_partials,
    ),
    Entry("resultant_wrench_derivatives", tree_cases, kernel_value(RESULTANT), resultant_partials),
    Entry(
        "two_step_dynamics_derivatives",
        two_step_cases,
        two_step_values,
        two_step_partials,
        condition=zmp_condition,
    ),
    Entry("torque_regressor", payload_cases, rebuilt_torques, payload_partials, LINEAR),
    *(
        Entry(name, cases, rebuilt_torques, parameter_partials(name), CENTRAL)
        for name, cases in (
            ("placement_sensitivity", placement_cases),
            ("length_sensitivity", length_cases),
            ("dh_sensitivity", table_cases),
        )
    ),
    Entry(
        "lagrangian_dh_derivatives",
        dh_cases,
        kernel_value(LAGRANGIAN),
        torque_partials(dynamics.lagrangian_dh_derivatives),
    ),
    Entry("lagrangian_dh_point_derivatives", dh_point_cases, kernel_value(POINT), point_partials),
    Entry(
        "newton_euler_dh_derivatives",
        dh_cases,
        kernel_value(NEWTON_EULER_DH),
        torque_partials(dynamics.newton_euler_dh_derivatives),
    ),
    Entry(
        "newton_euler_dh_internal_force_derivatives",
        dh_cases,
        kernel_value(INTERNAL_FORCES_DH),
        internal_force_partials,
    ),
    Entry(
        "newton_euler_dh_sensitivities",
        dh_cases,
        link_quantities,
        link_quantity_partials,
        CENTRAL,
    ),
]
