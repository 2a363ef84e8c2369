"""Several starts: a converged motion is one local optimum; others may be better.

You will learn: how to try several guesses, how to read their spread, and why the script needs the
line `if __name__ == "__main__"` (each start runs in a process of its own, which reads this file).
"""

import predyn


def main() -> None:
    straight = predyn.solve("arm-2r-min-effort")
    best = predyn.solve("arm-2r-min-effort", starts=12)
    print(f"from the straight line: {straight.objective:.3f}")
    print("start  status      objective")
    for start in best.starts:
        print(f"{start['start']:5d}  {start['status']:<10}  {start['objective']:9.3f}")
    print(f"best of {len(best.starts)}: {best.objective:.3f}")
    assert best.objective < straight.objective


if __name__ == "__main__":
    main()
