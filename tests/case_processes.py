"""What runs in other processes in the tests of studies: `python -m case_processes` is a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from fake_cases import FakeSolver, fake_study
from predyn.study.case_worker import Setup, begin
from predyn.study.running import run_cases
from predyn.workers.local_workers import LocalWorkers


class LoggingSolver(FakeSolver):
    """Adds the number of each case that begins to a file."""

    def solve(self, k: int, guess: Any) -> Any:
        with open(self.study.source.tree["log"], "a") as file:
            file.write(f"{k}\n")
            file.flush()
        return super().solve(k, guess)


if __name__ == "__main__":
    folder, cases, sleep, log, count = sys.argv[1:]
    study = fake_study(int(cases), sleep=float(sleep), log=log)
    import case_processes

    def start(setup: Setup) -> Any:
        return LocalWorkers(begin, setup, int(count))

    run_cases(study, Path(folder), case_processes.LoggingSolver, start, False)
    os._exit(0)
