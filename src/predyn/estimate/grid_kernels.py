"""What an iteration does with splines and differences of torques, compiled: NumPy takes longer to
be called than small problems take."""

from __future__ import annotations

from predyn.kernels.kernel_cache import keeper

kept = keeper(__file__)


@kept
def positions(c, interval, basis, out):
    """out (M, n) = sum of the three blocks that each sample sees."""
    for s in range(out.shape[0]):
        k = interval[s]
        for j in range(out.shape[1]):
            out[s, j] = (
                basis[s, 0] * c[k, j] + basis[s, 1] * c[k + 1, j] + basis[s, 2] * c[k + 2, j]
            )


@kept
def middles(c, h, q, v, a):
    """q, v, a (K, n) in the middles of intervals."""
    slow, fast = 0.5 / h, 1.0 / (h * h)
    for k in range(q.shape[0]):
        for j in range(q.shape[1]):
            left, own, right = c[k, j], c[k + 1, j], c[k + 2, j]
            q[k, j] = 0.125 * (left + 6.0 * own + right)
            v[k, j] = slow * (right - left)
            a[k, j] = fast * (left - 2.0 * own + right)


@kept
def middle_slopes(dq, dv, da, h, U):
    """U (K, m, 3 n): partials in the three blocks from those (K, m, n) in q, v, a."""
    slow, fast = 0.5 / h, 1.0 / (h * h)
    n = dq.shape[2]
    for k in range(dq.shape[0]):
        for i in range(dq.shape[1]):
            for j in range(n):
                by_q, by_v, by_a = dq[k, i, j], slow * dv[k, i, j], fast * da[k, i, j]
                U[k, i, j] = 0.125 * by_q - by_v + by_a
                U[k, i, n + j] = 0.75 * by_q - 2.0 * by_a
                U[k, i, 2 * n + j] = 0.125 * by_q + by_v + by_a


@kept
def differences(value, J, change, wider):
    """Changes from one interval to the next, with slopes in one block more."""
    width = J.shape[2]
    n = wider.shape[2] - width
    for k in range(change.shape[0]):
        for i in range(change.shape[1]):
            change[k, i] = value[k + 1, i] - value[k, i]
            for b in range(n):
                wider[k, i, b] = -J[k, i, b]
                wider[k, i, width + b] = J[k + 1, i, width - n + b]
            for b in range(n, width):
                wider[k, i, b] = J[k + 1, i, b - n] - J[k, i, b]


@kept
def gather(place, values, slopes, rows, measured, value, J):
    """Fill `rows` of value (R,) and J (R, n): fitted less measured, and slopes, at their places."""
    for r in rows:
        value[r] = values[place[r]] - measured[r]
        for j in range(J.shape[1]):
            J[r, j] = slopes[place[r], j]


@kept
def half_squares(value, sd, which):
    """Half the sum of (value / sd)^2; `which` says which sd a row has."""
    total = 0.0
    for r in range(value.shape[0]):
        x = value[r] / sd[which[r]]
        total += x * x
    return 0.5 * total


@kept
def filtered_rows(value, J, steady, start, rows, wide):
    """rows (K, m): sums of neighbouring values, with slopes in as many blocks more.

    Row k >= p is the sum of steady[i] value[k - i], row k < p that of start[k, i] value[i].
    """
    order, count, width = len(start), value.shape[0], J.shape[2]
    n = (wide.shape[2] - width) // order
    for k in range(count):
        before = min(k, order)
        at = max(k - order, 0)
        for j in range(value.shape[1]):
            rows[k, j] = 0.0
            for i in range(before + 1):
                share = steady[i] if k >= order else start[k, k - i]
                rows[k, j] += share * value[k - i, j]
                away = (k - i - at) * n
                for b in range(width):
                    wide[k, j, away + b] += share * J[k - i, j, b]


@kept
def lag_moments(value, J, C, n, half, out):
    """out[l, k] = E x_k x'_{k-l} of x with means `value` (K, m), slopes J (K, m, w) in blocks of n.

    C has the covariances of the unknowns in a band; half (m, w) is room.
    """
    lags, m, width = out.shape[0], value.shape[1], J.shape[2]
    middle = (C.shape[1] - 1) // 2
    for k in range(value.shape[0]):
        for lag in range(min(lags, k + 1)):
            other = k - lag
            for i in range(m):
                for b in range(width):
                    half[i, b] = 0.0
                for a in range(width):
                    x = J[k, i, a]
                    if x != 0.0:
                        row, at = k * n + a, middle - lag * n - a
                        for b in range(width):
                            half[i, b] += x * C[row, at + b]
                for j in range(m):
                    total = value[k, i] * value[other, j]
                    for b in range(width):
                        total += half[i, b] * J[other, j, b]
                    out[lag, k, i, j] = total


@kept
def serial_rows(J, value, interval, basis, before, depth, steady, start, last, n, first, wide, out):
    """Rows of residuals less what those of the samples before predict, see serial_noise.py."""
    order = len(start)
    for r in range(len(value)):
        d = depth[r]
        base = min(interval[before[d, r]], last)
        first[r] = base * n
        for i in range(d + 1):
            share = steady[i] if d == order else start[d, d - i]
            q = before[i, r]
            out[r] += share * value[q]
            for left in range(3):
                at = (interval[q] + left - base) * n
                weight = share * basis[q, left]
                for a in range(n):
                    wide[r, at + a] += weight * J[q, a]


@kept
def serial_moments(J, value, interval, basis, before, C, n, half, out):
    """out[l, r] = E e_r e_q, q the row l samples before r; half (n,) is room."""
    middle = (C.shape[1] - 1) // 2
    for lag in range(out.shape[0]):
        for r in range(len(value)):
            q = before[lag, r]
            if q < 0:
                continue
            total = value[r] * value[q]
            for left in range(3):
                for a in range(n):
                    x = basis[r, left] * J[r, a]
                    if x == 0.0:
                        continue
                    row = (interval[r] + left) * n + a
                    for right in range(3):
                        at = middle + (interval[q] + right - interval[r] - left) * n - a
                        for b in range(n):
                            total += x * basis[q, right] * J[q, b] * C[row, at + b]
            out[lag, r] = total
