"""The robots of the package example-robot-data, read by predyn and by Pinocchio.

PREDYN_ROBOTS names its folder share/example-robot-data/robots. Files that Pinocchio or predyn
refuses are listed with the reason; at least 63 of 69 load and have Pinocchio's inverse dynamics.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from predyn.dynamics import inverse_dynamics
from predyn.errors import FileError, ModelWarning
from predyn.load.urdf import load_urdf
from predyn.model import Model
from predyn.model.coupled import couple, entries_of
from predyn.model.couplings import sources

ROBOTS = os.environ.get("PREDYN_ROBOTS")
SIX = (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ,
       pin.JointModelRZ, pin.JointModelRY, pin.JointModelRX)  # fmt: skip
DRONES = ("quadrotor_base.urdf", "iris_simple.urdf")  # bodies without joints
REFUSED = {
    "alex_psyonic_hands.urdf": "unknown joint to mimic",  # names lack a prefix
    "romeo.urdf": "move no inertia",
    "romeo_laas_small.urdf": "not positive semidefinite",
    "ur3.urdf": "expected at least one <link>",
}


def without_friction(model: Model) -> Model:
    """Pinocchio's inverse dynamics has none."""
    zero = np.zeros(len(model.parent))
    entries = entries_of(model) | {"damping": zero, "coulomb": zero}
    return couple(Model, entries, model.couplings) if model.couplings else Model(**entries)


def in_pinocchio(path: Path, model: Model, mimic: bool) -> pin.Model:
    if path.name in DRONES:
        root = pin.JointModelComposite(6)
        for joint in SIX:
            root.addJoint(joint())
        return pin.buildModelFromUrdf(str(path), root)
    return pin.buildModelFromUrdf(str(path), mimic=mimic)


def torques(twin: pin.Model, names: tuple[str, ...], q, v, a) -> np.ndarray:
    """Inverse dynamics by Pinocchio, in the order of joints with these names."""
    if twin.existJointName(names[0]):
        order = [twin.joints[twin.getJointId(name)].idx_v for name in names]
    else:  # the joints of a floating base
        order = list(range(twin.nv))
    back = np.argsort(order)
    full = pin.integrate(twin, pin.neutral(twin), q[back])
    return pin.rnea(twin, twin.createData(), full, v[back], a[back])[order]


def agrees(path: Path) -> bool:
    """Whether the inverse dynamics at random states is Pinocchio's, to 1e-10 of the largest.

    Pinocchio needs the source of a mimic joint before it in the tree. Where it is not, the tree
    without couplings is compared, reduced here.
    """
    model = without_friction(load_urdf(path, floating_base=path.name in DRONES))
    try:
        twin, explicit = in_pinocchio(path, model, mimic=True), False
    except ValueError:
        twin, explicit = in_pinocchio(path, model, mimic=False), True
    assert twin.nv == (len(model.parent) if explicit else model.n), path
    twin.gravity.linear = np.array(model.gravity)
    lines = {x.joint: x.function.line for x in model.couplings}
    names, source = model.expanded.joint_names, sources(model)
    factor, shift = np.array([lines.get(name, (1.0, 0.0)) for name in names]).T
    for q, v, a in np.random.default_rng(0).uniform(-1.0, 1.0, (3, 3, model.n)):
        if explicit:
            full = (factor * q[source] + shift, factor * v[source], factor * a[source])
            theirs = np.zeros(model.n)
            np.add.at(theirs, source, factor * torques(twin, names, *full))
        else:
            theirs = torques(twin, model.joint_names, q, v, a)
        off = np.abs(inverse_dynamics(model, q, v, a) - theirs).max()
        if not off <= 1e-10 * max(np.abs(theirs).max(), 1.0):
            return False
    return True


@pytest.mark.verify
@pytest.mark.skipif(ROBOTS is None, reason="PREDYN_ROBOTS is not set: no example-robot-data")
def test_robots_load_and_agree_with_pinocchio() -> None:
    files = sorted(Path(ROBOTS or "").rglob("*.urdf"))
    assert len(files) >= 69
    right, refused = 0, {}
    for path in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            try:
                assert agrees(path), path
                right += 1
            except FileError as error:
                refused[path.name] = str(error)
    assert right >= 63, refused
    assert set(refused) <= set(REFUSED), refused
    for name, message in refused.items():
        assert REFUSED[name] in message
