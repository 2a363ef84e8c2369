"""Torques of a recording: which torques made a motion that was measured with noise?

You will learn: how to put measurements together, how to estimate torques with their 95 % bands,
what an estimate says about itself, and how it compares with filtering and differentiating.
"""

import numpy as np

import predyn
from predyn.dynamics import frame_kinematics

# A recording: two links driven by known torques, their ends seen with 1 mm of noise, gaps too.
model = predyn.models.trujillo_two_link()
t = np.linspace(0.0, 2.0, 201)


def torques(t: np.ndarray) -> np.ndarray:
    return np.stack((2.0 * np.sin(2 * np.pi * t), 0.8 * np.cos(3 * np.pi * t)), axis=-1)


motion = predyn.simulate(model, [-1.6, 0.1], [0.0, 0.0], lambda t, q, v: torques(t), t)
random = np.random.default_rng(0)
markers = {}
for name in ("end1", "end2"):
    seen = frame_kinematics(model, name, motion.q).p + 1e-3 * random.standard_normal((201, 3))
    seen[random.random(201) < 0.1] = np.nan  # missing
    markers[name] = seen
recording = predyn.Measurements(t, markers=markers)

# Noise, smoothness and start are found from the recording itself; a file name would do as well.
estimate = predyn.estimate_torques(model, recording).check()
print(estimate)
for channel in estimate.channels[::3]:
    print(f"noise of {channel.name[:-2]}: {1000 * channel.sd:.2f} mm")

truth = torques(estimate.t_tau)
low, high = estimate.tau_band
print("\ntime [s]  true, estimated, 95 % band [N m] of joint1")
for k in range(0, len(truth), 40):
    now = f"{estimate.t_tau[k]:8.3f}  {truth[k, 0]:6.3f}  {estimate.tau[k, 0]:6.3f}"
    print(f"{now}  {low[k, 0]:6.3f} to {high[k, 0]:6.3f}")
print(f"within the bands: {np.mean((low <= truth) & (truth <= high)):.0%}")

usual = estimate.comparison  # filter, differentiate twice, inverse dynamics
error = np.sqrt(np.mean((estimate.tau - truth) ** 2))
filtered = np.sqrt(np.mean((usual.tau - torques(usual.t)) ** 2))
print(f"error {error:.3f} N m; filtered at {usual.cutoff:.1f} Hz and differentiated {filtered:.3f}")
estimate.save("torques_of_a_recording.h5")
print("wrote torques_of_a_recording.h5")
