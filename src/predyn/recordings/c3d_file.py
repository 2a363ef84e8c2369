"""The C3D format: a header, groups of parameters, frames of points and analog samples.

Every offset is checked before it is read: a damaged file raises a FileError. Reads integers and
floats of Intel, DEC and MIPS processors. Layout: the C3D user guide, www.c3d.org.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from predyn.recordings.c3d_parameters import (
    Value,
    decode,
    find_number,
    find_numbers,
    find_text,
    to_unsigned,
)
from predyn.recordings.text import Floats, fail, read_bytes

MOST_BYTES = 2**31 - 1
MOST_RECORDS = 20_000
BLOCK = 512
LAST_COUNTED = 65535  # the largest frame number that fits the header
INTEL, DEC, MIPS = 84, 85, 86
SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}  # bytes by type: text, byte, integer, float


class C3D(NamedTuple):
    """The contents of a file; lengths in the unit of the file."""

    parameters: dict[str, dict[str, Value]]  # group: name: value, in capitals
    rate: float  # of the points, Hz
    first: int  # number of the first frame
    points: Floats  # (F, P, 3), NaN = missing
    analog: Floats  # (F * S, C), scaled
    per_frame: int  # S
    warnings: list[str]


class _Header(NamedTuple):
    points: int
    analogs: int  # in a frame, all channels and samples together
    first: int
    last: int
    scale: float
    data: int  # block
    per_frame: int
    rate: float


def read_c3d_file(path: str) -> C3D:
    """Read a whole C3D file."""
    return _Reader(path, read_bytes(path, MOST_BYTES)).read()


class _Reader:
    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.order = "<"
        self.dec = False

    def fail(self, message: str) -> NoReturn:
        fail(self.path, None, message)

    def take(self, at: int, count: int, what: str) -> bytes:
        if at < 0 or count < 0 or at + count > len(self.data):
            self.fail(f"{what}: expected {count} bytes from byte {at} on, but the file has "
                      f"{len(self.data)}: it is truncated or damaged; export it again")  # fmt: skip
        return self.data[at : at + count]

    def ints(self, raw: bytes, kind: str = "i") -> NDArray[np.int64]:
        return np.frombuffer(raw, dtype=f"{self.order}{kind}2").astype(np.int64)

    def floats(self, raw: bytes) -> Floats:
        if self.dec:  # words are swapped, the exponent is larger by two
            words = np.frombuffer(raw, dtype="<u2").reshape(-1, 2)[:, ::-1]
            return np.ascontiguousarray(words).view("<f4").ravel().astype(np.float64) / 4.0
        return np.frombuffer(raw, dtype=f"{self.order}f4").astype(np.float64)

    def read(self) -> C3D:
        with np.errstate(invalid="ignore", over="ignore"):  # from damaged files
            start = self._read_processor()
            header = self._read_header()
            end = (header.data - 1) * BLOCK
            parameters = self._read_parameters(start, end if end > start else len(self.data))
            return self._read_data(header, parameters)

    def _read_processor(self) -> int:
        """Set the byte order; return the byte where the parameters begin."""
        head = self.data[:2]
        if len(head) < 2 or head[1] != 0x50 or head[0] == 0:
            self.fail(f"expected a C3D file, whose second byte is 0x50, got {head!r}; the file "
                      "does not match its suffix")  # fmt: skip
        self.take(0, BLOCK, "header")
        start = (head[0] - 1) * BLOCK
        processor = self.take(start, 4, "parameters")[3]
        if processor not in (INTEL, DEC, MIPS):
            self.fail(f"expected a C3D file with processor type 84, 85 or 86, got {processor}: the "
                      "file is damaged or does not match its suffix")  # fmt: skip
        self.order = ">" if processor == MIPS else "<"
        self.dec = processor == DEC
        return start + 4

    def _read_header(self) -> _Header:
        words = self.ints(self.data[:24], "u").tolist()
        scale, rate = self.floats(self.data[12:16])[0], self.floats(self.data[20:24])[0]
        return _Header(
            words[1], words[2], words[3], words[4], float(scale), words[8], words[9], float(rate)
        )

    def _read_parameters(self, at: int, end: int) -> dict[str, dict[str, Value]]:
        """The groups from byte `at` on; in some files only the frames, at `end`, end them."""
        names: dict[int, str] = {}
        found: list[tuple[int, str, Value]] = []
        for _ in range(MOST_RECORDS):
            if at + 2 > end:
                break
            length, group = np.frombuffer(self.take(at, 2, "parameters"), dtype=np.int8).tolist()
            if length == 0 or group == 0:
                break
            name = decode(self.take(at + 2, abs(length), "name of a parameter")).upper()
            at += 2 + abs(length)
            offset = int(self.ints(self.take(at, 2, f"parameter {name!r}"), "u")[0])
            if group < 0:
                names[-group] = name
            else:
                found.append((group, name, self._read_value(at + 2, name)))
            if offset == 0:
                break
            at += offset
        else:
            self.fail(f"more than {MOST_RECORDS} parameters: the file is damaged")
        result: dict[str, dict[str, Value]] = {name: {} for name in names.values()}
        for group, name, value in found:
            if group in names:
                result[names[group]][name] = value
        return result

    def _read_value(self, at: int, name: str) -> Value:
        what = f"parameter {name!r:.40}"
        head = self.take(at, 2, what)
        kind = int(np.int8(head[0] - 256 if head[0] > 127 else head[0]))
        if kind not in SIZES or head[1] > 7:
            self.fail(f"{what}: unknown type {kind} with {head[1]} dimensions; the file is damaged")
        shape = list(self.take(at + 2, head[1], what))
        count = 1
        for size in shape:
            count *= size
        raw = self.take(at + 2 + head[1], count * SIZES[kind], what)
        if kind == -1:
            width = shape[0] if shape else 1
            return [decode(raw[k : k + width]) for k in range(0, len(raw), width)] if width else []
        values: Floats | NDArray[np.int16]
        if kind == 1:
            values = np.frombuffer(raw, dtype=np.uint8).astype(np.float64)
        elif kind == 2:
            values = self.ints(raw).astype(np.int16)
        else:
            values = self.floats(raw)
        return values.reshape(shape, order="F") if shape else values

    def _read_data(self, header: _Header, parameters: dict[str, dict[str, Value]]) -> C3D:
        point = parameters.get("POINT", {})
        used = to_unsigned(find_number(point, "USED", header.points))
        if used != header.points:
            self.fail(f"the header has {header.points} points, but POINT:USED is {used:g}; the "
                      "file is damaged")  # fmt: skip
        first, frames = _find_frames(header, parameters)
        group = parameters.get("ANALOG", {})
        scale = find_number(point, "SCALE", header.scale)
        if not np.isfinite(scale) or scale == 0.0:
            self.fail(f"POINT:SCALE: expected a number other than 0, got {scale:g}")
        size = 4 if scale < 0.0 else 2
        start = int(to_unsigned(find_number(point, "DATA_START", header.data)))
        at = ((start if start > 1 else header.data) - 1) * BLOCK
        if at < BLOCK:
            self.fail(f"frames begin at byte {at}, inside the header; the file is damaged")
        analogs, per_frame = self._count_analogs(header, group, frames, size, at)
        words = 4 * header.points + analogs
        if frames < 1 or words == 0:
            what = "rotations only" if "ROTATION" in parameters else "empty or damaged"
            self.fail(f"{frames} frames of {words} values: expected a recording with points or "
                      f"analog channels, but the file is {what}")  # fmt: skip
        warnings = []
        if scale > 0.0 and abs(header.scale - scale) > 1e-3 * scale:
            warnings.append(f"POINT:SCALE is {scale:.6g}, but the header has {header.scale:.6g}; "
                            "POINT:SCALE was used: check the size of the body")  # fmt: skip
        if first + frames - 1 == LAST_COUNTED:
            frames = max(frames, self._count_frames(at, words * size))
        have = max(0, len(self.data) - at) // (words * size)
        if have < frames:
            announced = f"the header announces {frames} frames, but the file has {have}"
            if have == 0:
                self.fail(f"{announced}: it is truncated or damaged; export it again")
            warnings.append(f"{announced}: it is truncated; these were read")
            frames = have
        rate = _find_rate(header, point, group, per_frame)
        if rate is None:
            self.fail(f"POINT:RATE: expected a rate above 0 Hz, got {header.rate:g}; the times "
                      "depend on it")  # fmt: skip
        raw = self.data[at : at + frames * words * size]
        flat = self.floats(raw) if scale < 0.0 else self.ints(raw).astype(np.float64)
        table = flat.reshape(frames, words)
        points = _scale_points(table[:, : 4 * header.points], scale)
        unsigned = find_text(group, "FORMAT") == "UNSIGNED"
        analog = table[:, 4 * header.points :].reshape(frames * per_frame, analogs // per_frame)
        if scale > 0.0 and unsigned:
            analog = np.where(analog < 0.0, analog + 65536.0, analog)
        analog = _scale_samples(analog, group, unsigned)
        return C3D(parameters, rate, first, points, analog, per_frame, warnings)

    def _count_analogs(
        self, header: _Header, group: dict[str, Value], frames: int, size: int, at: int
    ) -> tuple[int, int]:
        """Analog values in a frame, and samples of each channel in a frame.

        Some programs store the number of channels where that of all values belongs.
        """
        per_frame = header.per_frame if header.analogs else 1
        if per_frame > 1 and header.analogs == to_unsigned(find_number(group, "USED", 0.0)):
            whole = header.analogs * per_frame
            if at + frames * (4 * header.points + whole) * size <= len(self.data):
                return whole, per_frame
        if per_frame < 1 or header.analogs % per_frame:
            self.fail(f"the header has {header.analogs} analog values but {per_frame} samples "
                      "per frame; the file is damaged")  # fmt: skip
        return header.analogs, per_frame

    def _count_frames(self, at: int, size: int) -> int:
        """Whole frames from byte `at` on, without the zeros that fill the last block."""
        count = max(0, len(self.data) - at) // size
        for _ in range(min(count, BLOCK // size)):
            if any(self.data[at + (count - 1) * size : at + count * size]):
                break
            count -= 1
        return count


def _find_frames(header: _Header, parameters: dict[str, dict[str, Value]]) -> tuple[int, int]:
    """The number of the first frame, and the number of frames.

    The header counts to 65535; most longer recordings store the count in TRIAL or
    POINT:LONG_FRAMES.
    """
    trial = parameters.get("TRIAL", {})
    ends = []
    for name in ("ACTUAL_START_FIELD", "ACTUAL_END_FIELD"):
        value = find_numbers(trial, name)
        if value is not None and value.size == 2 and np.isfinite(value).all():
            low, high = (to_unsigned(x) for x in value.flat)
            ends.append(int(low + 65536.0 * high))
    if len(ends) == 2 and ends[1] >= ends[0] > 0:
        return ends[0], ends[1] - ends[0] + 1
    count = header.last - header.first + 1
    if header.last == LAST_COUNTED:
        point = parameters.get("POINT", {})
        long = max(
            find_number(point, "LONG_FRAMES", 0.0), to_unsigned(find_number(point, "FRAMES", 0.0))
        )
        if np.isfinite(long) and long > count:
            count = int(long)
    return max(header.first, 1), count  # some files count from 0


def _find_rate(
    header: _Header, point: dict[str, Value], analog: dict[str, Value], per_frame: int
) -> float | None:
    """Frames per second; files without points may state the rate of the samples only."""
    for rate in (
        find_number(point, "RATE", 0.0),
        header.rate,
        find_number(analog, "RATE", 0.0) / per_frame,
    ):
        if 0.0 < rate < 1e6:
            return rate
    return None


def _scale_points(quads: Floats, scale: float) -> Floats:
    """Positions (F, P, 3) in the unit of the file, NaN where a point was not seen."""
    quads = quads.reshape(len(quads), -1, 4)
    points: Floats = quads[:, :, :3] * (1.0 if scale < 0.0 else scale)
    points[~(quads[:, :, 3] >= 0.0) | (points == 0.0).all(axis=2)] = np.nan
    return points


def _scale_samples(analog: Floats, group: dict[str, Value], no_sign: bool) -> Floats:
    """Samples in their units; with `no_sign`, integer offsets range from 0 to 65535 however the
    samples are stored."""
    channels = analog.shape[1]
    general = find_number(group, "GEN_SCALE", 1.0)
    scale, offset = np.ones(channels), np.zeros(channels)
    for name, values in (("SCALE", scale), ("OFFSET", offset)):
        at, number = 0, 1
        while isinstance(part := group.get(name if number == 1 else f"{name}{number}"), np.ndarray):
            if not part.size:
                break
            some = part.ravel()[: channels - at]
            counts = no_sign and name == "OFFSET" and some.dtype == np.int16
            values[at : at + len(some)] = some.view(np.uint16) if counts else some
            at, number = at + len(some), number + 1
    return (analog - offset) * (scale * general)
