"""The script of the pages is built before predyn is packed or installed, unless it is there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent / "web"))
import bundle


class BundleHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        """Node is fetched only where something has to be built: not for a wheel from an sdist."""
        return [] if bundle.is_fresh() else [bundle.NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not bundle.is_fresh():
            bundle.build()
