"""The report of a study: one HTML file with its table, plots and motions that needs no network."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.storage.files import write_text
from predyn.study.folder import REPORT
from predyn.view.numbers import NOTHING
from predyn.view.pages import BUILT, assembled
from predyn.view.study_columns import (
    ASIDE,
    COLLECTED,
    FAILED,
    NUMBERS,
    OWN,
    SOLVED,
    VARIED,
    PageColumn,
    Reason,
    Table,
    case_numbers,
    checked_length,
    column_data,
    front_rows,
    reasons_of,
    states_of,
)
from predyn.view.study_motions import (
    MOST_BYTES,
    Embedded,
    Loader,
    embed_motions,
    packed,
    packed_text,
)

STUDY_BUILT = ("study.css", "study.js")
MOST_CASES = 12  # listed by number for one reason
KEPT, IN_PAGE = 1, 2  # where a motion can be seen
SENSES = ("min", "max")
NOT_COMPARED = 9  # rank of columns that are not offered for comparison


@dataclass(frozen=True)
class PageText:
    """Words of the page, and what its Pareto plot shows at first.

    pareto: names of two columns, each "min" or "max"; default: the first two collected, "min".
    provenance: names and texts for the end of the page.
    """

    name: str = "Study"
    description: str = ""
    pareto: tuple[tuple[str, str], tuple[str, str]] | None = None
    provenance: Mapping[str, str] | None = None


def write_study_report(
    folder: str | os.PathLike[str],
    table: Table,
    columns: Sequence[PageColumn],
    motions: Iterable[tuple[int, Loader]] = (),
    text: PageText | None = None,
) -> Path:
    """Write report.html into the folder of a study; an earlier one stays until it is complete.

    table: columns by name, of equal length; `study_report` reads them from the folder.
    columns: those that the page shows, in this order.
    motions: case numbers with functions that load their solutions, of those that were kept.
    """
    path = Path(folder) / REPORT
    write_text(path, study_html(table, columns, motions, text or PageText(), str(folder)))
    return path


def study_html(
    table: Table,
    columns: Sequence[PageColumn],
    motions: Iterable[tuple[int, Loader]] = (),
    text: PageText | None = None,
    folder: str = "DIR",
    most_bytes: int = MOST_BYTES,
) -> str:
    """The page as text. folder: what it names in commands that open motions it does not hold."""
    text = text or PageText()
    count = checked_length(table, columns)
    states = states_of(table, count)
    cases = case_numbers(table, count)
    row_of = {case: row for row, case in enumerate(cases)}
    kept = {row_of[case]: load for case, load in motions if case in row_of}
    compared = _compared(table, text, columns)
    embedded = embed_motions(kept.items(), _on_front(table, states, compared), most_bytes)
    reasons = reasons_of(table, states)
    data = _data(table, columns, cases, states, kept, embedded)
    names = [column["name"] for column in data["columns"]]
    data["pareto"] = [[names.index(name), sense] for name, sense in compared] or None
    data["reasons"] = [reason.rows for reason in reasons]
    values = {
        "title": escape(text.name),
        "tab": escape(text.name),
        "badge": _badge(states),
        "description": escape(text.description),
        "numbers": _numbers(states, len(embedded.packed), len(kept)),
        "message": "" if count else '<p class="message">This study has no cases yet.</p>',
        "reasons": _reasons(reasons, cases),
        "left": _left_out(embedded, cases, folder),
        "provenance": _provenance(text.provenance or {}),
        "motions": _motions(embedded),
    }
    data["opens"] = _command(folder)
    return assembled("study.html", values, data, built=STUDY_BUILT, framed=BUILT)


def _data(
    table: Table,
    columns: Sequence[PageColumn],
    cases: list[int],
    states: list[int],
    kept: Mapping[int, Loader],
    embedded: Embedded,
) -> dict[str, Any]:
    """What the script is given, as web/src/study/data.ts describes it."""
    shown = [column for column in columns if column.name not in OWN]
    status = [PageColumn("status", kind="text", role="status")] if "status" in table else []
    more = [PageColumn("message", kind="text", role="status")] if "message" in table else []
    shown += status + (more if any(states) else [])
    motions = [0] * len(cases)
    for row in kept:
        motions[row] = IN_PAGE if row in embedded.packed else KEPT
    return {
        "cases": cases,
        "states": states,
        "motions": motions,
        "columns": [column_data(table, column) for column in shown],
        "curves": embedded.curves(),
    }


def _compared(
    table: Table, text: PageText, columns: Sequence[PageColumn]
) -> Sequence[tuple[str, str]]:
    """Names and senses of the two columns that are compared at first; none without two."""
    numbers = [column for column in columns if column.kind in NUMBERS and column.name not in OWN]
    names = [column.name for column in numbers]
    if text.pareto is None:
        ranked = sorted((_rank(table, column), k) for k, column in enumerate(numbers))
        order = [names[k] for rank, k in ranked if rank < NOT_COMPARED]
        return [(name, "min") for name in order[:2]] if len(order) > 1 else []
    for name, sense in text.pareto:
        if name not in names:
            raise unknown_name("column of the Pareto plot", name, names)
        if sense not in SENSES:
            raise InputError(f"pareto: expected 'min' or 'max', got {sense!r:.40}")
    return text.pareto


def _rank(table: Table, column: PageColumn) -> int:
    """Its place among the columns to compare; what never changes has none."""
    values = np.asarray(table[column.name], float)
    distinct = np.unique(values[np.isfinite(values)])
    if column.role not in (COLLECTED, VARIED) or len(distinct) == 1:
        return NOT_COMPARED
    # costs include their weights, which a study may vary
    weighted = column.name.startswith("cost ")
    ranks = (not weighted and column.name != "objective", weighted, True)
    return ranks.index(True) if column.role == COLLECTED else NOT_COMPARED - 1


def _on_front(
    table: Table, states: Sequence[int], compared: Sequence[tuple[str, str]]
) -> list[int]:
    """Rows on the front of the first plot: their motions go into the page before others."""
    if not compared:
        return []
    solved = np.array(states) == SOLVED
    x, y = (
        np.where(solved, np.asarray(table[name], float) * (1 if sense == "min" else -1), np.nan)
        for name, sense in compared
    )
    return front_rows(x, y)


def _badge(states: Sequence[int]) -> str:
    """How many cases have a result, with a mark that does not rely on colour."""
    solved, count = states.count(SOLVED), len(states)
    kind, mark = ("good", "✓") if solved == count > 0 else ("warning", "⚠")
    if not solved:
        kind, mark = "bad", "✗"
    return f'<span class="badge {kind}">{mark} {solved:,} of {count:,} solved</span>'


def _numbers(states: Sequence[int], in_page: int, kept: int) -> str:
    cards = (
        ("Cases", len(states), "", False),
        ("Failed", states.count(FAILED), "", True),
        (
            "Set aside",
            states.count(ASIDE),
            "lost their worker twice" if ASIDE in states else "",
            True,
        ),
        ("Motions in this page", in_page, f"{kept:,} kept in the folder", False),
    )
    return "".join(
        f"<div{' class=warning' if warns and number else ''}><dt>{title}</dt>"
        f"<dd>{number:,}{f'<small>{note}</small>' if note else ''}</dd></div>"
        for title, number, note, warns in cards
    )


def _reasons(reasons: Sequence[Reason], cases: Sequence[int]) -> str:
    """Cases without a result; the script adds buttons that show them."""
    if not reasons:
        return ""
    rows = "".join(
        f'<tr><td class="n">{len(reason.rows):,}</td><td class="w">'
        f"{escape(reason.status.replace('_', ' '))}</td>"
        f"<td>{escape(reason.message or NOTHING)}</td>"
        f'<td>{_listed(reason.rows, cases)}</td><td class="act" data-reason="{k}"></td></tr>'
        for k, reason in enumerate(reasons)
    )
    head = "<th>Count</th><th>Status</th><th>Reason (of the first)</th><th>Cases</th><th></th>"
    return (
        '<section id="reasons"><h2>Cases without a result</h2><div class="scroll" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _listed(rows: Sequence[int], cases: Sequence[int]) -> str:
    more = f" and {len(rows) - MOST_CASES:,} more" if len(rows) > MOST_CASES else ""
    return ", ".join(str(cases[row]) for row in rows[:MOST_CASES]) + more


def _left_out(embedded: Embedded, cases: Sequence[int], folder: str) -> str:
    """Which motions the page does not hold, and how to open those."""
    lines = []
    for rows, why in (
        (embedded.too_many, "would make this page too large; open one with "),
        (embedded.still, "contain values that are not finite; see one with "),
        (embedded.unreadable, "could not be read; solve these cases again. Their files: "),
    ):
        if rows:
            command = view_command(folder, cases[rows[0]])
            what = command.split(" ", 2)[2] if rows is embedded.unreadable else command
            lines.append(
                f"<p>{len(rows):,} kept motion{'s' if len(rows) > 1 else ''} {why}"
                f"<code>{escape(what)}</code>. Cases: {_listed(rows, cases)}.</p>"
            )
    return f'<div id="left" class="message caution">{"".join(lines)}</div>' if lines else ""


def view_command(folder: str, case: int) -> str:
    """What opens a kept motion."""
    return f"{case:06d}".join(_command(folder))


def _command(folder: str) -> list[str]:
    """The command before and after the number of the case."""
    return [f"predyn view {shlex.quote(folder)}/solutions/", ".h5"]


def _provenance(texts: Mapping[str, str]) -> str:
    if not texts:
        return ""
    parts = "".join(
        f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
        for name, text in texts.items()
    )
    return f'<section id="provenance"><h2>Provenance</h2>{parts}</section>'


def _motions(embedded: Embedded) -> str:
    """The page of a motion, what all have in common, and each of them, all compressed."""
    if embedded.common is None:
        return ""
    player = assembled("study-motion.html", {"tab": "Motion"}, {})
    parts = {"player": packed_text(player), "common": packed(embedded.common)}
    parts |= {f"motion-{row}": text for row, text in sorted(embedded.packed.items())}
    return "\n".join(
        f'<script type="text/plain" id="{name}">{text}</script>' for name, text in parts.items()
    )
