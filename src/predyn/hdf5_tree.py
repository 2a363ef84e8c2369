"""Nested dictionaries of numbers, words and arrays as HDF5, sealed by a checksum.

A dictionary is a group, an array or a list of words a dataset, a single value an attribute, a list
of dictionaries a group with members 0, 1, ... The first 512 bytes, a user block HDF5 skips, are
text: what the file is, its version, and the SHA-256 of everything after them. So a damaged file is
found out before the HDF5 library reads it, which is not safe with damaged files.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from predyn.errors import FileError

BLOCK = 512
SIGNATURE = b"\x89HDF\r\n\x1a\n"
ORDER = "%order"  # attribute: keys of a group in the order of the dictionary
LENGTH = "%length"  # attribute: number of members of a list
Tree = dict[str, Any]


def encode(tree: Tree, notes: Mapping[str, Mapping[str, Any]], kind: str, version: int) -> bytes:
    """The bytes of a file; equal trees give equal bytes.

    notes: attributes for datasets (units and the like), by their path; they are not read back.
    A value that cannot be held is a ValueError that names its path.
    """
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=BLOCK) as file:
        file.attrs["format"], file.attrs["version"] = kind, version
        for key, value in tree.items():
            _put(file, key, value, key)
        for path, attributes in notes.items():
            for key, value in attributes.items():
                file[path].attrs[key] = value
    return seal(buffer.getvalue()[BLOCK:], kind, version)


def seal(body: bytes, kind: str, version: int) -> bytes:
    """The file: the first block and the HDF5 that follows it."""
    digest = hashlib.sha256(body).hexdigest()
    lines = (kind, f"version {version}", f"sha256 {digest}", "HDF5 from byte 512 on", "")
    return "\n".join(lines).encode().ljust(BLOCK, b"\n") + body


def decode(data: bytes, kind: str, version: int) -> Tree:
    """The tree in a file of this kind; a FileError (without path) says why it is none."""
    import h5py

    _check_seal(data, kind, version)
    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            tree: Tree = {key: _get(file, key, len(data)) for key in sorted({*file, *file.attrs})}
    except FileError:
        raise
    except Exception as error:  # h5py raises what the C library makes of it: any of a dozen types
        raise FileError(f"cannot be read as HDF5: {error}") from error
    return tree


def _check_seal(data: bytes, kind: str, version: int) -> None:
    lines = data[:BLOCK].split(b"\n")
    if lines[0] != kind.encode():
        what = "an HDF5 file, but not" if data.startswith(SIGNATURE) else "not"
        raise FileError(f"{what} a {kind} file; expected one that predyn has saved")
    words = b" ".join(lines[1:3]).split()
    if len(words) == 4 and words[1].isdigit() and int(words[1]) > version:
        raise FileError(
            f"{kind} version {int(words[1])}, but this predyn reads up to {version}; "
            "install a newer predyn"
        )
    if data[:BLOCK] != seal(data[BLOCK:], kind, version)[:BLOCK]:
        raise FileError("damaged, cut short, or changed after it was saved; save it again")


def _put(group: Any, key: str, value: Any, path: str) -> None:
    import h5py

    name = _escaped(key)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        child = group.create_group(name)
        for inner, item in value.items():
            if not isinstance(inner, str):
                raise ValueError(f"{path}: expected names as keys, got {inner!r:.60}")
            _put(child, inner, item, f"{path}/{inner}")
        child.attrs[ORDER] = np.array([_text(inner, path) for inner in value], _words())
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        child = group.create_group(name)
        child.attrs[LENGTH] = len(value)
        for k, item in enumerate(value):
            _put(child, str(k), item, f"{path}/{k}")
    elif isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        texts = np.array([_text(item, path) for item in value], object)
        group.create_dataset(name, data=texts, dtype=_words(), track_times=False)
    elif value is None:
        group.attrs[name] = h5py.Empty("f8")
    elif isinstance(value, str):
        group.attrs[name] = _text(value, path)
    elif isinstance(value, bool):
        group.attrs[name] = np.bool_(value)
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        group.attrs[name] = np.int64(value)
    elif isinstance(value, float):
        group.attrs[name] = np.float64(value)
    else:
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.array(None)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{path}: expected numbers or words, got {value!r:.60}")
        group.create_dataset(name, data=array, track_times=False)


def _get(group: Any, name: str, most: int) -> Any:
    """The value of an attribute, dataset or group; nothing may be larger than the file."""
    import h5py

    if name in group.attrs:
        return _single(group.attrs[name], f"{group.name}: attribute {name}")
    if name not in group:
        raise FileError(f"{group.name.rstrip('/')}/{name} is missing; the file is not complete")
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise FileError(f"{name}: a link out of the file; expected data in the file")
    item = group[name]
    if isinstance(item, h5py.Group):
        if LENGTH in item.attrs:
            count = int(item.attrs[LENGTH])
            if count != len(item):
                raise FileError(f"{item.name}: expected {count} members, got {len(item)}")
            return tuple(_get(item, str(k), most) for k in range(count))
        keys = [str(key) for key in item.attrs[ORDER]]
        return {key: _get(item, _escaped(key), most) for key in keys}
    if item.is_virtual or item.external or item.nbytes > most:
        raise FileError(f"{item.name}: data outside of the file or larger than it")
    if h5py.check_string_dtype(item.dtype):
        return tuple(str(word) for word in item.asstr()[...])
    return np.asarray(item[...], item.dtype.newbyteorder("="))


def _single(value: Any, what: str) -> Any:
    import h5py

    if isinstance(value, h5py.Empty):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str | bool | int | float):
        raise FileError(f"{what}: expected one value, got {value!r:.60}")
    return value


def _escaped(key: str) -> str:
    """A name that HDF5 takes as one: no slash, not empty, not "."."""
    if key in ("", "."):
        return "%" if not key else "%2E"
    return key.replace("%", "%25").replace("/", "%2F")


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path}: {value!r:.60} is not valid Unicode") from None
    if "\0" in value:
        raise ValueError(f"{path}: {value!r:.60} holds a NUL character")
    return value


def _words() -> Any:
    import h5py

    return h5py.string_dtype()
