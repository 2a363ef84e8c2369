"""Malicious result files with valid seals: they load or are refused, quickly and in little memory.
Every file is opened in a separate process with limits on processor time and memory.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from predyn.storage import hdf5_tree
from predyn.storage.hdf5_tree import BLOCK, ORDER

SECONDS, MEGABYTES = 2, 500
DAMAGED = 250  # files of each kind
KINDS = {"solution": "predyn solution", "estimate": "predyn estimate"}
TEXTS = h5py.string_dtype()

# Prints the name of each file and what came of it.
READER = """
import os, resource, sys
from pathlib import Path
import h5py, numpy
from predyn.errors import FileError
from predyn.results.stored import load_result
import predyn.solution.file, predyn.estimate.result_file

for path in sorted(Path(sys.argv[1]).iterdir()):
    child = os.fork()
    if child == 0:
        base = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        most = base + int(sys.argv[3]) * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = int(used.ru_utime + used.ru_stime) + int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds + 1, seconds + 1))
        try:
            load_result(path)
            text = "loaded"
        except FileError as error:
            text = f"refused {error}"
        except BaseException as error:
            text = f"{type(error).__name__} {error}"
        print(path.name, text.replace("\\n", " "), flush=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        print(path.name, "killed by signal", status, flush=True)
"""


def outcomes(folder: Path) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", READER, folder, str(SECONDS), str(MEGABYTES)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder, found = tmp_path_factory.mktemp("saved"), {}
    solution = predyn.verify(replace(fake_solution(2), passive=("joint1",)))
    for kind, result in (("solution", solution), ("estimate", fake_estimate())):
        result.save(folder / kind)
        found[kind] = (folder / kind).read_bytes()
    return found


def edited(data: bytes, edit: Callable[[Any], None], **options: Any) -> bytes:
    """The HDF5 part after a change through h5py."""
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+", **options) as file:
        edit(file)
    return buffer.getvalue()[BLOCK:]


def replaced(body: bytes, old: bytes, new: bytes) -> bytes:
    assert old in body
    return body.replace(old, new)


def number(value: int, size: int = 8) -> bytes:
    return value.to_bytes(size, "little")


# -- what is crafted: the bytes of a solution in, the HDF5 part of another file out ----------------


def doubled_links(data: bytes) -> bytes:
    """2^40 paths: each of 40 groups occurs twice in the previous one."""

    def edit(file: Any) -> None:
        group = file["provenance"]
        for k in range(40):
            below = file.create_group(f"hidden{k}")
            group["a"], group["b"] = below, below
            group.attrs[ORDER] = np.array(["a", "b"], TEXTS)
            group = below
        group.attrs[ORDER] = np.array([], TEXTS)

    return edited(data, edit)


def two_names(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        del file["v"]
        file["v"] = file["q"]

    return edited(data, edit)


def repeated_key(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        costs = file["costs"]
        costs.create_group("x").attrs[ORDER] = np.array([], TEXTS)
        costs.attrs[ORDER] = np.full(20_000, b"x")

    return edited(data, edit)


def loop(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        file["costs"]["up"] = file["/"]
        file["costs"].attrs[ORDER] = np.array(["up"], TEXTS)

    return edited(data, edit)


def deep(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        del file["starts"]
        group = file.create_group("starts")
        group.attrs["%length"] = 1
        for _ in range(1500):
            group = group.create_group("0")
            group.attrs["%length"] = 1

    return edited(data, edit)


def many_members(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        del file["starts"]
        starts = file.create_group("starts")
        starts.attrs["%length"] = 12_001
        for k in range(12_001):
            starts[str(k)] = h5py.SoftLink("/costs")

    return edited(data, edit, libver="latest")


def many_attributes(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        for k in range(2001):
            file.attrs[f"more{k}"] = k

    return edited(data, edit, libver="latest")


def unwritten_words(data: bytes) -> bytes:
    """A list of words as long as the file allows, none of them present."""

    def edit(file: Any) -> None:
        del file["active"]
        file["x"][...] = 0.0
        file.create_dataset("more", data=np.zeros(2_000_000))
        file.create_dataset("active", (900_000,), TEXTS)

    return edited(data, edit)


def shared_array(data: bytes) -> bytes:
    """Many arrays that are all the same long one."""

    def edit(file: Any) -> None:
        del file["x"]
        arrays = [np.zeros(125_003), *(np.zeros(1009) for _ in range(1500))]
        made = file.create_dataset("x", (1501,), h5py.vlen_dtype("f8"))
        for k, array in enumerate(arrays):
            made[k] = array

    body = edited(data, edit)
    long = references(body, 125_003)[-1]
    for short in references(body, 1009):
        body = body.replace(short, long)
    return body


def unwritten(data: bytes) -> bytes:
    """4.1 GB that the file does not contain."""

    def edit(file: Any) -> None:
        del file["x"]
        file.create_dataset("x", (1 << 29,), "f8")

    return edited(data, edit)


def compressed(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        del file["x"]
        file.create_dataset("x", (1 << 26,), "f8", chunks=(1 << 20,), compression="gzip")
        file["x"][: 1 << 21] = 0.0

    return edited(data, edit)


def large_chunk(data: bytes) -> bytes:
    """Little data in a chunk that would take 1 GB."""

    def edit(file: Any) -> None:
        del file["x"]
        options = {"chunks": (1 << 27,), "maxshape": (None,), "compression": "gzip"}
        file.create_dataset("x", (1000,), "f8", **options)

    return edited(data, edit)


def many_small_bombs(data: bytes) -> bytes:
    """Each is no larger than the file, all together are."""

    def edit(file: Any) -> None:
        del file["history"]
        keys = [f"k{k}" for k in range(1000)]
        file.create_group("history").attrs[ORDER] = np.array(keys, TEXTS)
        for key in keys:
            file["history"].create_dataset(key, (len(data) // 8 - 100,), "f8")

    return edited(data, edit, libver="latest")


def wide_attribute(data: bytes) -> bytes:
    """An attribute whose header asks for 4.1 GB."""
    body = edited(data, lambda file: file.attrs.create("objective", np.zeros(12345, np.int8)))
    return replaced(body, number(12345), number(1 << 32))


def wide_dataset(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        del file["x"]
        file["x"] = np.zeros(12347, np.int8)

    return replaced(edited(data, edit), number(12347), number(1 << 32))


def references(body: bytes, length: int) -> list[bytes]:
    """References to texts of this length: their length, their collection, their place in it."""
    found = re.findall(re.escape(number(length, 4)) + rb".{12}", body, re.DOTALL)
    return [reference for reference in found if any(reference[4:8])]  # not the texts themselves


def shared_text(data: bytes) -> bytes:
    """Many words that are all the same long text."""

    def edit(file: Any) -> None:
        del file["active"]
        words = ["z" * 1_000_003, *(f"{k:091d}" for k in range(3000))]
        file.create_dataset("active", data=np.array(words, object), dtype=TEXTS)

    body = edited(data, edit)
    (long,) = references(body, 1_000_003)
    for short in references(body, 91):
        body = body.replace(short, long)
    return body


def shared_key(data: bytes) -> bytes:
    """Many keys that are all the same long text."""

    def edit(file: Any) -> None:
        file.attrs["message"] = "z" * 1_000_003
        file["costs"].attrs[ORDER] = np.array([f"{k:091d}" for k in range(3000)], TEXTS)

    body = edited(data, edit)
    (long,) = references(body, 1_000_003)
    for short in references(body, 91):
        body = body.replace(short, long)
    return body


def with_data(name: str, make: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    def edit(file: Any) -> None:
        del file[name]
        made = make(file)
        if made is not None:
            file[name] = made

    return lambda data: edited(data, edit)


def with_attribute(owner: str, name: str, value: Any) -> Callable[[bytes], bytes]:
    return lambda data: edited(data, lambda file: file[owner].attrs.create(name, value))


def without(owner: str, name: str) -> Callable[[bytes], bytes]:
    def edit(file: Any) -> None:
        order = [key for key in file[owner].attrs[ORDER] if key != name]
        file[owner].attrs[ORDER] = np.array(order, TEXTS)
        del file[owner].attrs[name]

    return lambda data: edited(data, edit)


def empty_comparison(data: bytes) -> bytes:
    def edit(file: Any) -> None:
        for name in ("t", "q", "v", "a", "tau"):
            empty = file["comparison"][name][:0]
            del file["comparison"][name]
            file["comparison"][name] = empty

    return edited(data, edit)


def with_value(name: str, change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    def edit(file: Any) -> None:
        file[name][...] = change(file[name][...])

    return lambda data: edited(data, edit)


def one(value: float) -> Callable[[Any], Any]:
    """The last element of an array becomes this value."""

    def change(array: Any) -> Any:
        array.flat[-1] = value
        return array

    return change


RECORD = np.zeros(19, [("a", "f8"), ("b", "i4")])
CRAFTED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "doubled-links": (doubled_links, "groups within groups"),
    "two-names": (two_names, "several names"),
    "repeated-key": (repeated_key, "each once"),
    "loop": (loop, "several names"),
    "deep": (deep, "groups within groups"),
    "many-members": (many_members, "more than 12000 entries"),
    "many-attributes": (many_attributes, "more than 2000 attributes"),
    "unwritten-words": (unwritten_words, "more than 500000 words"),
    "shared-array": (shared_array, "x: expected numbers or words"),
    "unwritten": (unwritten, "x: data larger than the file"),
    "compressed": (compressed, "x: chunked data"),
    "large-chunk": (large_chunk, "x: chunked data"),
    "many-small-bombs": (many_small_bombs, "data larger than the file"),
    "wide-attribute": (wide_attribute, "data larger than the file|cannot be read"),
    "wide-dataset": (wide_dataset, "likely file corruption"),
    "shared-text": (shared_text, "active: data larger than the file"),
    "shared-key": (shared_key, "too many texts, or texts that are too long"),
    "named-type": (
        with_data("t", lambda file: np.dtype("f8")), "cannot be read|several|expected"),
    "records": (with_data("t", lambda file: RECORD), "t: expected numbers or words"),
    "file-references": (
        with_data("t", lambda file: np.array([file.ref] * 3, h5py.ref_dtype)), "t: expected"),
    "scalar-words": (with_data("active", lambda file: "word"), "active"),
    "table-of-words": (
        with_data("active", lambda file: np.array([["a", "b"]], TEXTS)), "active"),
    "negative-count": (with_attribute("starts", "%length", -1), "expected -1 members"),
    "words-for-length": (with_attribute("starts", "%length", "x"), "expected x members|expected"),
    "numbers-for-order": (with_attribute("costs", ORDER, np.arange(3)), "costs"),
}  # fmt: skip
IMPOSSIBLE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "negative-duration": (with_attribute("curves/0", "duration", -1.0), "curves/0/duration"),
    "zero-duration": (with_attribute("curves/1", "duration", 0.0), "curves/1/duration"),
    "nan-duration": (with_attribute("curves/0", "duration", np.nan), "curves/0/duration"),
    "long-duration": (with_attribute("curves/0", "duration", 9e18), "t: expected times from 0 to"),
    "falling-times": (with_value("t", lambda t: t[::-1]), "t: expected non-decreasing times"),
    "nan-time": (with_value("t", one(np.nan)), "t: expected finite times"),
    "phase-77": (with_value("phase", one(77)), "phase: expected numbers from 0 to 1"),
    "falling-phases": (with_value("phase", one(0)), "phase: expected non-decreasing numbers"),
    "unknown-status": (with_attribute("/", "status", "great"), "status: expected one of optimal"),
    "nan-excess": (with_attribute("/", "max_violation_dense", np.nan), "max_violation_dense"),
    "negative-excess": (with_attribute("/", "max_violation", -1.0), "max_violation: expected"),
    "nan-in-violations": (with_value("violations/excess", one(np.nan)), "violations/excess"),
    "nan-torque": (
        with_value("tau", one(np.nan)),
        "tau: expected finite numbers",
    ),
    "fewer-limits": (with_data("limits/effort", lambda _: None), "limits"),
    "start-without-objective": (without("starts/0", "objective"), "starts/0/objective is missing"),
    "start-with-words": (with_attribute("starts/0", "objective", "low"), "starts/0/objective"),
    "start-with-unknown-status": (with_attribute("starts/0", "status", "x"), "starts/0/status"),
    "scalar-history": (with_data("history/objective", lambda _: 1.0), "history/objective"),
    "far-force": (with_value("forces/0/point", one(1e300)), "forces/0/point: expected numbers up"),
    "negative-iterations": (with_attribute("/", "iterations", -5), "iterations: expected"),
    "motor-77": (with_attribute("verification", "motor", 77), "verification/motor: expected the"),
    "nan-replay": (with_value("verification/replay/dq", one(np.nan)), "verification/replay/dq"),
    "long-replay": (
        with_data("verification/replay/t", lambda _: np.zeros(1_000_000)),
        "verification/replay/t: expected at most 600",
    ),
}
IMPOSSIBLE_ESTIMATES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "falling-times": (with_value("t", lambda t: t[::-1]), "t: expected non-decreasing times"),
    "equal-times": (with_value("t", lambda t: 0.0 * t), "t: expected strictly increasing times"),
    "unknown-status": (with_attribute("/", "status", "optimal"), "status: expected one of conv"),
    "order": (with_attribute("/", "order", 4), "order: expected 0, 1, 2 or 3"),
    "independent": (with_attribute("/", "independent", "feet"), "independent: expected one of"),
    "channel": (with_attribute("channels/0", "kind", "smell"), "channels/0/kind"),
    "channel-unit": (with_attribute("channels/0", "unit", "furlong"), "channels/0/unit"),
    "corner": (with_attribute("lcurve", "corner", 99), "lcurve/corner"),
    "order-of-a-trial": (with_attribute("orders/0", "order", 2**62), "orders/0/order"),
    "empty-comparison": (empty_comparison, "comparison/t: expected at least one time"),
    "negative-sd": (with_value("tau_sd", one(-1.0)), "tau_sd: expected non-negative numbers"),
    "unknown-plate": (
        with_attribute("force_links", "plate", "nowhere"), "unknown frame|unknown link"),
    "nan-torque": (with_value("tau", one(np.nan)), "tau: expected finite numbers"),
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited through /proc and setrlimit")
def test_crafted_files_are_refused_quickly_and_in_little_memory(
    saved: dict[str, bytes], tmp_path: Path
) -> None:
    expected = {}
    for kind, cases in (
        ("solution", CRAFTED | IMPOSSIBLE),
        ("estimate", IMPOSSIBLE_ESTIMATES),
    ):
        for name, (craft, match) in cases.items():
            body = craft(saved[kind])
            (tmp_path / f"{kind}-{name}").write_bytes(hdf5_tree.seal(body, KINDS[kind], 1))
            expected[f"{kind}-{name}"] = match
    with (tmp_path / "sparse").open("wb") as file:
        file.write(saved["solution"])
        file.truncate(5 << 30)
    expected["sparse"] = "5120 MiB; expected at most 256"
    found = outcomes(tmp_path)
    (tmp_path / "sparse").unlink()
    assert set(found) == set(expected)
    odd = {
        name: text
        for name, text in found.items()
        if not re.match(f"refused .*({expected[name]})", text)
    }
    assert odd == {}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited through /proc and setrlimit")
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_with_a_valid_seal_load_or_are_refused(
    saved: dict[str, bytes], tmp_path: Path, kind: str
) -> None:
    """The HDF5 library must survive any bytes."""
    rng = np.random.default_rng(12)
    for k in range(DAMAGED):
        body = bytearray(saved[kind][BLOCK:])
        for at in rng.integers(len(body), size=int(rng.integers(1, 9))).tolist():
            match k % 3:
                case 0:
                    body[at] ^= 1 << int(rng.integers(8))
                case 1:
                    body[at] = int(rng.integers(256))
                case _:
                    value = int(rng.choice([0, 1, 1 << 29, 1 << 32, (1 << 63) - 1, len(body)]))
                    body[at & ~7 : (at & ~7) + 8] = number(value)
        (tmp_path / f"{k:03d}").write_bytes(hdf5_tree.seal(bytes(body), KINDS[kind], 1))
    found = outcomes(tmp_path)
    assert len(found) == DAMAGED
    odd = {name: text for name, text in found.items() if not text.startswith(("refu", "loaded"))}
    assert odd == {}
