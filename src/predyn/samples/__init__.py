"""Samples: named channels at instants, the inputs of terms."""

from predyn.samples.offer import Further, Offer
from predyn.samples.registry import STATES
from predyn.samples.samples import (
    FRAME_PARTS,
    SIDES,
    Samples,
    channel_size,
    random_samples,
    split_side,
)

__all__ = [
    "FRAME_PARTS",
    "SIDES",
    "STATES",
    "Further",
    "Offer",
    "Samples",
    "channel_size",
    "random_samples",
    "split_side",
]
