"""Joint centres: published formulas worked by hand, and markers made from known centres."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from predyn.analysis import add_joint_centres, find_landmarks
from predyn.analysis.centres import chord_centre
from predyn.analysis.marker_sets import HELEN_HAYES, PLUG_IN_GAIT, find_marker_set
from predyn.errors import InputError
from predyn.recordings.measurements import Measurements

# A pelvis 0.24 m wide and 0.16 m deep in its own axes: x forward, y left, z up
PELVIS = {"LASI": (0.0, 0.12, 0.0), "RASI": (0.0, -0.12, 0.0),
          "LPSI": (-0.16, 0.05, 0.0), "RPSI": (-0.16, -0.05, 0.0)}  # fmt: skip
# -0.24 * 160 - 9.9, 0.33 * 240 + 7.3, -0.30 * 240 - 10.9 mm
HARRINGTON = (-0.0483, 0.0865, -0.0829)
BELL = (-0.0528, 0.0864, -0.0720)  # 22, 36 and 30 % of 240 mm
# L = 0.9 m: C = 88.2 mm, d + r = 67.36 + 7 mm; worked with cos, sin of 28.4 and 18 deg
DAVIS = (-0.04674, 0.07805, -0.09677)
KNEE, ANKLE = 0.10, 0.07  # m, widths
OFFSETS = {"knee": 0.5 * (KNEE + 0.014), "ankle": 0.5 * (ANKLE + 0.014)}


def body(random: np.random.Generator, samples: int = 4) -> tuple[dict, dict]:
    """Markers and true centres of legs in random poses, moved at random as a whole."""
    markers = {name: np.tile(place, (samples, 1)) for name, place in PELVIS.items()}
    centres = {}
    for letter, sign in (("L", 1.0), ("R", -1.0)):
        hip = np.tile(HARRINGTON * np.array([1.0, sign, 1.0]), (samples, 1))
        centres[f"{letter}HJC"] = above = hip
        for joint, wand, length in (("KNE", "THI", 0.43), ("ANK", "TIB", 0.41)):
            turned = Rotation.from_euler("yxz", 0.3 * random.standard_normal((samples, 3)))
            centre = above + turned.apply((0.0, 0.0, -length))
            out = turned.apply((0.0, sign, 0.0))  # along the joint's axis, away from the body
            half = OFFSETS["knee" if joint == "KNE" else "ankle"]
            markers[letter + joint] = centre + half * out
            medial = {"KNE": "KNM", "ANK": "MED"}[joint]
            markers[letter + medial] = centre - half * out
            middle = above + turned.apply((0.0, 0.0, -0.5 * length))
            markers[letter + wand] = middle + 0.13 * out  # in the plane of axis and segment
            centres[letter + ("KJC" if joint == "KNE" else "AJC")] = centre
            above = centre
    whole = Rotation.random(samples, random_state=int(random.integers(1000)))
    shift = random.standard_normal((samples, 3))
    moved = [
        {name: whole.apply(x) + shift for name, x in group.items()} for group in (markers, centres)
    ]
    return moved[0], moved[1]


def recording(markers: dict) -> Measurements:
    count = len(next(iter(markers.values())))
    return Measurements(0.01 * np.arange(count), markers=markers)


def without_medial(markers: dict) -> dict:
    return {name: x for name, x in markers.items() if name[1:] not in ("KNM", "MED")}


@pytest.mark.parametrize("seed", range(5))
def test_known_centres_are_found(seed: int) -> None:
    markers, centres = body(np.random.default_rng(seed))
    both = add_joint_centres(recording(markers))
    sizes = {"left_knee_width": KNEE, "right_knee_width": KNEE, "ankle_width": ANKLE}
    wands = add_joint_centres(recording(without_medial(markers)), body=sizes)
    for name, place in centres.items():
        assert both.markers[name] == pytest.approx(place, abs=1e-12)
        assert wands.markers[name] == pytest.approx(place, abs=1e-12)
    assert "midway" in " ".join(both.notes)
    assert "by the chord, 57 mm" in " ".join(wands.notes)


@pytest.mark.parametrize(
    ("hip", "place"), [("harrington", HARRINGTON), ("bell", BELL), ("davis", DAVIS)]
)
def test_regressions_worked_by_hand(hip: str, place: tuple) -> None:
    markers, _ = body(np.random.default_rng(1))
    for name, local in PELVIS.items():
        markers[name] = np.tile(local, (4, 1))
    found = add_joint_centres(recording(markers), hip=hip, body={"leg_length": 0.9}).markers
    assert found["LHJC"][0] == pytest.approx(place, abs=1e-5)
    assert found["RHJC"][0] == pytest.approx(place * np.array([1.0, -1.0, 1.0]), abs=1e-5)


def test_davis_with_a_measured_trochanter() -> None:
    markers, _ = body(np.random.default_rng(1))
    data = recording(markers)
    usual = add_joint_centres(data, hip="davis", body={"leg_length": 0.9})
    same = {"leg_length": 0.9, "asis_trochanter": 0.1288 * 0.9 - 0.04856}
    found = add_joint_centres(data, hip="davis", body=same)
    assert found.markers["LHJC"] == pytest.approx(usual.markers["LHJC"], abs=1e-15)


def test_the_chord_has_a_right_angle_at_the_centre() -> None:
    random = np.random.default_rng(3)
    above, wand, lateral = random.standard_normal((3, 50, 3))
    centre = chord_centre(above, wand, lateral, 0.05)
    across, along = centre - lateral, above - centre
    assert np.linalg.norm(across, axis=1) == pytest.approx(0.05)
    assert np.sum(across * along, axis=1) == pytest.approx(0.0, abs=1e-12)
    normal = np.cross(above - lateral, wand - lateral)
    assert np.sum(across * normal, axis=1) == pytest.approx(0.0, abs=1e-12)
    line = np.cross(above - lateral, normal)  # in the plane, at a right angle to the line
    side = np.sum(across * line, axis=1) * np.sum((wand - lateral) * line, axis=1)
    assert (side < 0.0).all()
    straight = chord_centre(above, 0.5 * (above + lateral), lateral, 0.05)
    assert np.isnan(straight).all()


def test_helen_hayes_with_other_spellings() -> None:
    markers, centres = body(np.random.default_rng(4))
    names = {"ASI": "ASIS", "THI": "Thigh", "KNE": "Knee", "TIB": "Shank", "ANK": "Ankle"}
    spelled = {
        f"anna:{name[0]}.{names[name[1:]]}": x for name, x in markers.items() if name[1:] in names
    }
    spelled["anna:V.Sacral"] = 0.5 * (markers["LPSI"] + markers["RPSI"])
    data = recording(spelled)
    assert find_marker_set(find_landmarks(data.markers)) == HELEN_HAYES
    found = add_joint_centres(data, body={"knee_width": KNEE, "ankle_width": ANKLE})
    for name, place in centres.items():
        assert found.markers[name] == pytest.approx(place, abs=1e-12)
    other = {("odd" if name == "anna:L.Knee" else name): x for name, x in spelled.items()}
    with pytest.raises(InputError, match="lacks left knee;"):
        add_joint_centres(recording(other))
    sizes = {"knee_width": KNEE, "ankle_width": ANKLE}
    again = add_joint_centres(recording(other), body=sizes, names={"left knee": "odd"})
    assert again.markers["LKJC"] == pytest.approx(centres["LKJC"], abs=1e-12)


def test_gaps_stay_gaps() -> None:
    markers, _ = body(np.random.default_rng(6))
    markers["LASI"][1] = np.nan
    found = add_joint_centres(recording(markers)).markers
    assert np.isnan(found["LHJC"][1]).all()
    assert np.isfinite(found["LHJC"][[0, 2, 3]]).all()
    assert np.isfinite(found["LKJC"]).all()


def test_bad_input_is_named() -> None:
    markers, _ = body(np.random.default_rng(7))
    data, plain = recording(markers), recording(without_medial(markers))
    assert find_marker_set(find_landmarks(data.markers)) == PLUG_IN_GAIT
    with pytest.raises(InputError, match="expected 'knee_width' \\(m\\) for the left side, or rec"):
        add_joint_centres(plain)
    with pytest.raises(InputError, match="expected 'leg_length'"):
        add_joint_centres(data, hip="davis")
    with pytest.raises(InputError, match="unknown size of the body 'knee'"):
        add_joint_centres(data, body={"knee": 0.1})
    with pytest.raises(InputError, match="knee_width: expected metres"):
        add_joint_centres(data, body={"knee_width": 100.0})
    with pytest.raises(InputError, match="unknown hip 'hara'"):
        add_joint_centres(data, hip="hara")
    with pytest.raises(InputError, match="helen hayes: no marker for sacrum"):
        add_joint_centres(data, marker_set="helen hayes")
    with pytest.raises(InputError, match="unknown landmark 'left elbow'"):
        add_joint_centres(data, names={"left elbow": "LKNE"})
    with pytest.raises(InputError, match="already has LHJC"):
        add_joint_centres(add_joint_centres(data))
