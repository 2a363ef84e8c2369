"""Nested dictionaries of numbers, words and arrays as HDF5, sealed by a checksum.

A dictionary is a group, an array or a list of words a dataset, a single value an attribute, a list
of dictionaries a group with members 0, 1, ... The first 512 bytes, a user block that HDF5 skips,
are text: the kind of file, its version, and the SHA-256 of everything after them. So damage is
detected before the HDF5 library, which is not safe with damaged files, reads the file.

A file may also be malicious, with a valid checksum. Sizes are therefore checked before anything is
read: all data together are no larger than the file, each object is read once, and whatever could be
read endlessly (objects within objects, texts that many entries share) has a limit. Files are
written within the same limits.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from predyn.errors import FileError

BLOCK = 512
SIGNATURE = b"\x89HDF\r\n\x1a\n"
ORDER = "%order"  # attribute: keys of a group in the order of the dictionary
LENGTH = "%length"  # attribute: number of members of a list
MOST_BYTES = 2**28  # per file
MOST_ENTRIES = 12_000  # groups, datasets and attributes per file
MOST_ATTRIBUTES = 2_000  # per object; the time to find one grows with their number
MOST_WORDS = 500_000  # in all lists of words
MOST_DEPTH = 16  # groups within groups
MOST_TEXT = 2**27  # bytes of the texts that are read at once
LONG = 2**15  # bytes; longer texts are datasets of their own, outside of the collections
MOST_COLLECTIONS = 100_000  # of texts; HDF5 makes them 4 KiB large at least
COLLECTION = b"GCOL\x01"  # how one begins; its size is at byte 8
CHANGED = "damaged, cut short, or changed after it was saved; save it again"
Tree = dict[str, Any]


def encode(tree: Tree, notes: Mapping[str, Mapping[str, Any]], kind: str, version: int) -> bytes:
    """The bytes of a file; equal trees give equal bytes.

    notes: attributes for datasets (units and the like), by path; they are not read back.
    Raises a ValueError that names the path of a value that cannot be stored.
    """
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=BLOCK) as file:
        file.attrs["format"], file.attrs["version"] = kind, version
        for key, value in tree.items():
            _write_entry(file, key, value, key)
        for path, attributes in notes.items():
            for key, value in attributes.items():
                file[path].attrs[key] = value
    data = seal(buffer.getvalue()[BLOCK:], kind, version)
    try:
        decode(io.BytesIO(data), kind, version)
    except FileError as error:
        raise ValueError(f"it could not be read back: {error}") from error
    return data


def seal(body: bytes, kind: str, version: int) -> bytes:
    """The file: the first block and the HDF5 that follows it."""
    return _make_block(hashlib.sha256(body).hexdigest(), kind, version) + body


def _make_block(digest: str, kind: str, version: int) -> bytes:
    lines = (kind, f"version {version}", f"sha256 {digest}", "HDF5 from byte 512 on", "")
    return "\n".join(lines).encode().ljust(BLOCK, b"\n")


def decode(file: BinaryIO, kind: str, version: int) -> Tree:
    """The tree in a file of this kind and version, or an older one; a FileError says why not."""
    import h5py

    stated, size, longest = check_seal(file, kind, version)
    try:
        with h5py.File(file, "r") as root:
            tree = _Reader(size, longest).root(root)
    except FileError:
        raise
    except Exception as error:  # h5py raises a dozen types, as the C library reports errors
        raise FileError(f"cannot be read as HDF5: {error}") from error
    if tree.get("version") != stated:  # the seal does not cover the first block
        raise FileError(CHANGED)
    return tree


def check_seal(file: BinaryIO, kind: str, version: int) -> tuple[int, int, int]:
    """The version, the size of the file, and the largest size in bytes of a text in it."""
    block = file.read(BLOCK)
    lines = block.split(b"\n")
    if lines[0] != kind.encode():
        what = "an HDF5 file, but not" if block.startswith(SIGNATURE) else "not"
        raise FileError(f"{what} a {kind} file; expected one that predyn has saved")
    words = b" ".join(lines[1:3]).split()
    stated = int(words[1]) if len(words) == 4 and words[1].isdigit() else version
    if stated > version:
        told = f"{kind} version {stated}, but this predyn reads up to {version}"
        raise FileError(f"{told}; install a newer predyn")
    size = file.seek(0, io.SEEK_END)
    if size > MOST_BYTES:
        raise FileError(f"{size / 2**20:.0f} MiB; expected at most {MOST_BYTES / 2**20:.0f}")
    file.seek(BLOCK)
    digest, longest, collections, before = hashlib.sha256(), 0, 0, b""
    while piece := file.read(2**20):
        digest.update(piece)
        sizes = _collection_sizes(before + piece, MOST_COLLECTIONS - collections)
        collections += len(sizes)
        if collections >= MOST_COLLECTIONS:
            raise FileError("too many collections of texts")
        # one larger than the file is not a collection: numbers may look like one
        longest = max([longest, *(x for x in sizes if x <= size)])
        before = piece[-15:]
    if block != _make_block(digest.hexdigest(), kind, stated):
        raise FileError(CHANGED)
    return stated, size, longest


def _collection_sizes(piece: bytes, most: int) -> list[int]:
    """Sizes of up to `most` collections of texts whose headers lie within the piece."""
    sizes: list[int] = []
    at = piece.find(COLLECTION)
    while at >= 0 and at + 16 <= len(piece) and len(sizes) < most:
        sizes.append(int.from_bytes(piece[at + 8 : at + 16], "little"))
        at = piece.find(COLLECTION, at + 1)
    return sizes


def _write_entry(group: Any, key: str, value: Any, path: str) -> None:
    import h5py

    name = _escape(key)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        child = group.create_group(name)
        for inner, item in value.items():
            if not isinstance(inner, str):
                raise ValueError(f"{path}: expected names as keys, got {inner!r:.60}")
            _write_entry(child, inner, item, f"{path}/{inner}")
        child.attrs[ORDER] = np.array([_check_text(inner, path) for inner in value], _text_type())
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        child = group.create_group(name)
        child.attrs[LENGTH] = len(value)
        for k, item in enumerate(value):
            _write_entry(child, str(k), item, f"{path}/{k}")
    elif isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        texts = np.array([_check_text(item, path) for item in value], object)
        group.create_dataset(name, data=texts, dtype=_text_type(), track_times=False)
    elif value is None:
        group.attrs[name] = h5py.Empty("f8")
    elif isinstance(value, str) and len(text := _check_text(value, path).encode()) > LONG:
        group.create_dataset(name, data=text, dtype=f"S{len(text)}", track_times=False)
    elif isinstance(value, str):
        group.attrs[name] = _check_text(value, path)
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


class _Reader:
    """Reads the tree from an HDF5 file, each object once and within limits."""

    def __init__(self, size: int, longest: int) -> None:
        self.bytes_left = size  # the data cannot be larger than the file
        self.entries_left = MOST_ENTRIES
        self.words_left = MOST_WORDS
        self.longest = longest
        self.seen: set[int] = set()

    def root(self, file: Any) -> Tree:
        self._register(file.id, "/", 0)
        if not all(isinstance(name, str) for name in file):
            raise FileError("a name that is not UTF-8")
        attributes = [name.decode() for name in _attribute_names(file.id)]
        return {key: self._read_entry(file.id, key, "", 1) for key in sorted({*file, *attributes})}

    def _register(self, item: Any, path: str, depth: int) -> None:
        """Register an object; each may occur only once."""
        from h5py import h5a, h5g, h5o

        address = h5o.get_info(item).addr
        if address in self.seen:
            raise FileError(f"{path}: an object with several names; expected one")
        self.seen.add(address)
        members = item.get_num_objs() if isinstance(item, h5g.GroupID) else 0
        attributes = h5a.get_num_attrs(item)
        if attributes > MOST_ATTRIBUTES:
            raise FileError(f"{path}: more than {MOST_ATTRIBUTES} attributes")
        self.entries_left -= 1 + attributes
        if self.entries_left < members:
            raise FileError(f"more than {MOST_ENTRIES} entries")
        if depth > MOST_DEPTH:
            raise FileError(f"{path:.60}: more than {MOST_DEPTH} groups within groups")

    def _read_entry(self, group: Any, name: str, owner: str, depth: int) -> Any:
        """The value of an attribute, dataset or group."""
        from h5py import h5a, h5g, h5l, h5o

        path, key = f"{owner}/{name}", name.encode()
        if h5a.exists(group, key):
            return _check_single(
                self._read_attribute(group, key, path), f"{owner or '/'}: attribute {name}"
            )
        if not group.links.exists(key):
            raise FileError(f"{path} is missing; the file is not complete")
        if group.links.get_info(key).type != h5l.TYPE_HARD:
            raise FileError(f"{name}: a link to outside the file; expected data in the file")
        item = h5o.open(group, key)
        self._register(item, path, depth)
        if not isinstance(item, h5g.GroupID):
            return self._read_dataset(item, path)
        if h5a.exists(item, LENGTH.encode()):
            count = _check_single(
                self._read_attribute(item, LENGTH.encode(), path), f"{path}: {LENGTH}"
            )
            if count != item.get_num_objs():
                raise FileError(f"{path}: expected {count} members, got {item.get_num_objs()}")
            return tuple(self._read_entry(item, str(k), path, depth + 1) for k in range(count))
        if not h5a.exists(item, ORDER.encode()):
            raise FileError(f"{path}: {ORDER} is missing; the file is not complete")
        keys = np.atleast_1d(self._read_attribute(item, ORDER.encode(), path)).tolist()
        if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
            raise FileError(f"{path}: {ORDER}: expected the names of the entries, each once")
        return {key: self._read_entry(item, _escape(key), path, depth + 1) for key in keys}

    def _read_attribute(self, item: Any, name: bytes, path: str) -> Any:
        """The value of an attribute, which HDF5 reads only as a whole; None if it is empty."""
        from h5py import h5a

        attribute = h5a.open(item, name)
        shape, dtype = attribute.shape, attribute.dtype
        if shape is None:
            return None
        text, count = self._check_type(dtype, path), math.prod(shape)
        if text and count > 1 and count * self.longest > MOST_TEXT:
            raise FileError(f"{path}: too many texts, or texts that are too long")
        self._spend(count * dtype.itemsize, path)
        value = np.empty(shape, dtype)
        attribute.read(value)
        if not text:
            return value[()]
        self._spend(sum(map(len, value.flat)), path)
        return _decode(value)

    def _read_dataset(self, item: Any, path: str) -> Any:
        """Numbers, a list of words, or one long text."""
        from h5py import Dataset, h5d, h5s

        if not isinstance(item, h5d.DatasetID) or item.shape is None:
            raise FileError(f"{path}: expected numbers or words")
        shape, dtype, properties = item.shape, item.dtype, item.get_create_plist()
        text = self._check_type(dtype, path)
        if properties.get_layout() == h5d.VIRTUAL or properties.get_external_count():
            raise FileError(f"{path}: data outside the file")
        if properties.get_layout() == h5d.CHUNKED:  # a chunk may be far larger than the data
            raise FileError(f"{path}: chunked data; expected contiguous data")
        self._spend(math.prod(shape) * dtype.itemsize, path)
        if text and len(shape) == 1:
            return tuple(self._read_words(Dataset(item), path))
        if text and (shape or text.length is None):
            raise FileError(f"{path}: expected a list of words")
        value = np.empty(shape, dtype)
        item.read(h5s.ALL, h5s.ALL, value)
        return _decode(value) if text else np.asarray(value, dtype.newbyteorder("="))

    def _read_words(self, data: Any, path: str) -> Iterator[str]:
        """Read a few words at a time: all could be the same very long one."""
        self.words_left -= len(data)
        if self.words_left < 0:
            raise FileError(f"more than {MOST_WORDS} words")
        step = max(1, MOST_TEXT // max(self.longest, data.dtype.itemsize, 1) // 4)
        for k in range(0, len(data), step):
            words = data[k : k + step]
            self._spend(sum(map(len, words)), path)
            yield from _decode(words)

    def _check_type(self, dtype: Any, path: str) -> Any:
        """h5py's description of a text type, None for numbers; other types are refused unread."""
        import h5py

        text = h5py.check_string_dtype(dtype)
        if text is None and dtype.kind not in "biuf":
            raise FileError(f"{path}: expected numbers or words, got {dtype}")
        return text

    def _spend(self, count: int, path: str) -> None:
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise FileError(f"{path}: data larger than the file")


def _attribute_names(item: Any) -> list[bytes]:
    from h5py import h5a

    names: list[bytes] = []
    h5a.iterate(item, names.append)
    return names


def _decode(words: Any) -> Any:
    """Decode bytes to text: one text, or an array of texts."""
    if words.ndim == 0:
        return words[()].decode()
    return np.array([word.decode() for word in words.ravel()], object).reshape(words.shape)


def _check_single(value: Any, what: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is not None and not isinstance(value, str | bool | int | float):
        raise FileError(f"{what}: expected one value, got {value!r:.60}")
    return value


def _escape(key: str) -> str:
    """A valid HDF5 name: no slash, not empty, not "."."""
    if key in ("", "."):
        return "%" if not key else "%2E"
    return key.replace("%", "%25").replace("/", "%2F")


def _check_text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path}: {value!r:.60} is not valid Unicode") from None
    if "\0" in value:
        raise ValueError(f"{path}: {value!r:.60} contains a NUL character")
    return value


def _text_type() -> Any:
    import h5py

    return h5py.string_dtype()
