"""The front between time and effort of the six-axis arm, against solves of the same weighted sums.

    python benchmarks/fronts.py [POINTS]

Seconds of CPU on one thread, the fewest of five; ratios above 1 mean that the front is faster.
"""

from __future__ import annotations

import sys
from time import process_time

import predyn
from predyn.study.front import chosen_costs, find_front


def main() -> None:
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    problem = predyn.load_task("arm6-pick")
    names = chosen_costs(problem, None)
    find_front(problem, names, 5)  # kernels are loaded
    fronts, colds = [], []
    for _ in range(5):
        began = process_time()
        front = find_front(problem, names, points)
        fronts.append(process_time() - began)
        weighted = [point.solution.problem for point in front]
        began = process_time()
        single = [predyn.solve(one, guess=problem.guess, verbose=False) for one in weighted]
        colds.append(process_time() - began)
    better = sum(
        one.success and one.objective < point.solution.objective * (1.0 - 1e-6)
        for one, point in zip(single, front, strict=True)
    )
    print(f"{points} points: front {min(fronts):.2f} s, single solves {min(colds):.2f} s, ratio "
          f"{min(colds) / min(fronts):.2f}; {better} single solves are better")  # fmt: skip


if __name__ == "__main__":
    main()
