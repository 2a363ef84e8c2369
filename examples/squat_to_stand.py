"""Standing up from a squat with least effort: the torque-driven example of OpenSim Moco.

You will learn: how to use an OpenSim model in a problem, how to state bounds, strengths and effort
as Moco does, and what the result and its time are compared with Moco's.

    python squat_to_stand.py                                a body of three segments
    python squat_to_stand.py squatToStand_3dof9musc.osim    Moco's model, which comes with
                                                            opensim-core (exampleSquatToStand)
"""

import sys
import time

import numpy as np

import predyn
from predyn import Cost, ModelBuilder, Phase, Problem, Spline, State
from predyn.terms import Effort

ANKLE, KNEE, HIP = "ankle_angle_r", "knee_angle_r", "hip_flexion_r"
BOUNDS = {ANKLE: (-0.5, 0.7), KNEE: (-2.0, 0.0), HIP: (-2.0, 0.5)}  # rad
STRENGTH = {ANKLE: 150.0, KNEE: 300.0, HIP: 150.0}  # N m: "optimal forces" of Moco's actuators
SQUAT = {ANKLE: -0.5, KNEE: -2.0, HIP: -2.0}  # rad; at 0 the person stands


def three_segments() -> predyn.Model:
    """A leg on a fixed foot with half of a trunk: round numbers of a person of 75 kg."""
    segments = (  # joint, its height above the last, mass, centre of mass, inertia about it
        (ANKLE, 0.00, 3.2, 0.24, 0.04),
        (KNEE, 0.43, 10.6, 0.25, 0.21),
        (HIP, 0.43, 22.6, 0.33, 1.20),
    )
    builder, parent = ModelBuilder("squat", gravity=(0.0, -9.81, 0.0)), "world"
    for joint, above, mass, centre, inertia in segments:
        builder.add_link(
            f"{joint}_link",
            parent,
            joint,
            axis=(0.0, 0.0, 1.0),
            origin=(0.0, above, 0.0),
            mass=mass,
            com=(0.0, centre, 0.0),
            inertia=(inertia, 0.01, inertia),
        )
        parent = f"{joint}_link"
    return builder.build()


def squat_to_stand(model: predyn.Model) -> Problem:
    """From the squat to standing in 1 s, from rest to rest; the integral of squared controls."""
    rest = np.zeros(model.n)
    start = [SQUAT[name] for name in model.joint_names]
    strength = [STRENGTH[name] for name in model.joint_names]
    return Problem(
        model.with_limits(position=BOUNDS, effort=strength),
        (Phase(1.0, State(q=start, v=rest), State(q=rest, v=rest)),),
        costs=(Cost(Effort(per=strength)),),
        transcription=Spline(segments=25),  # Moco's example has 25 mesh intervals
        name="squat-to-stand",
    )


if __name__ == "__main__":
    moco = len(sys.argv) > 1
    # smooth functions for the knee: a program's second derivatives need them
    body = predyn.load_osim(sys.argv[1], functions="smooth") if moco else three_segments()
    problem = squat_to_stand(body)
    predyn.solve(problem)  # compiles, once for all times
    began = time.process_time()
    motion = predyn.solve(problem).check()
    seconds = time.process_time() - began
    print(f"effort {motion.objective:.6f}, {motion.iterations} iterations, {seconds:.2f} s of CPU")
    if moco:  # opensim 4.6, one thread of a shared machine with two cores
        print("Moco: 0.229299, 67 iterations, 52 s of CPU")
    print("largest share of the strength used:", end="")
    used = np.abs(motion.tau).max(axis=0) / [STRENGTH[name] for name in body.joint_names]
    for name, share in zip(body.joint_names, used, strict=True):
        print(f" {name} {share:.0%}", end="")
    print()
