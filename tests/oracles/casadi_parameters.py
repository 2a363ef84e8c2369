"""A mechanism with symbolic numbers in CasADi, as parameters of a problem determine them.

An independent formulation of what "mass of LINK", "length of LINK" and so on mean: the numbers are
expressions of the parameters, and torques and frames are those of `casadi_oracle`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from oracles.casadi_oracle import frame_expression, link_frame_expression
from oracles.casadi_unknowns import SymbolicMotion
from predyn.problem import Problem, system_of

ROW = ("mass", "first_moment.x", "first_moment.y", "first_moment.z", "inertia.xx", "inertia.xy",
       "inertia.yy", "inertia.xz", "inertia.yz", "inertia.zz")  # fmt: skip


def symbolic_model(problem: Problem, p: int, value: dict[str, Any]) -> Any:
    """The model of phase p; value: expressions by the text of the quantity."""
    model, system = problem.model, system_of(problem, p)
    result = SimpleNamespace(
        **{x: getattr(model, x) for x in ("n", "parent", "kind", "pitch", "axis", "R", "gravity")},
        rotor=model.rotor,
        coulomb_speed=model.coulomb_speed,
        ligaments=model.ligaments,
    )
    for field in ("stiffness", "rest", "damping", "coulomb", "armature"):
        result_of = [value.get(f"{field} of {name}") for name in model.joint_names]
        given = getattr(model, field)
        setattr(
            result, field, [g if x is None else x for x, g in zip(result_of, given, strict=True)]
        )
    result.p = [ca.SX(ca.DM(np.array(x))) for x in model.p]
    frames = {f.name: SimpleNamespace(link=f.link, R=f.R, p=ca.SX(ca.DM(np.array(f.p))))
              for f in model.frames}  # fmt: skip
    for j, name in enumerate(model.joint_names):
        for k, axis in enumerate("xyz"):
            if f"origin.{axis} of {name}" in value:
                result.p[j][k] = value[f"origin.{axis} of {name}"]
    for i, name in enumerate(model.link_names):
        if f"length of {name}" in value:
            length = value[f"length of {name}"]
            children = [j for j in range(model.n) if model.parent[j] == i]
            own = [f for f in model.frames if f.link == i]
            end = model.p[children[0]] if children else own[0].p
            for j in children:
                assert np.allclose(model.p[j], end)
                result.p[j] = ca.DM(end / np.linalg.norm(end)) * length
            for frame in own:
                if np.allclose(frame.p, end):
                    frames[frame.name].p = ca.DM(end / np.linalg.norm(end)) * length
    for i, name in enumerate(model.link_names):
        frames.setdefault(name, SimpleNamespace(link=i, R=np.eye(3), p=ca.SX(ca.DM.zeros(3))))
    result.frame = lambda name: frames[name]
    result.inertia = [_row(model, i, value) for i in range(model.n)]
    for load in system.payloads:
        frame = frames[load.link]
        mass = value.get(f"payload of {load.link}", ca.SX(float(load.mass)))
        c = frame.p + ca.DM(frame.R @ np.asarray(load.point, float))
        own = np.zeros((3, 3)) if load.inertia is None else np.asarray(load.inertia) / load.mass
        second = ca.DM(frame.R @ own @ frame.R.T) + ca.dot(c, c) * ca.DM.eye(3) - c @ c.T
        second = mass * second
        xx, xy, yy, xz, yz, zz = (second[i, j] for i, j in
                                  ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)))  # fmt: skip
        added = [mass, *(mass * c[k] for k in range(3)), xx, xy, yy, xz, yz, zz]
        row = result.inertia[frame.link]
        result.inertia[frame.link] = [a + b for a, b in zip(row, added, strict=True)]
    return result


def _row(model: Any, i: int, value: dict[str, Any]) -> list[Any]:
    """The ten numbers of a link: a mass scales those that are not parameters themselves."""
    name, row = model.link_names[i], [ca.SX(float(x)) for x in model.inertia[i]]
    if f"mass of {name}" in value:
        row = [x / float(model.inertia[i, 0]) * value[f"mass of {name}"] for x in row]
    return [value.get(f"{kind} of {name}", x) for kind, x in zip(ROW, row, strict=True)]


class ParametricMotion(SymbolicMotion):
    """A motion whose mechanism depends on the parameters among the decision variables."""

    def __init__(self, program: Any) -> None:
        super().__init__(program)
        self.value = {
            text: self.parameter(parameter.name)
            for parameter in program.problem.parameters
            for text in parameter.quantities
        }
        self.models = [
            symbolic_model(program.problem, p, self.value) for p in range(len(program.phases))
        ]

    def _states(self, p: int, s: float) -> list[ca.SX]:
        return [self.state(p, s, d) for d in range(3)]

    def _at(self, p: int, s: float, e: Any, more: tuple = ()) -> Any:
        old = ca.vertcat(e[0], e[1], e[2], *(x for x, _ in more))
        new = ca.densify(ca.vertcat(*self._states(p, s), *(x for _, x in more)))
        return lambda expression: ca.substitute(expression, old, new)

    def _dynamics(self, p: int, s: float) -> tuple[ca.SX, ca.SX]:
        system = system_of(self.program.problem, p)
        e = link_frame_expression(self.models[p], system.forces)
        loads = []
        for force in system.forces:
            for part in ("moment", "force"):
                given = getattr(force, part)
                if isinstance(given, str):
                    loads.append(self.signal(p, given, s))
                    continue
                texts = [f"{part}.{axis} of {force.link}" for axis in "xyz"]
                loads += [
                    self.value.get(t, ca.SX(float(x))) for t, x in zip(texts, given, strict=True)
                ]
        put = self._at(p, s, e[:3], ((e.loads, ca.vertcat(*loads)),) if loads else ())
        return put(e.tau), put(e.wrench)

    def momentum(self, p: int, s: float) -> ca.SX:
        """Inertia times velocities: the torques that accelerations v need at rest."""
        model = SimpleNamespace(**vars(self.models[p]))
        model.gravity, model.stiffness = np.zeros(3), [0.0] * model.n
        model.ligaments = np.zeros((model.n, 2, 3))
        e = link_frame_expression(model)
        old = ca.vertcat(e.q, e.v, e.a)
        q, v, _ = self._states(p, s)
        return ca.substitute(e.tau, old, ca.densify(ca.vertcat(q, ca.SX(model.n, 1), v)))

    def frame(self, p: int, name: str, s: float) -> list[ca.SX]:
        """R, p, w, v, alpha, a of a frame."""
        *symbols, parts = frame_expression(self.models[p], name, (0.0, 0.0, 0.0))
        put = self._at(p, s, symbols)
        return [put(x) for x in parts]
