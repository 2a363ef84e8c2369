"""Check terms against the channels that the phases of a problem provide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from predyn.collision.scene import Scene
from predyn.errors import PredynError
from predyn.problem.check_phases import Finding
from predyn.problem.offers import offer_in, phase_name
from predyn.problem.problem import Hybrid, Problem
from predyn.samples import Offer, split_side
from predyn.samples.registry import TORQUES
from predyn.terms.contact import ContactPlace, OnContacts
from predyn.terms.pairs import PeriodicSignal, Symmetric
from predyn.terms.signals import ParameterValue, SignalRate, SignalValue
from predyn.terms.sums import SumTerm
from predyn.terms.term import Residual, Term

ON_UNKNOWNS = (
    SignalValue,
    SignalRate,
    ParameterValue,
    PeriodicSignal,
    OnContacts,
    ContactPlace,
    Symmetric,  # its offsets may be parameters
)


def _scene_in(problem: Problem, p: int) -> int:
    """Equal for phases with the same scene."""
    if not isinstance(problem.scene, Scene):
        return 0
    return id(problem.scene.in_phase(phase_name(problem, p)))


class Binder:
    """Binds terms to phases, and records the channels that they depend on.

    sound: whether the signals, parameters and systems of the problem are valid; if not, terms are
    bound to the model alone, and terms on signals and parameters are skipped.
    """

    def __init__(self, problem: Problem, sound: bool) -> None:
        self._problem, self._sound = problem, sound
        count = len(problem.phases)
        plain = [Offer(problem.model)] * count
        self._here = [offer_in(problem, p) for p in range(count)] if sound else plain
        self._anywhere = [offer_in(problem, p, True) for p in range(count)] if sound else plain
        kinds = zip(problem.phases, self._here, strict=True)
        self._kind = [
            (str(phase.system), frozenset(offer.further), _scene_in(problem, p))
            for p, (phase, offer) in enumerate(kinds)
        ]
        self.seen: set[str] = set()
        self.failed = False

    def bind(self, term: Any, phases: Sequence[int]) -> tuple[Residual | None, str | None]:
        """The residual of a term in the first of the given phases, or an error message."""
        residual, message = self._bound(term, phases)
        self.failed |= message is not None
        return residual, message

    def _bound(self, term: Any, phases: Sequence[int]) -> tuple[Residual | None, str | None]:
        if isinstance(term, type) and issubclass(term, Term):
            name = term.__name__
            return None, f"expected a Term, got the class {name}: write {name}(...)"
        if not isinstance(term, Term):
            hint = "; wrap it in a UserTerm" if callable(term) else ""
            return None, f"expected a Term, got {type(term).__name__}{hint}"
        if isinstance(term, ON_UNKNOWNS):
            if not self._sound:
                return None, None
            message = self._refused(term)
            if message is not None:
                return None, message
        found, firsts = [], dict[tuple[str, frozenset[str], int], int]()
        try:
            if isinstance(term, OnContacts):  # elsewhere it has no effect
                phases = [p for p in phases if term.touches(self._here[p])] or phases
            for p in phases:  # phases with the same channels are checked once
                firsts.setdefault(self._kind[p], p)
            for p in firsts.values():
                # terms on contacts look at what touches in the phase
                offers = self._here if isinstance(term, OnContacts) else self._anywhere
                residual = term.bind_to(offers[p])
                found.append(residual)
                channels = self._channels(term, residual, p)
                message = None
                if self._sound and term.pairs and not isinstance(term, SumTerm):
                    message = self._missing_at_ends(residual, phases)
                elif self._sound:
                    message = self._missing(channels, p)
                if message is not None:
                    return None, message
                self.seen |= channels
        except PredynError as error:
            return None, str(error)
        return found[0] if found else None, None

    def _refused(self, term: Term) -> str | None:
        """Why the hybrid method does not support a term on an unknown."""
        if not isinstance(self._problem.transcription, Hybrid):
            return None
        if isinstance(term, Symmetric):
            if any(isinstance(x, str) for x in term.offset.values()):
                return "method 'hybrid' does not support offsets that are parameters"
            return None
        if not isinstance(term, ParameterValue):
            return f"method 'hybrid' does not support term {term.kind!r}; use method 'spline'"
        if any(phase.duration == term.parameter for phase in self._problem.phases):
            return (
                "method 'hybrid' does not support terms on a duration, which parameter "
                f"{term.parameter!r} is; use the term 'time' or method 'spline'"
            )
        return None

    def _channels(self, term: Term, residual: Residual, p: int) -> set[str]:
        """Plain names of all channels that a term depends on, including its parts."""
        names = {split_side(channel)[1] for channel in residual.channels}
        for _, part in term.parts if isinstance(term, SumTerm) else ():
            names |= self._channels(part, part.bind_to(self._anywhere[p]), p)
        return names

    def _missing_at_ends(self, residual: Residual, phases: Sequence[int]) -> str | None:
        """Why a channel is not available at the start of the first or the end of the last phase."""
        for side, p in enumerate((phases[0], phases[-1])):
            sides = (split_side(channel) for channel in residual.channels)
            message = self._missing({name for own, name in sides if own == side}, p)
            if message is not None:
                return message
        return None

    def _missing(self, channels: set[str], p: int) -> str | None:
        """Why a channel that exists in other phases is not available in phase p."""
        signals = {signal.name: signal for signal in self._problem.signals}
        for channel in sorted(channels):
            family, _, name = channel.partition(":")
            if family not in ("signal", "rate"):
                continue
            if channel not in self._here[p].further:
                where = ", ".join(signals[name].phases or ())
                return (
                    f"signal {name!r} does not exist in {phase_name(self._problem, p)!r} (phases: "
                    f"{where}); give the entry to these phases, or add the phase to the signal"
                )
            if family == "rate" and signals[name].degree == 0:
                return (
                    f"signal {name!r} has degree 0, constant pieces without a rate; use degree 1 "
                    "or more"
                )
        return None


def unused_problems(problem: Problem, seen: set[str]) -> Iterator[Finding]:
    """Unknowns without any effect; seen: channels that terms and forces depend on."""
    for k, signal in enumerate(problem.signals):
        if signal.name == TORQUES:  # the equations of motion depend on it
            continue
        if not seen & {f"signal:{signal.name}", f"rate:{signal.name}"}:
            yield (
                ("signals", k),
                f"nothing depends on signal {signal.name!r}; name it in a force or a term, or "
                "remove it",
            )
    durations = {phase.duration for phase in problem.phases if isinstance(phase.duration, str)}
    if not durations <= {parameter.name for parameter in problem.parameters}:
        return  # a misspelt name is reported with its phase
    for k, parameter in enumerate(problem.parameters):
        if parameter.quantities:  # programs know what depends on them
            continue
        if parameter.name not in durations and f"parameter:{parameter.name}" not in seen:
            yield (
                ("parameters", k),
                f"nothing depends on parameter {parameter.name!r}; make it the duration of a "
                "phase, name it in a term, give it a quantity of the model, or remove it",
            )
