"""Model files by their suffix."""

from __future__ import annotations

from pathlib import Path

from predyn.load.mesh_files import Packages
from predyn.load.urdf import load_urdf
from predyn.model import Model

SUFFIXES = (".urdf", ".xml", ".osim")


def load_model_file(path: str, packages: Packages = None) -> Model:
    """The model in a .urdf (or .xml) or .osim file; `packages` are for meshes of URDF files."""
    if Path(path).suffix.lower() == ".osim":
        from predyn.load.osim import load_osim  # imports SciPy's splines

        return load_osim(path)
    return load_urdf(path, packages=packages)
