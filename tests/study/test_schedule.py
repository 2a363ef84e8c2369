"""Jobs: what runs next, what is repeated, which solutions are needed."""

import numpy as np
import pytest

from predyn.study.case_tree import CaseTree, case_tree, cold_tree
from predyn.study.schedule import MOST, NONE, Job, Schedule, to_be_repeated


def started(tree: CaseTree, solved: dict[int, int] | None = None) -> Schedule:
    schedule = Schedule(tree)
    schedule.begin((solved or {}).items())
    return schedule


def tree_of(n: int) -> CaseTree:
    return case_tree([np.random.default_rng(1).uniform(0, 1, n)], [], n)


def end(schedule: Schedule, job: Job, failed: frozenset[int] = frozenset()) -> list[int]:
    """End a job as a worker would; returns the solutions that are not needed any more."""
    sources = dict(job.sources)
    for k, parent in zip(job.cases, job.parents, strict=True):
        sources[k] = sources.get(parent, NONE) if k in failed else k
    return schedule.finish([(k, sources[k]) for k in job.cases])


def test_every_case_runs_once_after_its_parent() -> None:
    tree, rng = tree_of(500), np.random.default_rng(2)
    schedule, done, running = started(tree), set(), []
    while not schedule.finished:
        while len(running) < 3 and (job := schedule.next_job(3)) is not None:
            for k, parent in zip(job.cases, job.parents, strict=True):
                assert parent == tree.parents[k]
                assert k not in done
                assert parent < 0 or parent in done or parent in job.cases
            running.append(job)
        job = running.pop(int(rng.integers(len(running))))
        schedule.time(0.01 * len(job.cases), len(job.cases))
        end(schedule, job)
        done |= set(job.cases)
    assert done == set(range(500))
    assert list(schedule.needed()) == []


def test_jobs_take_about_a_second() -> None:
    for seconds, most in ((0.001, MOST), (0.1, 10), (5.0, 1)):
        schedule = started(cold_tree(10_000))
        job = schedule.next_job(2)
        assert job is not None
        assert len(job.cases) == 1  # nothing is known yet
        schedule.time(seconds, 1)
        end(schedule, job)
        job = schedule.next_job(2)
        assert job is not None
        assert len(job.cases) == most


def test_solutions_are_needed_until_the_last_child_has_ended() -> None:
    tree, schedule = tree_of(200), started(tree_of(200))
    stored: set[int] = set()
    while not schedule.finished:
        job = schedule.next_job(1)
        assert job is not None
        assert set(job.sources.values()) <= stored
        schedule.time(0.2, len(job.cases))
        stored |= job.wanted
        stored -= set(end(schedule, job))
        undone = {int(tree.parents[k]) for k in range(200) if k not in schedule_done(schedule)}
        assert set(schedule.needed()) == stored
        assert stored <= undone
    assert not stored


def schedule_done(schedule: Schedule) -> set[int]:
    return {k for k in range(len(schedule)) if schedule._state[k] == 2}


def test_children_of_a_failed_case_start_from_its_nearest_solved_ancestor() -> None:
    chain = CaseTree(np.array([-1, 0, 1, 2]), np.arange(4))
    schedule = started(chain)
    for failed in ((), (1,), (2,), ()):
        job = schedule.next_job(1)
        assert job is not None
        unused = end(schedule, job, frozenset(failed))
        assert unused == ([0] if job.cases == (3,) else [])
    assert schedule.source_for(3) == 0
    cold = started(chain)
    job = cold.next_job(1)
    assert job is not None
    end(cold, job, frozenset({0}))
    assert cold.source_for(1) == NONE


def test_a_lost_job_is_run_case_by_case_and_the_culprit_set_aside() -> None:
    schedule = started(cold_tree(200))
    schedule.time(0.01, 1)
    job = schedule.next_job(1)
    assert job is not None
    assert len(job.cases) > 3
    assert schedule.lose(job) is None
    culprit, losses, seen = job.cases[1], 0, []
    while not schedule.finished:
        one = schedule.next_job(1)
        assert one is not None
        seen += one.cases
        if culprit in one.cases:
            assert one.cases == (culprit,)
            losses += 1
            if schedule.lose(one) is None:
                continue
            schedule.finish([(culprit, NONE)])
        else:
            end(schedule, one)
    assert losses == 2
    assert sorted(seen) == sorted([*range(200), culprit])


def test_a_case_that_is_lost_once_alone_is_tried_again() -> None:
    schedule = started(cold_tree(1))
    job = schedule.next_job(1)
    assert job is not None
    assert schedule.lose(job) is None
    again = schedule.next_job(1)
    assert again == job
    end(schedule, job)
    assert schedule.finished


def test_a_case_that_was_lost_alone_waits_for_all_others() -> None:
    """A new worker begins with another case, so that chance does not hit the same one twice."""
    schedule = started(cold_tree(3))
    lost = schedule.next_job(1)
    assert lost is not None
    assert schedule.lose(lost) is None
    seen = []
    while not schedule.finished:
        job = schedule.next_job(1)
        assert job is not None
        seen += job.cases
        end(schedule, job)
    assert seen[-1:] == list(lost.cases)
    assert sorted(seen) == [0, 1, 2]


def test_what_is_repeated_if_solutions_are_missing() -> None:
    chain = CaseTree(np.array([-1, 0, 1, 2, 2]), np.arange(5))
    every = {0: 0, 1: 1, 2: 2}
    assert to_be_repeated(chain, every, lambda _: True) == set()
    assert to_be_repeated(chain, every, lambda k: k != 2) == {2}
    assert to_be_repeated(chain, every, lambda k: k == 0) == {1, 2}
    assert to_be_repeated(chain, every, lambda _: False) == {0, 1, 2}
    failed = {0: 0, 1: 0, 2: 0}  # 1 and 2 have failed; what follows starts from 0
    assert to_be_repeated(chain, failed, lambda _: False) == {0, 1, 2}
    whole = every | {3: 3, 4: 4}
    assert to_be_repeated(chain, whole, lambda _: False) == set()


@pytest.mark.parametrize("seed", range(40))
def test_random_losses_and_failures(seed: int) -> None:
    """Whatever dies and fails when: no case ends twice, and what a job starts from is there."""
    rng = np.random.default_rng(seed)
    tree = case_tree([rng.uniform(0, 1, 80)], [], 80)
    poison, failed = (frozenset(rng.choice(80, size, False).tolist()) for size in (2, 8))
    schedule, running, ended, stored = started(tree), [], set(), set()
    while not schedule.finished:
        while len(running) < 3 and (job := schedule.next_job(3)) is not None:
            assert not ended & set(job.cases)
            assert {source for source in job.sources.values() if source != NONE} <= stored
            assert not any(set(job.cases) & set(other.cases) for other in running)
            running.append(job)
        job = running.pop(int(rng.integers(len(running))))
        if poison & set(job.cases) or rng.uniform() < 0.15:
            aside = schedule.lose(job)
            if aside is None:
                continue
            ended.add(aside)
            unused = schedule.finish([(aside, schedule.source_for(aside))])
        else:
            schedule.time(rng.uniform(0.01, 0.3) * len(job.cases), len(job.cases))
            sources = dict(job.sources)
            for k, parent in zip(job.cases, job.parents, strict=True):
                sources[k] = sources.get(parent, NONE) if k in failed else k
            own = {sources[k] for k in job.wanted} & set(job.cases)
            ended |= set(job.cases)
            stored |= own
            unused = schedule.finish([(k, sources[k]) for k in job.cases])
        stored -= set(unused)
        assert set(schedule.needed()) <= stored
    assert ended == set(range(80))
    assert not list(schedule.needed())
