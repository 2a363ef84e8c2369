"""Which case starts from which."""

import numpy as np
import pytest

from predyn.study.case_tree import CaseTree, case_tree, cold_tree, tree_of_values


def depth_of(tree: CaseTree) -> int:
    depth = np.zeros(len(tree.parents), int)
    for k in tree.order:
        if tree.parents[k] >= 0:
            depth[k] = depth[tree.parents[k]] + 1
    return int(depth.max())


def check(tree: CaseTree, n: int) -> None:
    """The order has every case once, after its parent."""
    assert sorted(tree.order.tolist()) == list(range(n))
    place = np.empty(n, int)
    place[tree.order] = np.arange(n)
    inner = np.flatnonzero(tree.parents >= 0)
    assert np.all(place[tree.parents[inner]] < place[inner])


@pytest.mark.parametrize("n", [1, 2, 3, 17, 300, 3000])
def test_order_and_depth(n: int) -> None:
    rng = np.random.default_rng(n)
    tree = case_tree([rng.uniform(0, 1, n), rng.uniform(5, 900, n)], [], n)
    check(tree, n)
    assert np.sum(tree.parents < 0) == 1
    assert depth_of(tree) <= np.ceil(np.log2(n)) if n > 1 else depth_of(tree) == 0


def test_the_root_is_in_the_middle_and_parents_are_near() -> None:
    x = np.linspace(10.0, 20.0, 101)
    tree = case_tree([x], [], 101)
    assert x[tree.order[0]] == 15.0
    inner = np.flatnonzero(tree.parents >= 0)
    distance = np.abs(x[inner] - x[tree.parents[inner]])
    assert np.median(distance) < 0.5
    assert distance.max() <= 5.0


def test_columns_count_by_their_range() -> None:
    wide = np.repeat(np.linspace(0.0, 1e6, 5), 5)
    narrow = np.tile(np.linspace(0.0, 1e-3, 5), 5)
    tree = case_tree([wide, narrow], [], 25)
    other = case_tree([wide / 1e6, narrow / 1e-3], [], 25)
    assert tree.parents.tolist() == other.parents.tolist()
    constant = case_tree([wide, np.full(25, 3.0)], [], 25)
    assert constant.parents.tolist() == case_tree([wide], [], 25).parents.tolist()


def test_values_that_are_not_finite_or_equal() -> None:
    x = np.array([1.0, np.nan, np.inf, 1.0, 1.0, 2.0])
    check(case_tree([x], [], 6), 6)
    check(case_tree([np.full(6, np.nan)], [], 6), 6)
    check(case_tree([], [], 6), 6)


def test_words_have_trees_of_their_own() -> None:
    n = 60
    words = np.array(["a", "b", "c"] * 20, object)
    tree = case_tree([np.linspace(0, 1, n)], [words], n)
    check(tree, n)
    assert np.sum(tree.parents < 0) == 3
    inner = np.flatnonzero(tree.parents >= 0)
    assert np.all(words[inner] == words[tree.parents[inner]])


def test_cold_studies_have_no_parents() -> None:
    tree = tree_of_values({"x": np.arange(5.0)}, (), 5, warm=False)
    assert np.all(tree.parents == -1)
    assert tree.order.tolist() == cold_tree(5).order.tolist()


@pytest.mark.verify
def test_ten_thousand_cases_are_quick() -> None:
    from time import process_time

    rng = np.random.default_rng(0)
    began = process_time()
    tree = case_tree([rng.uniform(0, 1, 10_000) for _ in range(3)], [], 10_000)
    assert process_time() - began < 5.0
    check(tree, 10_000)
