"""Progress of a solve for whoever waits for it, besides the report that a caller may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from predyn.kernels import kernel_cache
from predyn.solvers.ipopt_callbacks import Iterate
from predyn.solvers.progress import Progress, progress_of
from predyn.solving.single_solve import Output, Report


@contextmanager
def shown_progress(verbose: bool | None, report: Report | None) -> Iterator[Output]:
    """The output of a solve. If verbose is None, a caller with a report shows what is needed."""
    progress = progress_of(False if verbose is None and report is not None else verbose)
    if progress is None:
        yield Output(report=report)
        return

    def both(iterate: Iterate) -> bool | None:
        progress(iterate)
        return None if report is None else report(iterate)

    def note(text: str) -> None:
        progress.row(lambda: text, at_once=True)

    with progress, _compilation_named(progress):
        yield Output(report=both, announce=progress.announce, note=note)


@contextmanager
def _compilation_named(progress: Progress) -> Iterator[None]:
    """Say that kernels are being compiled, unless another one says so."""

    def notice() -> None:
        text = "compiling kernels; they are cached on disk, so this happens only once"
        progress.row(lambda: text, at_once=True)

    if kernel_cache.compiling:
        yield
        return
    kernel_cache.compiling.append(notice)
    try:
        yield
    finally:
        if notice in kernel_cache.compiling:
            kernel_cache.compiling.remove(notice)
