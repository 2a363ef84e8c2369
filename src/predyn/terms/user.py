"""Terms written by users in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import SIDES, Offer, Samples, channel_size
from predyn.terms.selection import read_positive
from predyn.terms.term import Residual, Term

STEP = 1e-30  # complex step: no cancellation, so it can be tiny
DIFFERENCE = np.finfo(float).eps ** (1 / 3)  # step of central differences, relative to 1 + |x|
DISAGREE = 1e-4  # partials and differences that differ by more than this share are an error
MOST_ROWS = 10_000
CHECKED = 4  # instants at which they are compared

Channels = dict[str, NDArray]
Variable = tuple[str, int]  # channel, component


@dataclass(frozen=True, eq=False)
class UserTerm(Term):
    """A residual given by a function of samples: function(samples) -> (rows, K).

    samples["q"] is (n, K): component first, then K instants, which the function must treat alike
    and independently of each other; it sees only the declared channels. rows: names, or their
    number (with 1, the function may return (K,)). depends: {"q": (0, 2)} names the components of a
    channel that matter (default: all); derivatives known to be zero are not computed.

    Channels "first.q", "second.frame:tip" and so on make it a constraint on a pair of instants, the
    start and the end of the motion or of a phase.

    First partials are computed by complex steps: exact to rounding if the function accepts complex
    numbers (no abs, real, arctan2, norm; sqrt(x * x) serves as |x|). Second partials are central
    differences of those: seven to ten digits, not exact, and slower than a built-in term by a
    factor of the number of components.
    """

    function: Callable[[Samples], ArrayLike]
    channels: Sequence[str]
    rows: int | Sequence[str] = 1
    scale: ArrayLike = 1.0
    depends: Mapping[str, Sequence[int]] | None = None
    name: str = "user"

    kind = "user"

    def __post_init__(self) -> None:
        given: object = self.channels
        names = given if isinstance(given, Sequence | set) else ()
        pairs = any(str(name).split(".")[0] in SIDES for name in names)
        object.__setattr__(self, "pairs", pairs)

    def bind(self, model: Model) -> Residual:
        return UserResidual(self, lambda channel: channel_size(model, channel))

    def bind_to(self, offer: Offer) -> Residual:
        def size(channel: str) -> int:
            offer.require(self.kind, (channel,))
            return offer.size(channel)

        return UserResidual(self, size)

    def row_names(self) -> tuple[str, ...]:
        """Names of the rows, derived from the term's name if only their number is given."""
        rows = self.rows
        if (
            isinstance(rows, int | np.integer)
            and not isinstance(rows, bool)
            and 0 < rows <= MOST_ROWS
        ):
            return (self.name,) if rows == 1 else tuple(f"{self.name} {k}" for k in range(rows))
        names = list(rows) if isinstance(rows, Sequence) and not isinstance(rows, str) else []
        if not names or not all(isinstance(x, str) for x in names) or len(set(names)) < len(names):
            raise InputError(
                f"term {self.name!r}: rows: expected a number above 0 (up to {MOST_ROWS}) or "
                f"different names, got {rows!r:.60}"
            )
        return tuple(names)

    def variables(self, size_of: Callable[[str], int]) -> tuple[Variable, ...]:
        """Components that the function depends on, given the number of each channel."""
        given: object = self.channels
        if (
            not isinstance(given, Sequence | set)
            or isinstance(given, str)
            or not given
            or not all(isinstance(channel, str) for channel in given)
        ):
            raise InputError(
                f"term {self.name!r}: channels: expected a list of names such as ['q', 'tau'], "
                f"got {self.channels!r:.60}"
            )
        depends = self.depends or {}
        if not isinstance(depends, Mapping):
            raise InputError(
                f"term {self.name!r}: depends: expected components by channel such as "
                f"{{'q': [0, 2]}}, got {depends!r:.60}"
            )
        for channel, components in depends.items():
            if not np.size(components) or np.ndim(components) != 1:
                raise InputError(
                    f"term {self.name!r}: depends: {channel!r:.40} has no components in "
                    f"{components!r:.40}; remove the channel, or list the components that matter"
                )
            if channel not in self.channels:
                raise InputError(
                    f"term {self.name!r}: depends: {channel!r:.40} is not in its channels "
                    f"{list(self.channels)!r:.80}"
                )
        found = []
        for channel in dict.fromkeys(self.channels):
            if (channel.split(".")[0] in SIDES) != self.pairs:
                raise InputError(
                    f"term {self.name!r}: {channel!r:.40}: expected 'first.' or 'second.' before "
                    "all channels (a pair of instants) or before none"
                )
            size = size_of(channel)
            for k in depends.get(channel, range(size)):
                if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k < size:
                    raise InputError(
                        f"term {self.name!r}: depends: {channel!r} has components 0 to {size - 1}, "
                        f"got {k!r:.40}"
                    )
                found.append((channel, int(k)))
        return tuple(dict.fromkeys(found))


class UserResidual(Residual):
    """A function with derivatives by complex steps; see UserTerm."""

    exact = False

    def __init__(self, term: UserTerm, size_of: Callable[[str], int]) -> None:
        if not callable(term.function):
            raise InputError(
                f"term {term.name!r}: function: expected a function, got {term.function!r:.60}"
            )
        self._name, self._function = term.name, term.function
        self.rows = term.row_names()
        self.units = ("1",) * len(self.rows)
        self.scale = read_positive(term.scale, f"term {term.name!r}: scale", self.rows)
        self._variables = term.variables(size_of)
        self._sizes = {c: size_of(c) for c in dict.fromkeys(term.channels)}
        self.entries = tuple(
            (row, *variable) for row in range(len(self.rows)) for variable in self._variables
        )
        self.curved = tuple(
            (*one, *two) for one, two in combinations_with_replacement(self._variables, 2)
        )
        self._checked = False
        self._check_output()

    def value(self, s: Samples, out: NDArray) -> None:
        out[:] = self._check_finite(self._call(self._flatten(s))).reshape(out.shape)

    def partials(self, s: Samples, out: NDArray) -> None:
        x = self._flatten(s)
        if not self._checked:
            self._check_slopes(x)
        out[:] = self._compute_slopes(x, self._variables).reshape(out.shape)

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        x = self._flatten(s)
        weights = weights.reshape(len(self.rows), 1, -1)
        flat = np.empty((len(self.curved), weights.shape[2]))
        done = 0
        for k, (channel, component) in enumerate(self._variables):
            step = DIFFERENCE * (1.0 + np.abs(x[channel][component]))
            moved = []
            for sign in (1.0, -1.0):
                there = dict(x) | {channel: x[channel].copy()}
                there[channel][component] += sign * step
                moved.append(
                    (weights * self._compute_slopes(there, self._variables[k:])).sum(axis=0)
                )
            rest = len(self._variables) - k
            flat[done : done + rest] = (moved[0] - moved[1]) / (2.0 * step)
            done += rest
        out[:] = flat.reshape(out.shape)

    def _flatten(self, s: Samples) -> Channels:
        """The declared channels, instants flattened to one axis."""
        return {c: s[c].reshape(size, -1) for c, size in self._sizes.items()}

    def _compute_slopes(self, x: Channels, variables: Sequence[Variable]) -> NDArray:
        """First partials (rows, variables, K) by complex steps, in one call."""
        m = len(variables)
        moved = {c: np.repeat(v.astype(complex)[:, None], m, axis=1) for c, v in x.items()}
        for k, (channel, component) in enumerate(variables):
            moved[channel][component, k] += STEP * 1j
        y = self._call({c: v.reshape(len(v), -1) for c, v in moved.items()})
        if not np.iscomplexobj(y):
            raise self._complex_error("it returned real numbers for complex ones")
        return self._check_finite(y.imag.reshape(len(self.rows), m, -1)) / STEP

    def _call(self, x: Channels) -> NDArray:
        instants = next(iter(x.values())).shape[1]
        try:
            with np.errstate(all="ignore"):
                y = np.asarray(self._function(Samples(x)))
        except Exception as error:
            error.add_note(f"in the function of term {self._name!r}")
            raise
        if len(self.rows) == 1 and y.shape == (instants,):
            y = y[None]
        if y.shape != (len(self.rows), instants) or y.dtype.kind not in "iufc":
            raise InputError(
                f"term {self._name!r}: its function returned {y.dtype} of shape {y.shape}, "
                f"expected numbers of shape ({len(self.rows)}, {instants}): "
                f"rows ({', '.join(self.rows)}), instants"
            )
        return y

    def _check_finite(self, y: NDArray) -> NDArray:
        if not np.all(np.isfinite(y)):
            row, *_, instant = (int(k[0]) for k in np.nonzero(~np.isfinite(y)))
            raise InputError(
                f"term {self._name!r}: its function gave a number that is not finite in row "
                f"{self.rows[row]!r} at instant {instant} of {y.shape[-1]}; make it finite for "
                "all samples, or avoid such motions by limits or another guess"
            )
        return y

    def _check_output(self) -> None:
        """Check shape and number type at made-up samples."""
        x = {c: np.linspace(0.1, 0.9, 3 * n).reshape(n, 3) for c, n in self._sizes.items()}
        self._call(x)
        try:
            y = self._call({c: v.astype(complex) for c, v in x.items()})
        except Exception as error:
            raise self._complex_error(f"{type(error).__name__}: {error}") from error
        if not np.iscomplexobj(y):
            raise self._complex_error("it returned real numbers for complex ones")

    def _check_slopes(self, x: Channels) -> None:
        """Compare complex steps with differences at a few instants, undeclared components too."""
        instants = next(iter(x.values())).shape[1]
        few = np.unique(np.linspace(0, instants - 1, CHECKED).astype(int))
        x = {c: np.ascontiguousarray(v[:, few].real) for c, v in x.items()}
        everything = [(c, k) for c, size in self._sizes.items() for k in range(size)]
        slopes = self._compute_slopes(x, everything)
        size = np.abs(self._call(x)) + self.scale[:, None]
        for k, (channel, component) in enumerate(everything):
            step = DIFFERENCE * (1.0 + np.abs(x[channel][component]))
            ends = []
            for sign in (1.0, -1.0):
                there = dict(x) | {channel: x[channel].copy()}
                there[channel][component] += sign * step
                ends.append(self._call(there))
            difference = (ends[0] - ends[1]) / (2.0 * step)
            slope = slopes[:, k]
            bound = DISAGREE * (np.maximum(np.abs(slope), np.abs(difference)) + 1e-2 * size)
            wrong = (
                np.abs(slope - difference) > bound
            )  # NaN next to a domain's edge is not an error
            if np.any(wrong):
                row, instant = (int(i[0]) for i in np.nonzero(wrong))
                raise self._complex_error(
                    f"at {channel}[{component}] row {self.rows[row]!r} has the slope "
                    f"{slope[row, instant]:.6g} by complex steps, {difference[row, instant]:.6g} "
                    "by differences"
                )
            if (channel, component) not in self._variables and np.any(slope):
                raise InputError(
                    f"term {self._name!r}: its function depends on {channel}[{component}], which "
                    "`depends` leaves out; add it"
                )
        self._checked = True

    def _complex_error(self, what: str) -> InputError:
        return InputError(
            f"term {self._name!r}: its function must accept complex numbers, because its "
            f"derivatives are computed by complex steps: {what}; avoid abs, real, arctan2, hypot, "
            "norm and arrays with a real dtype (sqrt(x * x) serves as |x|)"
        )
