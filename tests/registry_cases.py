"""Random models and inputs for the derivative tests: all joint kinds, several roots, massless
links inside the tree, springs, ligaments, friction, rotors, loads along world and link axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from floating_biped import floating_biped
from predyn.dynamics import ExternalForce, Foot
from predyn.load.dh import DHRow, load_dh
from predyn.model import KINDS, Model
from predyn.model.builder import ModelBuilder

BATCH = 5  # does not fill the lanes
PARENTS = (-1, 0, 1, 1, 3, 0, -1, 6, 6)
Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A model, random inputs, and where loads act.

    x: q, v, a, tau and weights (B, k) with room for any weights, loads (B, 6 a load: moment,
    force), and, where the model is made again from them, parameters (k,).
    """

    label: str
    model: Model
    x: Inputs
    sites: tuple[ExternalForce, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)  # more arguments of the functions
    rebuild: Callable[[np.ndarray], Model] | None = None  # parameters -> model

    def forces(self, x: Inputs | None = None) -> list[ExternalForce]:
        values = (x or self.x)["loads"].reshape(BATCH, len(self.sites), 6)
        return [
            replace(site, moment=values[:, k, :3], force=values[:, k, 3:])
            for k, site in enumerate(self.sites)
        ]

    def state(self, x: Inputs | None = None) -> list[np.ndarray]:
        return [(x or self.x)[name] for name in ("q", "v", "a")]


# -- models -------------------------------------------------------------------------------------


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.linalg.det(q)


def cross_matrix(w: np.ndarray) -> np.ndarray:
    """(..., 3, 3) with cross_matrix(w) @ x = w x x."""
    x, y, z = np.moveaxis(np.asarray(w), -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack(row, -1) for row in ((o, -z, y), (z, o, -x), (-y, x, o))], -2)


def body(rng: np.random.Generator, j: int) -> dict[str, Any]:
    """Links 1 and 6, which carry others, have no inertia; link 3 has no mass."""
    spread = rng.normal(scale=0.3, size=(3, 3))
    moments = spread @ spread.T
    inertia = np.trace(moments) * np.eye(3) - moments
    mass, com = rng.uniform(0.5, 2.0), rng.normal(scale=0.5, size=3)
    if j in (1, 6):
        return {}
    if j == 3:
        return {"inertia": inertia}
    return {"mass": mass, "com": com, "inertia": inertia}


def random_ligaments(n: int, seed: int) -> np.ndarray:
    """(n, 2, 3): joints 1, 5, ... have none, joint 3 has the upper one, joint 7 the lower one."""
    rng = np.random.default_rng([seed, 15])
    ligaments = rng.uniform((0.1, 0.5, 0.0), (1.0, 2.0, 1.0), (n, 2, 3))
    ligaments[:, 0, 2] *= -1.0
    ligaments[1::4, :, 0] = ligaments[3::8, 0, 0] = ligaments[7::8, 1, 0] = 0.0
    return ligaments


def joint_forces(rng: np.random.Generator, j: int) -> dict[str, Any]:
    """For two joints of three; every other one has Coulomb friction."""
    stiffness, rest = rng.normal(size=2)
    damping, armature, coulomb = rng.uniform(0.1, 1.0, 3)
    if j % 3 == 1:
        return {}
    friction = {"damping": damping, "coulomb": coulomb if j % 2 == 0 else 0.0, "coulomb_speed": 0.7}
    ligaments = random_ligaments(j + 1, j)[j]
    spring = {"stiffness": stiffness, "rest": rest, "ligaments": ligaments}
    return {**spring, "armature": armature, **friction}


def forest(seed: int, extras: bool = True, coupled: bool = False) -> Model:
    """Nine joints on two roots; frame tool on l4 and frame post in the world."""
    rng = np.random.default_rng([seed, 2])
    kinds = rng.permutation(np.tile(KINDS, 3))
    builder = ModelBuilder(f"forest_{seed}", gravity=rng.normal(scale=5.0, size=3))
    for j, parent in enumerate(PARENTS):
        builder.add_link(
            f"l{j}",
            f"l{parent}" if parent >= 0 else "world",
            f"j{j}",
            str(kinds[j]),
            axis=rng.normal(size=3),
            pitch=float(rng.normal()) if kinds[j] == "screw" else 0.0,
            origin=rng.normal(size=3),
            rotation=rotation(rng),
            **body(rng, j),
            **(joint_forces(rng, j) if extras else {}),
        )
    builder.add_frame("tool", "l4", rng.normal(size=3), rotation(rng))
    builder.add_frame("post", "world", rng.normal(size=3), rotation(rng))
    model = builder.build()
    if coupled:
        root = rng.normal(scale=0.3, size=(model.n, 3))
        model = replace(model, rotor=root @ root.T)
    return model


def one_joint() -> Model:
    body = {"mass": 1.5, "com": (0.3, -0.2, 0.4), "inertia": (0.2, 0.3, 0.25)}
    return ModelBuilder("one").add_link("l0", axis=(1.0, 2.0, -1.0), **body).build()


def dh_rows(seed: int) -> list[DHRow]:
    rng = np.random.default_rng([seed, 3])
    result = []
    for j in range(len(PARENTS)):
        theta, d, a, alpha = rng.normal(size=4)
        kind = "prismatic" if rng.random() < 0.3 else "revolute"
        result.append(DHRow(theta, d, a, alpha, kind, **body(rng, j), **joint_forces(rng, j)))
    return result


def dh_forest(seed: int, rows: Sequence[DHRow] | None = None) -> Model:
    """A branched DH table on a rotated base, with rotors that couple no joints."""
    rng = np.random.default_rng([seed, 4])
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = rotation(rng), rng.normal(size=3)
    gravity = rng.normal(scale=5.0, size=3)
    model = load_dh(rows or dh_rows(seed), parents=PARENTS, base=base, gravity=gravity)
    return replace(model, rotor=np.diag(rng.uniform(0.0, 0.5, 9) * (np.arange(9) % 2)))


# -- cases --------------------------------------------------------------------------------------

SITES = (
    ExternalForce("tool", 0.0, point=(0.3, -0.4, 0.5), frame="link"),
    ExternalForce("l2", 0.0, point=(-0.6, 0.2, 0.1), frame="world"),
    ExternalForce("tool", 0.0, point=(0.1, 0.7, -0.2), frame="world"),
    ExternalForce("l1", 0.0, frame="world"),
    ExternalForce("l6", 0.0, point=(0.2, 0.2, 0.9), frame="link"),
    ExternalForce("l8", 0.0, point=(1.0, 0.0, 0.5), frame="world"),
)
LINK_SITES = tuple(site for site in SITES if site.frame == "link")
DH_SITES = (
    ExternalForce("link5_dh", 0.0, point=(0.3, -0.4, 0.5), frame="link"),
    ExternalForce("link3_dh", 0.0, point=(-0.6, 0.2, 0.1), frame="world"),
    ExternalForce("link2_dh", 0.0, frame="world"),
    ExternalForce("link9_dh", 0.0, point=(0.2, 0.2, 0.9), frame="link"),
)
# ten point masses whose mass, first and second moments are independent
PAYLOAD_POINTS = ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0),
                  (0, 0, 1), (0, 0, -1), (1, 1, 0), (0, 1, 1), (1, 0, 1))  # fmt: skip


def make_case(label: str, model: Model, seed: int, sites: Sequence = (), **options: Any) -> Case:
    rng = np.random.default_rng([seed, 5])
    n = model.n
    sizes = {"q": n, "v": n, "a": n, "tau": n, "loads": 6 * len(sites), "weights": 24 + 6 * n}
    x = {name: rng.normal(size=(BATCH, size)) for name, size in sizes.items()}
    return Case(label, model, x, tuple(sites), options)


def uncoupled_cases() -> list[Case]:
    return [
        make_case("one joint", one_joint(), 1),
        make_case("forest", forest(2, extras=False), 2),
        make_case("joint forces", forest(3), 3),
        make_case("loads", forest(4, extras=False), 4, SITES),
        make_case("loads and joint forces", forest(5), 5, SITES),
        make_case("link-fixed loads", forest(6), 6, LINK_SITES),
    ]


def coupled_cases() -> list[Case]:
    return [make_case("coupled rotors", forest(7, coupled=True), 7, SITES)]


def tree_cases() -> list[Case]:
    return uncoupled_cases() + coupled_cases()


def loaded_cases() -> list[Case]:
    return [case for case in tree_cases() if case.sites]


def discrete_cases() -> list[Case]:
    """Three nodes and a step in place of a state; loads that differ between the intervals."""
    result = []
    for case in tree_cases():
        x = {f"q{k}": case.x[name] for k, name in enumerate(("q", "v", "a"))}
        x["h"] = 0.5 + np.abs(case.x["tau"][:, :1])
        x |= {"loads": case.x["loads"], "loads_after": case.x["loads"][::-1]}
        result.append(replace(case, x=x | {"weights": case.x["weights"]}))
    return result


def with_masks(cases: Sequence[Case]) -> list[Case]:
    """All joints active, all passive, and a mix of both on every branch."""
    result = []
    for case in cases:
        joints = np.arange(case.model.n)
        masks = {"active": joints >= 0, "passive": joints < 0, "mixed": joints % 3 != 1}
        for word, mask in masks.items():
            label = f"{case.label}, {word}"
            result.append(replace(case, label=label, options={"active": mask}))
    return result


def hybrid_cases() -> list[Case]:
    return with_masks(uncoupled_cases())


def coupled_hybrid_cases() -> list[Case]:
    return with_masks(coupled_cases())


def frame_cases() -> list[Case]:
    frames = {"tool": forest(2), "l7": forest(3), "post": forest(4), "l0": one_joint()}
    return [
        make_case(f"frame {frame}", model, k, frame=frame, point=(0.4, -0.3, 0.8))
        for k, (frame, model) in enumerate(frames.items())
    ]


def two_step_cases() -> list[Case]:
    """Near standing: one foot, two feet, a push; zero-moment points on all sides of the edges."""
    rear, front = Foot("rear_sole", (0.05, 0.0, 0.0)), Foot("ankle_front", (-0.05, 0.02, -0.08))
    push = ExternalForce("arm", 0.0, point=(0.1, 0.0, -0.2), frame="world")
    result = []
    for label, feet, sites, options in (
        ("one foot", [front], (), {"height": -0.9}),
        ("two feet", [rear, front], (), {"outside": "extend"}),
        ("two feet, clamped", [rear, front], (push,), {"direction": (2.0, 0.3), "height": -0.8}),
    ):
        case = make_case(label, floating_biped(0.9), 11, sites, feet=feet, **options)
        x = case.x | {name: 0.2 * case.x[name] for name in ("q", "v")} | {"a": 0.6 * case.x["a"]}
        result.append(replace(case, x=x))
    return result


def dh_cases() -> list[Case]:
    return [
        make_case("DH table", dh_forest(1), 1),
        make_case("DH table, loads", dh_forest(2), 2, DH_SITES),
        make_case("DH table, loads again", dh_forest(3), 3, DH_SITES),
    ]


def dh_point_cases() -> list[Case]:
    return [
        make_case(f"point of {link}", dh_forest(k), k, link=link, point=(0.4, -0.3, 0.8))
        for k, link in enumerate(("link5", "link9"))
    ]


# -- cases whose parameters are those of the model ----------------------------------------------


def parametrised(case: Case, start: Any, rebuild: Callable[..., Model], **options: Any) -> Case:
    x = case.x | {"parameters": np.array(start, dtype=float).ravel()}
    return replace(case, x=x, rebuild=rebuild, options=options)


def _displaced(model: Model, parameters: np.ndarray) -> Model:
    """Each joint rotated about its placed origin and shifted, in its parent's axes."""
    for name, move in zip(model.joint_names, parameters.reshape(-1, 6), strict=True):
        if move.any():
            j, angle = model.joint_index(name), np.linalg.norm(move[:3])
            K = cross_matrix(move[:3] / (angle or 1.0))
            R = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
            model = model.with_placement(name, R @ model.R[j], model.p[j] + move[3:])
    return model


def placement_cases() -> list[Case]:
    return [
        parametrised(case, np.zeros((case.model.n, 6)), partial(_displaced, case.model))
        for case in (tree_cases()[0], *loaded_cases())
    ]


def length_cases() -> list[Case]:
    (case,) = coupled_cases()
    result = []
    for link, to, end in (("l0", "j5", "j5"), ("l1", "j3", "j3"), ("l3", None, "j4")):
        length = np.linalg.norm(case.model.p[case.model.joint_index(end)])
        rebuild = partial(_stretched, case.model, link, to)
        result.append(parametrised(case, length, rebuild, link=link, to=to))
    return [replace(case, label=f"length of {case.options['link']}") for case in result]


def _stretched(model: Model, link: str, to: str | None, parameters: np.ndarray) -> Model:
    return model.with_length(link, parameters[0], to)


def table_cases() -> list[Case]:
    result = []
    for case, seed in zip(dh_cases(), (1, 2, 3), strict=True):
        start = [[row.theta, row.d, row.a, row.alpha] for row in dh_rows(seed)]
        result.append(parametrised(case, start, partial(_retabled, seed)))
    return result


def _retabled(seed: int, parameters: np.ndarray) -> Model:
    changed = [
        replace(row, theta=theta, d=d, a=a, alpha=alpha)
        for row, (theta, d, a, alpha) in zip(dh_rows(seed), parameters.reshape(-1, 4), strict=True)
    ]
    return dh_forest(seed, changed)


def payload_cases() -> list[Case]:
    """Parameters: masses at PAYLOAD_POINTS of each link."""
    return [
        parametrised(case, np.zeros((case.model.n, 10)), partial(_laden, case.model))
        for case in (tree_cases()[k] for k in (0, 1, -1))
    ]


def _laden(model: Model, parameters: np.ndarray) -> Model:
    for link, masses in zip(model.link_names, parameters.reshape(-1, 10), strict=True):
        for k in np.flatnonzero(masses):
            model = model.attach_payload(link, masses[k], PAYLOAD_POINTS[k])
    return model
