"""What all commands share: the application, how errors become messages and exit codes."""

from __future__ import annotations

import functools
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from predyn import __version__
from predyn.errors import PredynError

BUG, BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130
NOT_CERTIFIED = 4  # of `predyn certify`: a collision, or undecided

# control characters of ASCII and Latin-1, those that break lines or turn the direction of writing,
# and bytes of file names that are not UTF-8
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udcff]"
)

P = ParamSpec("P")
R = TypeVar("R")

app = typer.Typer(
    name="predyn",
    help="Optimal motions of mechanisms, and the torques behind recorded motions.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
_debug = False

ResultFile = Annotated[
    Path,
    typer.Argument(
        help="A solution.h5 or result.h5, or the folder that holds it.", metavar="RESULT"
    ),
]
AllowAbsolute = Annotated[
    bool, typer.Option(help="Allow the task to read files outside its own folder.")
]
AllowCode = Annotated[
    bool, typer.Option(help="Allow the task to run the Python functions it names.")
]
MovementOptions = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="An option of a movement, such as speed=1.4."),
]
Capsules = Annotated[
    int | None,
    typer.Option(
        min=1, max=50, help="Replace each collision mesh by up to this many capsules around it."
    ),
]
Packages = Annotated[
    list[Path] | None,
    typer.Option(help="Folder with meshes of a .urdf file, or with its packages (repeatable)."),
]
NormsFile = Annotated[
    Path | None,
    typer.Option(
        "--norms", help="CSV file of normative gait curves, drawn as bands (columns: docs)."
    ),
]


def place(text: str) -> Path:
    """The path of an option; an empty one is a mistake, such as an unset shell variable."""
    if not text.strip():
        raise typer.BadParameter(
            "expected a path, got an empty string; use . for the working folder"
        )
    return Path(text)


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Errors of a command become one message and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return command(*args, **kwargs)
        except PredynError as error:
            if _debug:
                say(traceback.format_exc())
            say(f"predyn: {error}")
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError:
            say("predyn: not enough memory; use fewer segments, limit points or starts")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("predyn: interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if isinstance(error.__context__, KeyboardInterrupt):  # while a module was being loaded
                say("predyn: interrupted")
                raise typer.Exit(INTERRUPTED) from None
            if _debug:
                raise
            if isinstance(error, OSError) and error.filename is None:  # files have names
                say(f"predyn: cannot write the output: {error.strerror}")
                raise typer.Exit(BAD_INPUT) from None
            say(
                f"predyn: internal error: {type(error).__name__}: {error}\n"
                f"Please report it with the task file and the output of `predyn --debug "
                f"{' '.join(sys.argv[1:])}` (predyn {__version__})."
            )
            raise typer.Exit(BUG) from None

    return run


def show(text: str) -> None:
    """Write an answer to standard output."""
    typer.echo(harmless(text))


def say(text: str) -> None:
    """Write a message to standard error."""
    typer.echo(harmless(text), err=True)


def harmless(text: str) -> str:
    """The text with everything that could control a terminal written as escapes: \\x1b, \\u202e.

    Names and messages may come from untrusted files. Line ends and tabs stay.
    """
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"predyn: warning: {message}")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"predyn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    global _debug
    _debug = debug


def report_compiling(quiet: bool) -> None:
    """Report once that kernels are being compiled, which makes a run take longer."""
    from predyn.kernels import kernel_cache

    def report() -> None:
        kernel_cache.compiling.clear()
        say("predyn: compiling kernels; they are cached on disk, so this happens only once")

    kernel_cache.compiling[:] = [] if quiet else [report]
