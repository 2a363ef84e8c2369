"""What a study is, as text for a terminal."""

from __future__ import annotations

from predyn.study.study import TEXT, Column, Study

MOST_WORDS = 8  # listed


def study_text(study: Study) -> str:
    """The number of cases, what varies with its range, and what is collected."""
    source = study.source
    made_from = source.path if source.kind == "task" else source.tree["recording"]
    lines = [
        f"study {study.name!r}: {len(study):,} cases of the {source.kind} {made_from}",
        *([study.description] if study.description else []),
        *(f"varies: {_varied(study, column)}" for column in study.varied),
        "collected: " + ("; ".join(map(_named, study.collected)) or "nothing more"),
    ]
    if source.kind == "task":
        lines.append("start from solutions of neighbours: " + ("yes" if study.warm else "no"))
        lines.append("solutions are kept: " + ("yes" if study.keep_solutions else "no"))
    return "\n".join(lines)


def _varied(study: Study, column: Column) -> str:
    values = study.values[column.name]
    if column.kind == TEXT:
        words = list(dict.fromkeys(values.tolist()))
        more = f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
        return f"{_named(column)}: {', '.join(words[:MOST_WORDS])}{more}"
    different = len(set(values.tolist()))
    count = f"{different} value{'s' if different > 1 else ''}"
    return f"{_named(column)}: {count} from {values.min():.6g} to {values.max():.6g}"


def _named(column: Column) -> str:
    return f"{column.name} [{column.unit}]" if column.unit else column.name
