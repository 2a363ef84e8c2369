"""What runs in other processes in the tests of studies: `python -m case_processes` is a run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from fake_cases import FakeSolver, Inside, fake_study
from predyn.study.case_worker import Setup, begin
from predyn.study.running import run_cases
from predyn.workers.local_workers import LocalWorkers

STOPS = 0  # the case, counted as they begin, that does not end; 0: all end


class LoggingSolver(FakeSolver):
    """Adds the number of each case that begins to a file."""

    begun = 0

    def solve(self, k: int, guess: Any) -> Any:
        self.begun += 1
        with open(self.study.source.tree["log"], "a") as file:
            file.write(f"{k}\n")
            file.flush()
        if self.begun == STOPS:
            time.sleep(60.0)  # until this process is killed
        return super().solve(k, guess)


if __name__ == "__main__":
    folder, cases, sleep, log, count, stops = sys.argv[1:]
    study = fake_study(int(cases), sleep=float(sleep), log=log)
    import case_processes

    case_processes.STOPS = int(stops)  # without other processes

    def start(setup: Setup) -> Any:
        if count == "0":
            return Inside(setup)
        return LocalWorkers(begin, setup, int(count))

    run_cases(study, Path(folder), case_processes.LoggingSolver, start, False)
    os._exit(0)
