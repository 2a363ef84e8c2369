"""Comparisons of two instants: start and end of a step, or the two sides of a phase boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import FRAME_PARTS, STATES, Offer
from predyn.terms.frames import unit_direction
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import (
    Floats,
    check_choice,
    frame_channel,
    joint_indices,
    joint_names,
    joint_scale,
    joint_units,
    read_numbers,
)
from predyn.terms.signals import SignalValue
from predyn.terms.term import Term

JOINT_CHANNELS = (*STATES, "tau")


@dataclass(frozen=True, eq=False)
class Periodic(Term):
    """Channels of the named joints (None: all) at the second instant minus those at the first.

    channels: some of q, v, a, jerk, tau. offset (rad or m; one for all or one for each joint) is
    the gain of q per period.
    """

    channels: Sequence[str] = ("q", "v")
    joints: Sequence[str] | None = None
    offset: ArrayLike = 0.0

    kind = "periodic"
    pairs: ClassVar[bool] = True

    def bind(self, model: Model) -> Linear:
        channels = _check_channels(self.channels, self.kind)
        index = joint_indices(model, self.joints, self.kind)
        gain = read_numbers(self.offset, "periodic: offset", joint_names(model, index))
        if np.any(gain) and "q" not in channels:
            raise InputError(f"periodic: an offset belongs to q, which is not in {channels!r:.60}")
        return _build_difference(model, channels, index, index, np.ones(len(index)), gain)


@dataclass(frozen=True, eq=False)
class Symmetric(Term):
    """Channels at the second instant minus those of the mirrored joints at the first, with signs.

    swap   {"left_hip": "right_hip", ...}: joints that change places, each pair named once; other
           joints are their own mirror image
    signs  {"spine_roll": -1, ...}: joints that change sign in the mirror; name one of a pair
    offset {"base_x": 0.6, ...}: gain of q (rad or m) from the first instant to the second; a number
           or the name of a parameter
    """

    swap: Mapping[str, str] = field(default_factory=dict)
    signs: Mapping[str, float] = field(default_factory=dict)
    channels: Sequence[str] = ("q", "v")
    joints: Sequence[str] | None = None
    offset: Mapping[str, float | str] = field(default_factory=dict)

    kind = "symmetric"
    pairs: ClassVar[bool] = True

    def bind(self, model: Model) -> Linear:
        channels = _check_channels(self.channels, self.kind)
        index = joint_indices(model, self.joints, self.kind)
        image, signs = self._find_images(model), np.ones(model.n)
        given: dict[int, float] = {}
        for name, sign in self.signs.items():
            j = model.joint_index(name)
            if isinstance(sign, bool) or sign not in (1, -1):
                raise InputError(f"symmetric: sign of {name!r}: expected 1 or -1, got {sign!r:.40}")
            if given.get(int(image[j]), sign) != sign:
                other = model.joint_names[image[j]]
                raise InputError(
                    f"symmetric: {name!r} and {other!r} change places, so their signs must agree"
                )
            given[j] = sign
            signs[[j, image[j]]] = sign
        gain, unknown = self._find_gains(model, channels, index)
        return _build_difference(model, channels, index, image[index], signs[index], gain, unknown)

    def _find_gains(
        self, model: Model, channels: tuple[str, ...], index: NDArray[np.int64]
    ) -> tuple[Floats, list[Block]]:
        """The gains of q that are numbers, and blocks of those that are parameters."""
        gain, unknown = np.zeros(len(index)), []
        for name, value in self.offset.items():
            (rows,) = np.nonzero(index == model.joint_index(name))
            if "q" not in channels or not len(rows):
                raise InputError(
                    f"symmetric: the offset of {name!r} belongs to q of this joint, which is not "
                    f"among {channels!r:.40} of the joints of the term"
                )
            if isinstance(value, str):
                factor = np.zeros((len(index), 1))
                factor[rows] = -1.0
                start = channels.index("q") * len(index)
                place = np.zeros(1, np.int64)
                unknown.append(Block(start, f"second.parameter:{value}", place, factor))
            else:
                gain[rows] = read_numbers(value, "symmetric: offset", (name,))
        return gain, unknown

    def _find_images(self, model: Model) -> NDArray[np.int64]:
        image = np.arange(model.n)
        for name, other in self.swap.items():
            i, j = model.joint_index(name), model.joint_index(other)
            for k, to in ((i, j), (j, i)):
                if image[k] not in (k, to):
                    raise InputError(
                        f"symmetric: swap: {model.joint_names[k]!r} has two mirror images, "
                        f"{model.joint_names[image[k]]!r} and {model.joint_names[to]!r}"
                    )
            image[i], image[j] = j, i
        return image


@dataclass(frozen=True, eq=False)
class Continuity(Term):
    """q and its time derivatives up to an order: second instant minus first."""

    order: int = 2
    joints: Sequence[str] | None = None

    kind = "continuity"
    pairs: ClassVar[bool] = True

    def bind(self, model: Model) -> Linear:
        if isinstance(self.order, bool) or self.order not in range(len(STATES)):
            raise InputError(
                f"continuity: order: expected 0 to {len(STATES) - 1} (q, v, a, jerk), "
                f"got {self.order!r:.40}"
            )
        index = joint_indices(model, self.joints, self.kind)
        ones = np.ones(len(index))
        return _build_difference(model, STATES[: self.order + 1], index, index, ones, 0.0 * ones)


@dataclass(frozen=True, eq=False)
class FrameStep(Term):
    """Displacement of a frame's origin from the first instant to the second, minus a target, m.

    axis: "x", "y", "z" or the direction in the world along which it is measured.
    """

    frame: str
    axis: str | ArrayLike = "x"
    target: float = 0.0

    kind = "frame_step"
    pairs: ClassVar[bool] = True

    def bind(self, model: Model) -> Linear:
        channel = frame_channel(model, self.frame, self.kind)
        along = unit_direction(self.axis, "frame_step: axis")[None]
        p = np.arange(FRAME_PARTS["p"].start, FRAME_PARTS["p"].stop)
        name = f"{self.frame} step"
        return Linear(
            (name,),
            ("m",),
            np.ones(1),
            [Block(0, f"second.{channel}", p, along), Block(0, f"first.{channel}", p, -along)],
            read_numbers(self.target, "frame_step: target", (name,)),
        )


@dataclass(frozen=True, eq=False)
class PeriodicSignal(Term):
    """Components of a signal at the second instant minus those of `image` at the first.

    image   another signal, such as the force on the other foot; None: the same
    signs   of the components at the first instant: 1 or -1, one for all or one for each
    """

    signal: str
    image: str | None = None
    components: Sequence[str] | None = None
    signs: ArrayLike = 1.0

    kind = "periodic_signal"
    pairs: ClassVar[bool] = True

    def bind(self, model: Model) -> Linear:
        raise InputError(f"term {self.kind!r}: it needs the signals of a problem")

    def bind_to(self, offer: Offer) -> Linear:
        image = self.signal if self.image is None else self.image
        sides = [SignalValue(name, self.components).bind_to(offer) for name in (self.signal, image)]
        signs = read_numbers(self.signs, "periodic_signal: signs", sides[0].rows)
        if len(sides[1].rows) != len(signs) or not np.all(np.abs(signs) == 1.0):
            raise InputError(
                f"periodic_signal: expected signs 1 or -1 and as many components of {image!r} as "
                f"of {self.signal!r} ({len(signs)}), got {signs.tolist()!r:.40} and "
                f"{len(sides[1].rows)}"
            )
        blocks = []
        for side, name, bound, factors in (
            ("second", self.signal, sides[0], np.ones(len(signs))),
            ("first", image, sides[1], -signs),
        ):
            at = np.array([x for _, _, x in bound.entries])
            blocks.append(Block(0, f"{side}.signal:{name}", at, factors))
        rows, units, scale = sides[0].rows, sides[0].units, sides[0].scale
        return Linear(rows, units, scale, blocks)


def _check_channels(channels: Sequence[str], kind: str) -> tuple[str, ...]:
    names = tuple(channels)
    if isinstance(channels, str) or not names or len(set(names)) < len(names):
        raise InputError(f"{kind}: channels: expected different names, got {channels!r:.60}")
    for name in names:
        check_choice(f"channel of {kind}", name, JOINT_CHANNELS)
    return names


def _build_difference(
    model: Model,
    channels: Sequence[str],
    joints: NDArray[np.int64],
    images: NDArray[np.int64],
    signs: Floats,
    gain: Floats,
    unknown: Sequence[Block] = (),
) -> Linear:
    """second.x of the joints minus signs times first.x of their images, minus gain for q; unknown:
    blocks of gains that are parameters.
    """
    n = len(joints)
    blocks, offset = [], np.zeros(n * len(channels))
    for k, channel in enumerate(channels):
        blocks.append(Block(k * n, f"second.{channel}", joints, np.ones(n)))
        blocks.append(Block(k * n, f"first.{channel}", images, -signs))
        if channel == "q":
            offset[k * n : (k + 1) * n] = gain
    names = joint_names(model, joints)
    return Linear(
        tuple(f"{name} {channel}" for channel in channels for name in names),
        tuple(unit for channel in channels for unit in joint_units(model, joints, channel)),
        np.concatenate([joint_scale(model, joints, channel) for channel in channels]),
        [*blocks, *unknown],
        offset,
    )
