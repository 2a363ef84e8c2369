"""predyn estimate"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from predyn.cli.guard import (
    INTERRUPTED,
    NOT_CONVERGED,
    AllowAbsolute,
    AllowCode,
    NormsFile,
    Packages,
    place,
    report_compiling,
    say,
    show,
)
from predyn.cli.model_source import load_model
from predyn.cli.option_values import (
    read_baseline,
    read_force_links,
    read_numbers,
    read_numbers_by_name,
    read_pairs,
)
from predyn.errors import DataWarning, InputError, PredynError

if TYPE_CHECKING:
    from predyn.analysis.gait import GaitCycles
    from predyn.analysis.norms import Norms
    from predyn.estimate.force_links import ForceLink
    from predyn.estimate.result import Estimate

PAPER = "trujillo-two-link"


def estimate(
    model: Annotated[
        str,
        typer.Argument(
            help="A .urdf or .osim file, a task (.toml) for its model, or the name of a model such "
            "as trujillo-two-link.",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(help="Recording: .csv, .trc, .c3d, .mot or .sto.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place,
            metavar="PATH",
            help="Folder for the results (default: ./NAME, after the recording).",
        ),
    ] = None,
    order: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=3,
            help="Penalise torques (0), their differences (1) or second differences (2); 3: a "
            "process with a corner frequency (default: chosen by evidence).",
        ),
    ] = None,
    total_variation: Annotated[
        bool,
        typer.Option("--total-variation", help="For torques that switch: few changes of any size."),
    ] = False,
    independent: Annotated[
        str | None,
        typer.Option(
            help="What changes independently: joints, links, accelerations or none "
            "(default: chosen by evidence)."
        ),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            help="Typical size of what is penalised: a number, or JOINT=NUMBER (repeatable; "
            "default: chosen by evidence)."
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="Standard deviation of the noise, rad or m: a number, or NAME=NUMBER (repeatable; "
            "default: estimated)."
        ),
    ] = None,
    unactuated: Annotated[
        list[str] | None, typer.Option(help="A joint without a motor (repeatable).")
    ] = None,
    base_residual: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Residual force of a floating base, as a share of body weight; 0: exactly zero, "
            "inf: not held (default: 0.04 if the base has no motor).",
        ),
    ] = None,
    force: Annotated[
        list[str] | None,
        typer.Option(
            help="PLATE=LINK: link a recorded force acts on (repeatable). PLATE=LINK,LINK: the "
            "nearest link for each contact. PLATE=LINK@START-END,...: times in s."
        ),
    ] = None,
    forces_from: Annotated[
        Path | None, typer.Option(help="File with the forces, if DATA has none (same axes).")
    ] = None,
    loads: Annotated[
        Path | None,
        typer.Option(
            help="External-loads file of OpenSim (.xml): its forces and the links they act on."
        ),
    ] = None,
    force_shift: Annotated[
        float | None, typer.Option(help="Added to the times of forces, s.")
    ] = None,
    force_baseline: Annotated[
        str | None,
        typer.Option(help="Subtract the offset of unloaded plates: auto, or START,END in s."),
    ] = None,
    force_cutoff: Annotated[
        float | None, typer.Option(help="Low-pass of the forces, Hz (default: none).")
    ] = None,
    force_threshold: Annotated[
        float | None, typer.Option(help="Forces below this count as zero, N (default: none).")
    ] = None,
    units: Annotated[
        list[str] | None,
        typer.Option(
            help="Unit of DATA where it states none or a wrong one: mm, deg (repeatable)."
        ),
    ] = None,
    force_units: Annotated[
        list[str] | None, typer.Option(help="The same for the file of --forces-from (repeatable).")
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            help="OLD=NEW: another name of a joint, marker or force (repeatable); 'Subject:*=*' "
            "removes a prefix."
        ),
    ] = None,
    start: Annotated[float | None, typer.Option(help="First time to use, s.")] = None,
    end: Annotated[float | None, typer.Option(help="Last time to use, s.")] = None,
    guess: Annotated[
        list[str] | None,
        typer.Option(help="JOINT=NUMBER: a pose near the first one, rad or m (repeatable)."),
    ] = None,
    axes: Annotated[
        str, typer.Option(help="File axes that become the model's x, y, z, for example x-zy.")
    ] = "xyz",
    cutoff: Annotated[
        float | None,
        typer.Option(help="Cut-off of the comparison filter, Hz (default: by residual analysis)."),
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(help="Interval of constant torque, s (default: the mean sample interval)."),
    ] = None,
    norms: NormsFile = None,
    foot: Annotated[
        list[str] | None,
        typer.Option(help="SIDE=LINK: link or frame of the left or right foot (repeatable)."),
    ] = None,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
    packages: Packages = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
) -> None:
    """Estimate the torques behind a recorded motion, with 95 % bands.

    Joints and markers of the recording are matched by name to joints and frames of the model.
    Writes result.h5, torques.csv, summary.json and report.html, and of walking gait.csv. Exit code
    0: converged; 2: invalid input; 3: not converged, or the data do not determine the torques; 130:
    interrupted. Partial results are written for 3 and 130 too, but never replace a result that
    converged.

    `predyn estimate trujillo-two-link` without data runs the published example.
    """
    from predyn.analysis.feet import check_feet
    from predyn.analysis.norms import load_norms
    from predyn.estimate.estimating import estimate_torques
    from predyn.estimate.progress import shown_progress
    from predyn.recordings.editing import rename_channels, trim_recording
    from predyn.recordings.loading import load_measurements
    from predyn.results import estimates as estimate_results
    from predyn.results import stored as results
    from predyn.results.folder import locked
    from predyn.storage.interrupts import held_back

    if data is None:
        if model.replace("_", "-") != PAPER:
            raise InputError(f"expected a recording after {model}; only {PAPER} runs without one")
        _paper(out or Path(PAPER), quiet, not no_report)
        return
    mechanism = load_model(model, allow_absolute, allow_code, packages)
    load = partial(
        load_measurements,
        axes=axes,
        force_shift=force_shift,
        force_baseline=read_baseline(force_baseline),
        force_cutoff=force_cutoff,
        force_threshold=force_threshold,
    )
    links = read_force_links(force)
    if loads is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the file is read again below
            recorded = forces_from is None and bool(load_measurements(data, units=units).forces)
        links, forces_from = _apply_loads(loads, links, forces_from, recorded)
    if forces_from is None:
        if force_units:
            raise InputError("--force-units: applies to the file of --forces-from, which is absent")
        recording = load(data, units=units)
    else:
        plates = load(forces_from, units=force_units)
        if not plates.forces:
            raise InputError(f"--forces-from {forces_from}: the file contains no forces")
        recording = load_measurements(data, axes=axes, units=units)
        recording = replace(
            recording, forces=plates.forces, notes=(*recording.notes, *plates.notes)
        )
    recording = rename_channels(recording, read_pairs("--rename", rename, "OLD=NEW"))
    recording = trim_recording(recording, start, end)
    bands = None if norms is None else load_norms(norms)
    feet = read_pairs("--foot", foot, "SIDE=LINK")
    if feet is not None:
        check_feet(mechanism, feet)
    folder = out or Path(results.folder_name(data.stem))
    report_compiling(quiet)
    names = (results.ESTIMATE, results.SUMMARY, results.REPORT, estimate_results.TORQUES,
             estimate_results.GAIT)  # fmt: skip
    with locked(folder, names):
        results.refuse_other(folder, results.SOLUTION)
        results.refuse_obstacles(folder)
        with shown_progress(not quiet, None) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # they are printed below
            result = estimate_torques(
                mechanism,
                recording,
                order=order,
                total_variation=total_variation,
                independent=independent,
                weight=read_numbers("--weight", weight),
                noise=read_numbers("--noise", noise),
                unactuated=tuple(unactuated or ()),
                base_residual=base_residual,
                forces=links,
                guess=read_numbers_by_name("--guess", guess),
                step=step,
                cutoff=cutoff,
                name=data.stem,
                report=progress,
                verbose=False,
            )
        with held_back():
            gait = _gait(result, feet, bands)
            written = estimate_results.write_estimate(result, folder, not no_report, gait)
            show(estimate_results.estimate_text(result))
            show("\n".join(["", *(f"wrote {path}" for path in written)]))
    _end(result)


def _apply_loads(
    loads: Path, links: Mapping[str, ForceLink] | None, forces_from: Path | None, recorded: bool
) -> tuple[dict[str, ForceLink], Path | None]:
    """Links of forces and the file of forces, from an external-loads file and other options."""
    from predyn.load.external_loads import load_external_loads

    given = load_external_loads(loads)
    for note in given.notes:
        say(f"predyn: note: {loads}: {note}")
    if forces_from is None and not recorded:
        if given.data is None:
            raise InputError(f"--loads {loads}: its data file cannot be used; add --forces-from")
        forces_from = Path(given.data)
    return {**given.links, **(links or {})}, forces_from


def _gait(result: Estimate, feet: dict[str, str] | None, norms: Norms | None) -> GaitCycles | None:
    """Gait cycles with what the options ask for; a message if that cannot be."""
    from predyn.analysis.cycles import gait_cycles

    if feet is None and norms is None:
        return None  # found by the report, if there are any
    try:
        return gait_cycles(result, feet=feet, norms=norms)
    except PredynError as error:  # the estimate is not lost by it
        say(f"predyn: no gait cycles as asked for by --norms or --foot: {error}")
        return None


def _end(result: Estimate) -> None:
    if result.success:
        return
    say(
        f"predyn: no valid estimate: {result.status}"
        + (f": {result.message}" if result.message else "")
    )
    raise typer.Exit(INTERRUPTED if result.status == "interrupted" else NOT_CONVERGED)


def _paper(folder: Path, quiet: bool, report: bool) -> None:
    """The published example from both starts."""
    from predyn.published.trujillo_example import STARTS
    from predyn.results import trujillo as paper_results
    from predyn.results.folder import locked
    from predyn.storage.interrupts import held_back

    report_compiling(quiet)
    report_step = None if quiet else lambda text: say(f"predyn: {text}")
    with locked(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        runs = [paper_results.run_paper(start, report=report_step) for start in STARTS]
        with held_back():
            written = paper_results.write_paper(runs, folder, report)
            show(paper_results.paper_text(runs))
            show("\n".join(["", *(f"wrote {path}" for path in written)]))
    if not all(paper_results.succeeded(run) for run in runs):
        say("predyn: not converged")
        raise typer.Exit(NOT_CONVERGED)
