"""Springs, friction, armature and rotors: the contributions of a joint to tau, with partials.

    stiffness (q - rest) + damping v + coulomb tanh(v / coulomb_speed) + armature a

acts only on its own joint; rotors that couple joints add row i of the rotor matrix times a.
"""

from __future__ import annotations

from predyn.kernels.lane_functions import tanh
from predyn.kernels.lanes import jit, load, store


@jit
def joint_force(tree, c, i, q, v, a):
    """Spring, friction and armature torque at joint i."""
    rate = load(v, c, i)
    force = tree.stiffness[i] * (load(q, c, i) - tree.rest[i]) + tree.damping[i] * rate
    force = force + tree.armature[i] * load(a, c, i)
    if tree.coulomb[i] != 0.0:
        force = force + tree.coulomb[i] * tanh(rate * (1.0 / tree.coulomb_speed[i]))
    return force


@jit
def joint_slope(tree, c, i, v):
    """d/dv of the friction at joint i."""
    rate = load(v, c, i)
    slope = tree.damping[i] + 0.0 * rate  # of the number type of rate
    if tree.coulomb[i] != 0.0:
        t = tanh(rate * (1.0 / tree.coulomb_speed[i]))
        slope = slope + (tree.coulomb[i] / tree.coulomb_speed[i]) * (1.0 - t * t)
    return slope


@jit
def joint_partials(tree, c, i, v, dq, dv, da):
    """Add the partials to the pair (i, i) of dtau/dq, dtau/dv and dtau/da."""
    k = tree.pair[i]
    store(dq, c, 2 * k, load(dq, c, 2 * k) + tree.stiffness[i])
    store(da, c, k, load(da, c, k) + tree.armature[i])
    store(dv, c, 2 * k, load(dv, c, 2 * k) + joint_slope(tree, c, i, v))


@jit
def joint_second_partials(tree, c, i, v, w, vv):
    """Add weight w_i times the second partial in v to the pair (i, i)."""
    if tree.coulomb[i] != 0.0:
        slope = 1.0 / tree.coulomb_speed[i]
        t = tanh(load(v, c, i) * slope)
        bend = (-2.0 * tree.coulomb[i] * slope * slope) * (t * (1.0 - t * t))
        k = tree.pair[i]
        store(vv, c, k, load(vv, c, k) + load(w, c, i) * bend)


@jit
def rotor_force(tree, c, i, a):
    """Torque at joint i from the coupled rotors: row i of the rotor matrix times a."""
    force = tree.rotor[i, 0] * load(a, c, 0)
    for k in range(1, tree.rotor.shape[1]):
        force = force + tree.rotor[i, k] * load(a, c, k)
    return force
