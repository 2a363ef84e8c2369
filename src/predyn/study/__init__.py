"""Studies: many similar motions from one task, with some of its numbers varied."""

from predyn.study.cases import CaseResult, CaseSolver
from predyn.study.study import Column, Study, check_size
from predyn.study.study_file import read_study, study_of

__all__ = [
    "CaseResult",
    "CaseSolver",
    "Column",
    "Study",
    "check_size",
    "read_study",
    "study_of",
]
