"""The model that an argument of the command line refers to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from predyn import tasks
from predyn.errors import InputError, unknown_name

if TYPE_CHECKING:
    from predyn.model import Model

SIZED = ("random_tree", "pendulum_chain")  # models that need a size


def load_model(
    source: str, allow_absolute: bool, allow_code: bool, packages: list[Path] | None
) -> Model:
    """A built-in model by its name, that of a model file, or that of a task."""
    from predyn import models
    from predyn.load import model_files

    suffix = Path(source).suffix.lower()
    if suffix in model_files.SUFFIXES:
        return model_files.load_model_file(source, packages)
    if suffix == ".toml" or source in tasks.NAMES:
        from predyn.config import load_task

        return load_task(source, allow_absolute=allow_absolute, allow_code=allow_code).model
    names = [name.replace("_", "-") for name in models.__all__ if name not in SIZED]
    if source.replace("_", "-") not in names:
        raise InputError(
            f"{unknown_name('model', source, names)}; a .urdf or .osim file and a task (.toml) "
            "also work"
        )
    mechanism: Model = getattr(models, source.replace("-", "_"))()
    return mechanism


def with_capsules(model: Model, count: int | None) -> Model:
    """The model with up to `count` capsules in place of each collision mesh, if asked for."""
    from predyn.collision.capsule_fit import fit_capsules

    meshes = [x for x in model.shapes if x.role == "collision" and x.kind == "mesh"]
    if count is not None:
        lost = next((x for x in meshes if x.triangles is None and x.file is None), None)
        if lost is not None:
            link = "world" if lost.link < 0 else model.link_names[lost.link]
            why = next((note for note in model.notes if note.startswith("mesh not drawn")), "")
            raise InputError(
                f"link {link!r:.60}: its collision mesh {lost.mesh!r:.80} was not found; name the "
                "folder of its package with --packages" + (f" ({why})" if why else "")
            )
        return model.with_capsules(fit_capsules(model, count))
    if meshes:
        link = "world" if meshes[0].link < 0 else model.link_names[meshes[0].link]
        raise InputError(
            f"model {model.name!r:.60}: link {link!r:.60} has a collision mesh; add --capsules 3 "
            "to use up to 3 capsules around each mesh"
        )
    return model
