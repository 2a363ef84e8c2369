"""Linkages in natural coordinates for tests, and their energies written separately in CasADi."""

import casadi as ca
import numpy as np

from predyn.published.natural_links import Carried, Link, NaturalLinks, Torque


def two_links(stiffness=1e4, damping=0.0, torques=None):
    """The mechanism of the paper, torques on links."""
    return NaturalLinks(
        [
            Link("link1", "O", "A", 0.7, 1.0, 0.04, 0.35, stiffness, damping),
            Link("link2", "A", "B", 1.0, 0.2, 0.017, 0.5, stiffness, damping),
        ],
        pinned={"O": (0.0, 0.0)},
        torques=torques or [Torque("T1", "link1"), Torque("T2", "link2")],
    )


def four_bar(damping=0.0):
    """A closed linkage: crank and rocker on pins, a coupler that carries a tracing point."""
    bar = {"stiffness": 2e4, "damping": damping}
    return NaturalLinks(
        [
            Link("crank", "O", "A", 0.3, 0.8, 0.01, 0.1, **bar),
            Link("coupler", "A", "B", 0.9, 1.2, 0.08, 0.5, aside=0.1, **bar),
            Link("rocker", "C", "B", 0.7, 0.9, 0.04, 0.3, **bar),
        ],
        pinned={"O": (0.0, 0.0), "C": (1.0, 0.0)},
        carried={"P": Carried("coupler", 0.45, 0.3)},
        torques=[Torque("motor", "crank")],
    )


def four_bar_state(angle):
    """z of the four-bar at a crank angle, with links at their lengths."""
    A = 0.3 * np.array([np.cos(angle), np.sin(angle)])
    C = np.array([1.0, 0.0])
    apart = np.linalg.norm(C - A)
    along = (0.9**2 - 0.7**2 + apart**2) / (2 * apart)
    x = (C - A) / apart
    B = A + along * x + np.sqrt(0.9**2 - along**2) * np.array([-x[1], x[0]])
    return np.concatenate([A, B])


def point_of(links, node, z):
    """Position of a node for symbolic z, by its definition."""
    if node in links.pinned:
        return ca.DM(links.pinned[node])
    if node in links.free:
        i = 2 * links.free.index(node)
        return z[i : i + 2]
    place = links.carried[node]
    link = next(x for x in links.links if x.name == place.link)
    return _on(links, link, place.along, place.aside, z)


def _on(links, link, along, aside, z):
    a, b = point_of(links, link.a, z), point_of(links, link.b, z)
    d = (b - a) / link.length
    return a + along * d + aside * ca.vertcat(-d[1], d[0])


def lagrangian_parts(links, z, v):
    """Kinetic energy, potential energy, dissipation function, angles of the links."""
    T, V, F, angles = 0, 0, 0, []
    for link in links.links:
        a, b = point_of(links, link.a, z), point_of(links, link.b, z)
        center = _on(links, link, link.along, link.aside, z)
        c = ca.jtimes(center, z, v)
        e = ca.jtimes(b - a, z, v)
        L = ca.norm_2(b - a)
        T += 0.5 * link.mass * ca.dot(c, c) + 0.5 * link.inertia * ca.dot(e, e) / link.length**2
        V += 0.5 * link.stiffness * (L - link.length) ** 2
        V -= link.mass * ca.dot(ca.DM(links.gravity), center)
        F += 0.5 * link.damping * (ca.dot(b - a, e) / L) ** 2
        angles.append(ca.atan2(b[1] - a[1], b[0] - a[0]))
    return T, V, F, ca.vertcat(*angles)


def routes(links):
    """(links, torques): which torque acts on which link."""
    names = [link.name for link in links.links]
    S = np.zeros((len(names), len(links.torques)))
    for j, torque in enumerate(links.torques):
        S[names.index(torque.link), j] += torque.turn
        if torque.against is not None:
            S[names.index(torque.against), j] -= torque.turn
    return S


def balance(links):
    """CasADi function (z, v, u) -> f + g - D u, and the constant mass matrix."""
    z, v, u = (ca.SX.sym(x, m) for x, m in (("z", links.n), ("v", links.n),
                                            ("u", len(links.torques))))  # fmt: skip
    T, V, F, angles = lagrangian_parts(links, z, v)
    work = ca.dot(angles, ca.DM(routes(links)) @ u)
    force = ca.gradient(V, z) + ca.gradient(F, v) - ca.gradient(work, z)
    mass = np.array(ca.DM(ca.evalf(ca.hessian(T, v)[0])))
    return ca.Function("balance", [z, v, u], [force]), mass
