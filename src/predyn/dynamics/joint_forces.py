"""Springs, ligaments, friction, armature and rotors: what a joint adds to tau.

    stiffness (q - rest) + damping v + coulomb tanh(v / coulomb_speed) + armature a
    - moment_l e(-rate_l (q - angle_l)) + moment_u e(rate_u (q - angle_u))

with e(x) of model/ligaments.py acts only on its own joint; rotors that couple joints add row i of
the rotor matrix times a.
"""

from __future__ import annotations

from predyn.kernels.lane_functions import at_most, exp, tanh
from predyn.kernels.lanes import jit, load, store
from predyn.model.ligaments import LARGEST_EXPONENT


@jit
def stretch(tree, c, i, side, q):
    """exp(y) and x - y: exponent x of a ligament, which y follows up to the largest one."""
    x = (tree.ligaments[i, side, 1] * (2.0 * side - 1.0)) * (
        load(q, c, i) - tree.ligaments[i, side, 2]
    )
    y = at_most(x, LARGEST_EXPONENT)
    return exp(y), x - y


@jit
def joint_force(tree, c, i, q, v, a):
    """Torque of spring, ligaments, friction and armature at joint i."""
    passive = elastic_force(tree, c, i, q) + friction_force(tree, c, i, v)
    return passive + tree.armature[i] * load(a, c, i)


@jit
def friction_force(tree, c, i, v):
    """Torque that overcomes the friction at joint i."""
    rate = load(v, c, i)
    force = tree.damping[i] * rate
    if tree.coulomb[i] != 0.0:
        force = force + tree.coulomb[i] * tanh(rate * (1.0 / tree.coulomb_speed[i]))
    return force


@jit
def elastic_force(tree, c, i, q):
    """Torque that holds spring and ligaments at joint i: d/dq of their energy."""
    force = tree.stiffness[i] * (load(q, c, i) - tree.rest[i])
    for side in range(2):
        moment = tree.ligaments[i, side, 0]
        if moment != 0.0:
            e, d = stretch(tree, c, i, side, q)
            force = force + (moment * (2.0 * side - 1.0)) * (e * (1.0 + d * (1.0 + 0.5 * d)))
    return force


@jit
def joint_stiffness(tree, c, i, q):
    """d/dq of spring and ligaments at joint i."""
    slope = tree.stiffness[i] + 0.0 * load(q, c, i)  # of the number type of q
    for side in range(2):
        moment = tree.ligaments[i, side, 0]
        if moment != 0.0:
            e, d = stretch(tree, c, i, side, q)
            slope = slope + (moment * tree.ligaments[i, side, 1]) * (e * (1.0 + d))
    return slope


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
def joint_partials(tree, c, i, q, v, dq, dv, da):
    """Add the partials to the pair (i, i) of dtau/dq, dtau/dv and dtau/da."""
    k = tree.pair[i]
    store(dq, c, 2 * k, load(dq, c, 2 * k) + joint_stiffness(tree, c, i, q))
    store(da, c, k, load(da, c, k) + tree.armature[i])
    store(dv, c, 2 * k, load(dv, c, 2 * k) + joint_slope(tree, c, i, v))


@jit
def elastic_bend(tree, c, i, q):
    """Second derivative in q of spring and ligaments at joint i."""
    total = 0.0 * load(q, c, i)
    for side in range(2):
        moment, rate = tree.ligaments[i, side, 0], tree.ligaments[i, side, 1]
        if moment != 0.0:
            e, _ = stretch(tree, c, i, side, q)
            total = total + ((2.0 * side - 1.0) * moment * rate * rate) * e
    return total


@jit
def friction_bend(tree, c, i, v):
    """Second derivative in v of the friction at joint i."""
    bend = 0.0 * load(v, c, i)
    if tree.coulomb[i] != 0.0:
        slope = 1.0 / tree.coulomb_speed[i]
        t = tanh(load(v, c, i) * slope)
        bend = bend - (2.0 * tree.coulomb[i] * slope * slope) * (t * (1.0 - t * t))
    return bend


@jit
def joint_second_partials(tree, c, i, q, v, weight, qq, vv):
    """Add the weight times the second partials in q and in v to the pair (i, i)."""
    k = tree.pair[i]
    if tree.loaded[i] == 1:
        store(qq, c, k, load(qq, c, k) + weight * elastic_bend(tree, c, i, q))
        store(vv, c, k, load(vv, c, k) + weight * friction_bend(tree, c, i, v))


@jit
def elastic_energy(tree, c, i, q):
    """Energy of spring and ligaments at joint i."""
    length = load(q, c, i) - tree.rest[i]
    return (0.5 * tree.stiffness[i]) * (length * length) + ligament_energy(tree, c, i, q)


@jit
def ligament_energy(tree, c, i, q):
    """Energy of the ligaments at joint i; one with rate 0, a constant torque, has none at angle."""
    energy = 0.0 * load(q, c, i)
    for side in range(2):
        moment, rate = tree.ligaments[i, side, 0], tree.ligaments[i, side, 1]
        if moment != 0.0 and rate != 0.0:
            e, d = stretch(tree, c, i, side, q)
            grown = 1.0 + d * (1.0 + d * (0.5 + (1.0 / 6.0) * d))
            energy = energy + (moment / rate) * (e * grown)
        elif moment != 0.0:
            from_angle = load(q, c, i) - tree.ligaments[i, side, 2]
            energy = energy + (moment * (2.0 * side - 1.0)) * from_angle
    return energy


@jit
def rotor_force(tree, c, i, a):
    """Torque at joint i from the coupled rotors: row i of the rotor matrix times a."""
    force = tree.rotor[i, 0] * load(a, c, 0)
    for k in range(1, tree.rotor.shape[1]):
        force = force + tree.rotor[i, k] * load(a, c, k)
    return force
