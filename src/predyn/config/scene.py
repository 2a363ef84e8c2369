"""The scene of a task file: a scene file, or obstacles and parts in the task itself."""

from __future__ import annotations

from predyn.collision.scene import Scene
from predyn.collision.scene_file import load_scene, scene_from
from predyn.config.findings import Findings
from predyn.config.lines import Path
from predyn.config.model import Folder
from predyn.config.schema import SceneTable
from predyn.errors import InputError

WHERE: Path = ("scene",)


def scene_of(table: SceneTable | None, folder: Folder, findings: Findings) -> Scene | None:
    """The scene; None without one, or with an error."""
    if table is None:
        return None
    fields = table.model_dump(include={"obstacles", "parts", "allowed"}, exclude_unset=True)
    scene = None
    with findings.at(WHERE):
        if table.file is None:
            scene = scene_from(fields, folder.path / "task.toml")
        elif fields:
            raise InputError(f"expected a file or {', '.join(fields)}, got both")
        else:
            scene = load_scene(folder.file(table.file))
    return scene
