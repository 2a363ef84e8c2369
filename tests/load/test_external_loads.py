"""load_external_loads: which forces act on which bodies, and which files it refuses."""

from pathlib import Path

import pytest

from predyn import load_external_loads
from predyn.errors import FileError


def force(name="right", body="calcn_r", plate="ground", extra="", point=True):
    place = f"<point_identifier>{plate}_force_p</point_identifier>" if point else ""
    return (
        f'<ExternalForce name="{name}">{extra}<applied_to_body>{body}</applied_to_body>'
        f"<force_identifier>{plate}_force_v</force_identifier>{place}"
        f"<torque_identifier>{plate}_torque_</torque_identifier></ExternalForce>"
    )


def write(folder: Path, *forces: str, data: str = "grf.mot") -> Path:
    path = folder / "loads.xml"
    path.write_text(
        f'<OpenSimDocument Version="40000"><ExternalLoads name="l"><objects>{"".join(forces)}'
        f"</objects><datafile>{data}</datafile></ExternalLoads></OpenSimDocument>"
    )
    return path


def test_forces_and_their_bodies(tmp_path):
    (tmp_path / "grf.mot").write_text("")
    off = force("off", plate="2_ground", extra="<isDisabled>true</isDisabled>")
    left = force("left", "/bodyset/calcn_l", "1_ground")
    loads = load_external_loads(write(tmp_path, force(), left, off))
    assert loads.links == {"ground": "calcn_r", "1_ground": "calcn_l"}
    assert loads.data == str(tmp_path / "grf.mot")
    assert len(loads.notes) == 1
    assert "switched off" in loads.notes[0]
    plates = load_external_loads(write(tmp_path, force(plate="ground", body="a"))).links
    assert plates == {"ground": "a"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("none.mot", "not found"),
        ("../x.mot", "not in the folder"),
        ("/etc/passwd", "not in the folder"),
        ("", "no data file"),
    ],
)
def test_data_files_outside_or_missing_are_noted(tmp_path, data, why):
    loads = load_external_loads(write(tmp_path, force(), data=data))
    assert loads.data is None
    assert why in loads.notes[0]


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    (tmp_path / "secret.mot").write_text("")
    folder = tmp_path / "trial"
    folder.mkdir()
    (folder / "grf.mot").symlink_to(tmp_path / "secret.mot")
    assert load_external_loads(write(folder, force())).data is None


IN_FOOT = "<force_expressed_in_body>calcn_r</force_expressed_in_body>"
OTHER = force().replace("ground_torque_", "2_ground_torque_")
REFUSED = {
    "no force": ((), "at least one <ExternalForce>"),
    "twice": ((force(), force("again", "calcn_l")), "'ground' is applied twice"),
    "axes of a body": ((force(extra=IN_FOOT),), "expected 'ground', got 'calcn_r'"),
    "no point": ((force(point=False),), "expected <force_identifier> and <point_identifier>"),
    "no body": ((force(body=""),), "expected <applied_to_body> with a name"),
    "columns": ((force().replace("ground_force_v", "FP1_v"),), "'FP1_v': expected columns"),
    "names": ((OTHER,), "different names, ground, ground, 2_ground"),
    "other": (("<Body/>",), "expected <ExternalForce> here"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_files_name_the_element(tmp_path, name):
    forces, message = REFUSED[name]
    with pytest.raises(FileError, match=message) as caught:
        load_external_loads(write(tmp_path, *forces))
    assert "loads.xml, line 1" in str(caught.value)


def test_other_documents_are_refused(tmp_path):
    path = tmp_path / "loads.xml"
    path.write_text('<OpenSimDocument Version="40000"><Model/></OpenSimDocument>')
    with pytest.raises(FileError, match="expected a <ExternalLoads> inside"):
        load_external_loads(path)
