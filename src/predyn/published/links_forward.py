"""The forward pass of the discrete inverse problem, and a first trajectory near the data, compiled.

links_passes.py explains the quantities of a pass.
"""

from __future__ import annotations

import numpy as np

from predyn.published.link_kernels import cached_kernel, cholesky, place, solve_cholesky
from predyn.published.link_steps import advance
from predyn.published.links_passes import linearise, meet_data

LENGTH_WEIGHT, STAY_WEIGHT = 1e2, 1e-3  # when following the data


@cached_kernel
def straighten(system, z, v, linear, z_new, v_new, scratch):
    """In the parts z and v of `apart`, replace the components along the links at z by the
    differences of lengths and rates: otherwise a rotation would count as a stretch, to which
    feedback on stiff springs overreacts.
    """
    n, links = z.shape[0], system.length.shape[0]
    G, GG, pull, apart = scratch.G, scratch.GG, scratch.pull, scratch.apart
    for link in range(links):
        dx, dy, ex, ey, L, _ = place(system, link, z, v, pull[:0])
        ax, ay, bx, by, L_new, _ = place(system, link, z_new, v_new, pull[:0])
        sx, sy, tx, ty, _, _ = place(system, link, linear[:n], linear[n : 2 * n], pull[:0])
        sx -= system.offset[link, 0]
        sy -= system.offset[link, 1]
        rate = (dx * ex + dy * ey) / L
        scratch.stretch[0, link] = L_new - L - (dx * sx + dy * sy) / L
        sx, sy = ax - dx, ay - dy
        turned = ex * sx + ey * sy - rate * (dx * sx + dy * sy) / L
        faster = (dx * tx + dy * ty + turned) / L
        scratch.stretch[1, link] = (ax * bx + ay * by) / L_new - rate - faster
        for j in range(n):
            G[link, j] = (system.arms[link, 0, j] * dx + system.arms[link, 1, j] * dy) / L
    for a in range(links):
        for b in range(links):
            GG[a, b] = 1e-9 if a == b else 0.0  # a closed linkage may have a redundant link
            for j in range(n):
                GG[a, b] += G[a, j] * G[b, j]
    cholesky(GG)
    for k in range(2):
        for a in range(links):
            pull[a] = scratch.stretch[k, a]
            for j in range(n):
                pull[a] -= G[a, j] * apart[k * n + j]
        solve_cholesky(GG, pull)
        for a in range(links):
            for j in range(n):
                apart[k * n + j] += G[a, j] * pull[a]


@cached_kernel
def forward(system, h, data, order, z, v, u, stages, held, z_new, v_new, u_new, scratch, out):
    """The motion by equations 11 and 12, near that of equations 14 and 17f; returns the number of
    steps done.

    Torques are those of the linear pass plus `held` (N, t, s), feedback on the deviation of the
    motion from it: a mechanism may be unstable, and with stiff springs the trapezoidal rule is.
    out[0] is the misfit, out[1] the weighted and out[2] the plain sum of squared torques, or of
    their differences.
    """
    N, torques, n = u.shape[0], u.shape[1], z.shape[1]
    x = 2 * n
    y = x + order * torques
    linear, apart = scratch.linear, scratch.apart
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    for j in range(y):
        linear[j] = 0.0
    for i in range(N):
        K = stages.feedback[i]
        for j in range(n):
            apart[j] = z_new[i, j] - z[i, j] - linear[j]
            apart[n + j] = v_new[i, j] - v[i, j] - linear[n + j]
        for t in range(y - x):
            apart[x + t] = u_new[i - 1, t] - u[i - 1, t] - linear[x + t] if i > 0 else 0.0
        straighten(system, z[i], v[i], linear, z_new[i], v_new[i], scratch)
        for t in range(torques):
            du = stages.steps[i, t]
            for j in range(y):
                du += K[t, j] * linear[j]
            scratch.column[t] = du
            u_new[i, t] = u[i, t] + du
            for j in range(y):
                u_new[i, t] += held[i, t, j] * apart[j]
            penalised_torques = u_new[i, t]
            if order == 1:
                penalised_torques = u_new[i, t] - u_new[i - 1, t] if i > 0 else 0.0
            out[1] += data.B[t] * penalised_torques * penalised_torques
            out[2] += penalised_torques * penalised_torques
        for a in range(x):
            scratch.s_next[a] = stages.n[i, a]
            for b in range(x):
                scratch.s_next[a] += stages.A[i, a, b] * linear[b]
            for t in range(torques):
                scratch.s_next[a] += stages.P[i, a, t] * scratch.column[t]
        for a in range(x):
            linear[a] = scratch.s_next[a]
        for t in range(y - x):
            linear[x + t] = scratch.column[t]
        for j in range(n):
            v_new[i + 1, j] = v_new[i, j] + v[i + 1, j] - v[i, j]
        if not advance(
            system, h, z_new[i], v_new[i], u_new[i], z_new[i + 1], v_new[i + 1], scratch.step
        ):
            return i
        for m in range(data.Q.shape[0]):
            e = -data.measured[i + 1, m]
            for j in range(n):
                e += data.Q[m, j] * z_new[i + 1, j]
            out[0] += data.seen[i + 1, m] * e * e
    return N


@cached_kernel
def find_largest_defect(system, h, z, v, u, stages, scratch):
    """The largest velocity by which z, v miss being the motion under u, in any interval."""
    largest = 0.0
    for i in range(u.shape[0]):
        A, P, defect = stages.A[i], stages.P[i], stages.n[i]
        if not linearise(system, h, z[i], v[i], u[i], z[i + 1], v[i + 1], A, P, defect, scratch):
            return np.inf
        for j in range(z.shape[1]):
            largest = max(largest, abs(defect[z.shape[1] + j]), abs(defect[j]) / h)
    return largest


@cached_kernel
def follow(system, data, z, scratch):
    """Fill z from its first row on: at each sample, coordinates that match the measurements with
    links at their lengths, near those of the previous sample.
    """
    n = z.shape[1]
    R, s, step = scratch.R, scratch.s, scratch.adjoint
    for i in range(1, z.shape[0]):
        for j in range(n):
            z[i, j] = z[i - 1, j]
        for _ in range(30):
            for a in range(n):
                s[a] = STAY_WEIGHT**2 * (z[i, a] - z[i - 1, a])
                for b in range(n):
                    R[a, b] = STAY_WEIGHT**2 if a == b else 0.0
            meet_data(data, i, z[i], R, s, step)
            for link in range(system.length.shape[0]):
                dx, dy = system.offset[link, 0], system.offset[link, 1]
                for j in range(n):
                    dx += system.arms[link, 0, j] * z[i, j]
                    dy += system.arms[link, 1, j] * z[i, j]
                L = np.sqrt(dx * dx + dy * dy)
                stretch = LENGTH_WEIGHT * (L - system.length[link])
                for a in range(n):
                    ga = system.arms[link, 0, a] * dx + system.arms[link, 1, a] * dy
                    ga *= LENGTH_WEIGHT / L
                    s[a] += stretch * ga
                    for b in range(n):
                        gb = system.arms[link, 0, b] * dx + system.arms[link, 1, b] * dy
                        R[a, b] += ga * gb * LENGTH_WEIGHT / L
            for a in range(n):
                step[a] = -s[a]
            if not cholesky(R[:n, :n]):
                return False
            solve_cholesky(R[:n, :n], step[:n])
            largest = 0.0
            for a in range(n):
                z[i, a] += step[a]
                largest = max(largest, abs(step[a]))
            if largest < 1e-9:
                break
    return True
