"""The OpenSim model, motion and force plates of a walking adult, from files to torques."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

import predyn
from predyn.dynamics import frame_kinematics
from recorded_motions import SHARED, needs_shared

LOADS = """<OpenSimDocument Version="40000"><ExternalLoads name="walk"><objects>{}</objects>
<datafile>grf.mot</datafile></ExternalLoads></OpenSimDocument>"""
FORCE = """<ExternalForce name="{0}"><applied_to_body>{0}</applied_to_body>
<force_identifier>{1}_force_v</force_identifier><point_identifier>{1}_force_p</point_identifier>
<torque_identifier>{1}_torque_</torque_identifier></ExternalForce>"""


def filtered_torques(model, motion, plates, links, t):
    """Inverse dynamics of smooth recorded angles under the recorded forces."""
    curves = [make_interp_spline(motion.t, motion.angles[name], k=5) for name in model.joint_names]
    q, v, a = (np.column_stack([curve(t, nu=k) for curve in curves]) for k in range(3))
    forces = []
    for name, link in links.items():
        plate = plates.forces[name]
        force, point, moment = (
            make_interp_spline(plate.t, values)(t)
            for values in (plate.force, plate.point, plate.moment)
        )
        arm = point - frame_kinematics(model, link, q, v, a).p
        forces.append(predyn.ExternalForce(link, force, moment + np.cross(arm, force)))
    return predyn.inverse_dynamics(model, q, v, a, forces=forces)


@needs_shared
@pytest.mark.filterwarnings("ignore::predyn.DataWarning")
def test_torques_of_a_walking_adult_follow_from_opensim_files(tmp_path: Path) -> None:
    data = SHARED / "data" / "recordings"
    model = predyn.load_osim(SHARED / "data" / "muscles" / "gait10dof18musc.osim")
    pairs = (("calcn_r", "ground"), ("calcn_l", "1_ground"))
    (tmp_path / "loads.xml").write_text(LOADS.format("".join(FORCE.format(*x) for x in pairs)))
    links = predyn.load_external_loads(tmp_path / "loads.xml").links
    motion = predyn.load_measurements(data / "subject01_walk_IK.mot", end=1.2)
    plates = predyn.load_measurements(data / "subject01_walk_grf.mot")
    recorded = replace(motion, forces=plates.forces)
    estimate = predyn.estimate_torques(model, recorded, forces=links, verbose=False)
    smooth = predyn.load_measurements(data / "true10_6.mot")  # low-passed at 6 Hz
    wanted = filtered_torques(model, smooth, plates, links, estimate.t_tau)
    inner = (estimate.t_tau > 0.2) & (estimate.t_tau < 1.0)
    error = np.sqrt(np.mean((estimate.tau - wanted)[inner] ** 2, axis=0))
    mass = model.inertia[:, 0].sum()
    for name in ("hip_flexion", "knee_angle", "ankle_angle"):
        for side in "rl":  # measured: 0.05 at the hip, 0.02 at the knee, 0.006 at the ankle
            assert error[model.joint_index(f"{name}_{side}")] < 0.1 * mass
    estimate.save(tmp_path / "result.h5")
    stored = predyn.load_estimate(tmp_path / "result.h5").model
    assert [x.joint for x in stored.couplings] == [x.joint for x in model.couplings]
    q = estimate.q[0]
    assert np.array_equal(predyn.mass_matrix(stored, q), predyn.mass_matrix(model, q))
