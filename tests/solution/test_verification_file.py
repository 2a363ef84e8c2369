"""The verification in a solution's file: lossless, optional, and checked when it is read."""

import io
import re
from dataclasses import replace

import h5py
import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.errors import FileError
from predyn.simulation import verification
from predyn.solution.file import KIND, load_solution
from predyn.storage import hdf5_tree
from sameness import assert_same


def swinging(status="optimal"):
    """An acrobot in two phases whose first joint should have no torque."""
    model = predyn.models.acrobot()
    return replace(fake_solution(2, status=status, model=model), passive=("joint1",))


@pytest.mark.parametrize(
    "solution",
    [fake_solution(), swinging(), swinging("infeasible")],
    ids=["driven", "passive", "infeasible"],
)
def test_round_trip_bit_for_bit(tmp_path, solution):
    verified = predyn.verify(solution)
    verified.save(tmp_path / "a.h5")
    again = load_solution(tmp_path / "a.h5")
    assert_same(again, verified)
    assert again.summary() == verified.summary()
    again.save(tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_round_trip_of_a_replay_that_stopped_at_jumps(tmp_path, monkeypatch):
    whole = predyn.replay(swinging())
    part = {name: getattr(whole, name)[:1] for name in (
        "t", "q", "v", "tau", "dq", "dv", "energy", "work_torques", "work_friction",
        "work_forces", "energy_error")}  # fmt: skip
    part["work_torques"] = np.array([np.inf])
    stopped = replace(whole, status="diverged", message="too fast", jumps=(0.6,), **part)
    monkeypatch.setattr(verification, "replay", lambda solution, max_steps: stopped)
    verified = predyn.verify(swinging())
    verified.save(tmp_path / "s.h5")
    assert_same(load_solution(tmp_path / "s.h5"), verified)


def test_a_file_without_verification_loads(tmp_path):
    fake_solution().save(tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5") as file:
        assert "verification" not in file
    assert load_solution(tmp_path / "s.h5").verification is None


def test_the_file_grows_by_little(tmp_path):
    """Only a few of many samples are stored."""
    solution = fake_solution()
    t = np.linspace(0.0, solution.duration, 20_001)
    fields = {name: getattr(solution.at(t), name) for name in ("q", "v", "a", "tau", "reactions")}
    many = replace(solution, t=t, phase=np.zeros(len(t), np.int64), **fields)
    many.save(tmp_path / "a.h5")
    predyn.verify(many).save(tmp_path / "b.h5")
    sizes = [(tmp_path / name).stat().st_size for name in ("a.h5", "b.h5")]
    assert sizes[1] - sizes[0] < 8 * 600 * (1 + 2 * 2 + 4) + 20_000


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "s.h5"
    predyn.verify(swinging()).save(path)
    return path.read_bytes()


def refused(saved, edit, tmp_path):
    """The error message of the file after an edit with h5py that updates the seal."""
    buffer, path = io.BytesIO(saved), tmp_path / "bad.h5"
    with h5py.File(buffer, "r+") as file:
        edit(file["verification"])
    path.write_bytes(hdf5_tree.seal(buffer.getvalue()[hdf5_tree.BLOCK :], KIND, 1))
    with pytest.raises(FileError) as caught:
        load_solution(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def test_missing_entries_are_named(saved, tmp_path):
    with h5py.File(io.BytesIO(saved)) as file:
        checks = file["verification"]
        names = {owner: [*checks[owner], *(x for x in checks[owner].attrs if x[0] != "%")]
                 for owner in ("/verification", "passive", "replay")}  # fmt: skip
    assert sum(map(len, names.values())) == 5 + 5 + 15
    for owner, entries in names.items():
        for name in entries:

            def drop(group, owner=owner, name=name):
                holder = group[owner]
                del (holder.attrs if name in holder.attrs else holder)[name]

            assert f"{name} is missing" in refused(saved, drop, tmp_path)


def value(name, change):
    """Apply `change` to an array, or to an attribute after @."""

    def edit(group):
        owner, at, attribute = name.partition("@")
        holder, key = (group[owner or "."].attrs, attribute) if at else (group, name)
        new = change(holder[key] if at else holder[key][...])
        del holder[key]
        holder[key] = new

    return edit


def last(number):
    def change(array):
        array.flat[-1] = number
        return array

    return change


IMPOSSIBLE = {
    "motor 2": (value("@motor", lambda _: 2), "motor: expected the number of a joint, .* 0 to 1"),
    "motor -1": (value("@motor", lambda _: -1), "motor: expected a non-negative number, got -1"),
    "effort": (value("@effort", lambda x: -x), "effort: expected a non-negative number"),
    "infinite effort": (value("@effort", lambda _: np.inf), "effort: expected a finite number"),
    "nan effort": (value("@effort", lambda _: np.nan), "effort: expected a finite number"),
    "words": (value("@effort", lambda _: "large"), "effort: expected float, got 'large'"),
    "reason": (value("@no_replay", lambda _: "tired"), "no_replay: expected a reason if there is"),
    "number for replay": (
        lambda g: (g.__delitem__("replay"), g.attrs.create("replay", 1.0)),
        "replay: expected dict or NoneType"),
    "neither": (
        lambda g: (g.__delitem__("replay"), g.attrs.create("replay", h5py.Empty("f8"))),
        "no_replay: expected a reason if there is"),
    "falling times": (value("passive/t", lambda t: t[::-1]), "passive/t: expected non-decreasing"),
    "late torque": (value("passive/t", last(9.0)), "passive/t: expected times from 0 to 1.2 s"),
    "no torque": (value("passive/t", lambda t: t[:0]), "passive/t: expected times if there are"),
    "fewer torques": (value("passive/tau", lambda x: x[1:]), "passive/tau: expected float64 of"),
    "nan torque": (value("passive/tau", last(np.nan)), "passive/tau: expected finite numbers"),
    "two joints": (value("passive/largest", lambda x: np.ones(2)), "passive/largest: expected fl"),
    "negative size": (value("passive/largest", last(-1.0)), "passive/largest: expected non-neg"),
    "nan size": (value("passive/largest", last(np.nan)), "passive/largest: expected finite"),
    "negative rms": (value("passive/rms", last(-1.0)), "passive/rms: expected non-negative"),
    "early": (value("passive/largest_t", last(-1.0)), "passive/largest_t: expected times from 0"),
    "status": (value("replay@status", lambda _: "great"), "replay/status: expected one of fin"),
    "message": (value("replay@message", lambda _: 3), "replay/message: expected str"),
    "nan time": (value("replay/t", last(np.nan)), "replay/t: expected finite times"),
    "late replay": (value("replay/t", last(1.3)), "replay/t: expected times from 0 to 1.2 s"),
    "no times": (value("replay/t", lambda t: t[:0]), "replay/t: expected at least one time"),
    "many times": (
        value("replay/t", lambda _: np.linspace(0, 1, 601)), "replay/t: expected at most 600"),
    "nan difference": (value("replay/dq", last(np.nan)), "replay/dq: expected finite numbers"),
    "shape": (value("replay/dv", lambda x: x[:, :1]), "replay/dv: expected float64 of shape"),
    "larger": (value("replay/max_dq", lambda x: 0.0 * x), "replay/max_dq: expected sizes no sm"),
    "faster": (value("replay/max_dv", last(-1.0)), "replay/max_dv: expected sizes no smaller"),
    "nan work": (value("replay/work_forces", last(np.nan)), "replay/work_forces: expected finite"),
    "infinite energy": (value("replay/energy", last(np.inf)), "replay/energy: expected finite"),
    "imbalance": (value("replay@max_energy_error", lambda _: -1.0), "replay/max_energy_error: "),
    "jump": (value("replay/jumps", lambda _: np.array([2.0])), "replay/jumps: expected times"),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_values_are_named(saved, tmp_path, name):
    edit, match = IMPOSSIBLE[name]
    message = refused(saved, edit, tmp_path)
    assert re.search(f"verification/{match}", message), message


def test_a_dataset_in_place_of_the_group(saved, tmp_path):
    def edit(group):
        file = group.file
        del file["verification"]
        file["verification"] = np.zeros(3)

    assert "verification: expected dict" in refused(saved, edit, tmp_path)
