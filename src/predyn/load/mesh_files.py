"""Where the meshes of a model file are: only in its own folder or in given package folders.

Paths are resolved with their symbolic links before they are compared, and nothing is opened.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from predyn.errors import FileError, InputError

Folder = str | os.PathLike[str]
Packages = Folder | Sequence[Folder] | Mapping[str, Folder] | None
LEVELS = 6  # above the model file, in which the folder of a package is suggested
SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://(.*)", re.IGNORECASE | re.DOTALL)
ALLOW = "meshes are read only in the folder of the model and in folders given as packages"


class MeshFinder:
    """Finds the files that a model file names, and counts the reasons why some are not found."""

    def __init__(self, model_file: Folder, packages: Packages) -> None:
        self.home = Path(os.fsdecode(model_file)).resolve().parent
        self.named, self.folders = _read_packages(packages)
        self.missing: Counter[str] = Counter()

    def find(self, name: str) -> str | None:
        """The file that `name` stands for; None, with a reason in `missing`, if there is none."""
        try:
            return str(self._find(name))
        except FileError as error:
            self.missing[str(error)] += 1
        except (OSError, ValueError, RuntimeError) as error:  # too long, NUL, circular links
            self.missing[f"{name!r:.80}: not a valid path: {error!s:.80}"] += 1
        return None

    def notes(self) -> list[str]:
        """A sentence for each reason."""
        return [
            f"mesh not drawn: {reason}" + (f" ({count} times)" if count > 1 else "")
            for reason, count in self.missing.most_common(20)
        ]

    def _find(self, name: str) -> Path:
        scheme = SCHEME.fullmatch(name)
        roots = [self.home, *self.folders, *self.named.values()]
        if scheme is None:
            return _inside(self.home / name, roots, name)
        kind, rest = scheme[1].lower(), unquote(scheme[2])
        if kind == "file":
            return _inside(self.home / rest.removeprefix("localhost"), roots, name)
        if kind not in ("package", "model"):
            raise FileError(f"{name!r:.80}: expected a path, package://, model:// or file://")
        package, _, below = rest.lstrip("/").partition("/")
        homes = self._homes(package)
        if not homes:
            above = [str(x) for x in self.home.parents[:LEVELS] if x.name == package]
            where = f", perhaps {above[0]!r:.200}" if above else ""
            raise FileError(
                f"package {package!r:.60}: give its folder{where}, or the one that contains it, as "
                f"packages={{{package!r:.60}: ...}} or packages=...; {ALLOW}"
            )
        found = [home for home in homes if (home / below).is_file()]
        return _inside((found or homes)[0] / below, homes, name)

    def _homes(self, package: str) -> list[Path]:
        """Folders of a package: given ones, that of the model file, or one in it."""
        if package in ("", ".", ".."):
            return []
        if package in self.named:
            return [self.named[package]]
        given = [folder for folder in self.folders if folder.name == package]
        given += [self.home] if self.home.name == package else []
        within = (folder / package for folder in (*self.folders, self.home))
        return given + [folder for folder in within if folder.is_dir()]


def _inside(path: Path, roots: Sequence[Path], name: str) -> Path:
    real = path.resolve()
    if not any(real.is_relative_to(root.resolve()) for root in roots):
        raise FileError(f"{name!r:.80}: leads out of {roots[0]}; {ALLOW}")
    if not real.is_file():
        raise FileError(f"{name!r:.80}: no such file: {real}")
    return real


def _read_packages(packages: Packages) -> tuple[dict[str, Path], list[Path]]:
    """Folders by the name of a package, and folders without one; all must exist."""
    named: dict[str, Path] = {}
    folders: list[Path] = []
    if isinstance(packages, Mapping):
        named = {str(key): _folder(value) for key, value in packages.items()}
    elif isinstance(packages, str | os.PathLike):
        folders = [_folder(packages)]
    elif isinstance(packages, Sequence):
        folders = [_folder(item) for item in packages]
    elif packages is not None:
        raise _wrong(packages)
    return named, folders


def _folder(value: Folder) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise _wrong(value)
    path = Path(os.fsdecode(value)).expanduser()
    try:
        found = path.is_dir()
    except (OSError, ValueError):
        found = False
    if not found:
        raise InputError(f"packages: no such folder: {os.fsdecode(value)!r:.120}")
    return path.resolve()


def _wrong(value: object) -> InputError:
    return InputError(
        "packages: expected a folder, a list of folders, or a dictionary from names of packages "
        f"to folders, got {type(value).__name__}"
    )
