"""What results can do on a screen: plot, animate, report, show, and appear in a notebook.

Models, problems and results lie below `view`, which draws them. These mixins are the only upward
imports of the package, made when a method is called; the import contract names this file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from predyn.analysis.gait import GaitCycles
    from predyn.view.panels import Motion


class Shown:
    """Something that has a page: `show()`, and the output of a notebook cell."""

    def show(self: Any, port: int = 0, browser: bool = True) -> None:
        """Show it: below the cell of a notebook, elsewhere in the browser.

        The page is served on this machine only, at `port` (0: any that is free), until Ctrl-C; at
        an interactive prompt as long as Python runs. browser=False only prints the address.
        """
        from predyn.view.showing import show

        show(self, port, browser)

    def _repr_html_(self: Any) -> str:
        from predyn.view.snippet import snippet

        return snippet(self)


class Moving(Shown):
    """A motion: it can be plotted and animated."""

    def plot(
        self: Any,
        *names: str,
        joints: Sequence[str] | None = None,
        degrees: bool = False,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Curves over time with matplotlib, one axes for each quantity and unit.

        names    channels: "q", "v", "a", "tau", of a solution all that `channel` knows; "q" and
                 "tau" by default
        joints   names of the joints to draw; all by default
        degrees  angles in degrees instead of radians
        ax       axes to draw into, as many as there are quantities; a new figure by default

        Limits are dashed, phases shaded, and 95 % bands of an estimate filled. Limits far from the
        curves are outside the picture. Needs the extra `predyn[pictures]`.
        """
        from predyn.view.plots import plot

        return plot(self, names, joints, degrees, ax)

    def animate(
        self: Any,
        path: str | os.PathLike[str],
        *,
        fps: float = 25.0,
        speed: float = 1.0,
        size: tuple[int, int] = (640, 480),
        view: tuple[float, float] | None = None,
        verbose: bool | None = None,
    ) -> None:
        """Write the motion as a film: .gif, or .mp4 (H.264).

        fps      pictures a second, at most 50 for .gif
        speed    of the film over that of the motion; 0.5 is slow motion
        size     width and height in pixels
        view     azimuth about the vertical and elevation, degrees; by default as in the report
        verbose  whether to show progress; None: only in terminals and notebooks

        Needs the extra `predyn[pictures]`, and for .mp4 `predyn[video]`. The file appears when it
        is complete.
        """
        from predyn.view.animation import animate

        animate(self, path, fps=fps, speed=speed, size=size, view=view, verbose=verbose)

    def snapshots(
        self: Any,
        path: str | os.PathLike[str],
        *,
        count: int = 6,
        size: tuple[int, int] = (240, 400),
        view: tuple[float, float] | None = None,
    ) -> None:
        """Write a picture with a row of snapshots at equal time steps: .png.

        count  snapshots, from the start to the end of the motion
        size   width and height of each in pixels
        view   azimuth about the vertical and elevation, degrees; by default as in the report

        Needs the extra `predyn[pictures]`. The file appears when it is complete.
        """
        from predyn.view.snapshots import snapshots

        snapshots(self, path, count=count, size=size, view=view)


class Reported(Moving):
    """A result with a report."""

    def report(self: Any, path: str | os.PathLike[str], *, gait: GaitCycles | None = None) -> None:
        """Write the report: one HTML file that needs nothing but a browser.

        gait: from `predyn.analysis.gait_cycles`, with your feet, norms or signs; by default the
        gait cycles that the motion has, if any.
        """
        from predyn.view.showing import write_estimate_page

        write_estimate_page(self, path, gait)


class Compared(Moving):
    """A result whose report may show another motion too."""

    def report(
        self: Any,
        path: str | os.PathLike[str],
        *,
        compare: Motion | None = None,
        gait: GaitCycles | None = None,
    ) -> None:
        """Write the report: one HTML file that needs nothing but a browser.

        compare: another solution, an estimate or a trajectory of the same joints, laid over the
        animation and drawn dashed in the curves, from its own start on.
        gait: from `predyn.analysis.gait_cycles`, with your norms or signs; by default the gait
        cycles that a motion on the ground has, if any.
        """
        from predyn.view.showing import write_page

        write_page(self, path, compare, gait)
