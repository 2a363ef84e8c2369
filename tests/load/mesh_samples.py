"""Meshes of analytic shapes, written to STL, OBJ and DAE files by hand."""

import struct

import numpy as np


def box(size=(1.0, 2.0, 3.0)):
    """The 8 corners and 12 triangles of a box around the origin, counter-clockwise outside."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return corners * size, np.array(faces)


def sphere(radius=0.1, steps=40):
    """A sphere of 2 * steps * (steps - 1) * 2 triangles, by longitude and latitude."""
    around, up = 2 * steps, steps
    phi = 2 * np.pi * np.arange(around) / around
    theta = np.pi * np.arange(1, up) / up
    ring = np.stack([
        np.outer(np.sin(theta), np.cos(phi)), np.outer(np.sin(theta), np.sin(phi)),
        np.outer(np.cos(theta), np.ones(around)),
    ], axis=-1)  # fmt: skip
    points = np.concatenate([ring.reshape(-1, 3), [[0, 0, 1], [0, 0, -1]]]) * radius
    north, south, faces = len(points) - 2, len(points) - 1, []
    for j in range(around):
        k = (j + 1) % around
        faces += [(north, j, k), (south, (up - 2) * around + k, (up - 2) * around + j)]
        for i in range(up - 2):
            a, b, c, d = i * around + j, i * around + k, (i + 1) * around + k, (i + 1) * around + j
            faces += [(a, d, c), (a, c, b)]
    return points, np.array(faces)


def binary_stl(points, faces, count=None):
    head = b"binary".ljust(80) + struct.pack("<I", len(faces) if count is None else count)
    corners = np.asarray(points, "<f4")[faces]
    rows = np.zeros(len(faces), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("x", "<u2")])
    rows["corners"] = corners
    return head + rows.tobytes()


def text_stl(points, faces):
    lines = ["solid thing"]
    for face in faces:
        lines += ["facet normal 0 0 0", " outer loop"]
        lines += ["  vertex {!r} {!r} {!r}".format(*map(float, points[k])) for k in face]
        lines += [" endloop", "endfacet"]
    return "\n".join([*lines, "endsolid thing", ""]).encode()


def obj(points, faces):
    lines = ["mtllib ../secret.mtl", "o thing", "vt 0 0", "vn 0 0 1", "usemtl a"]
    lines += ["v {!r} {!r} {!r}".format(*map(float, x)) for x in points]
    lines += ["f " + " ".join(f"{k + 1}/1/1" for k in face) for face in faces]
    return "\n".join(lines).encode()


def dae(points, faces, unit="1", up="Z_UP", matrix=None, head="", nodes=None):
    """A COLLADA file with one geometry, whose material does not exist."""
    numbers = " ".join(repr(float(x)) for x in np.ravel(points))
    indices = " ".join(str(k) for k in np.ravel(faces))
    pose = " ".join(str(x) for x in np.ravel(np.eye(4) if matrix is None else matrix))
    place = (
        '<instance_geometry url="#g"><bind_material><technique_common><instance_material '
        'symbol="m" target="#missing"/></technique_common></bind_material></instance_geometry>'
    )
    nodes = nodes or f'<node id="n"><matrix>{pose}</matrix>{place}</node>'
    return f"""<?xml version="1.0" encoding="utf-8"?>{head}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="{unit}"/><up_axis>{up}</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="{3 * len(points)}">{numbers}</float_array>
<technique_common><accessor source="#a" count="{len(points)}" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="{len(faces)}" material="m"><input semantic="VERTEX" source="#v" offset="0"/>
<p>{indices}</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>""".encode()


WRITERS = {"binary.stl": binary_stl, "text.STL": text_stl, "thing.obj": obj, "thing.dae": dae}


def area_and_volume(points, faces):
    a, b, c = (np.asarray(points, float)[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    return 0.5 * np.linalg.norm(normals, axis=1).sum(), float(np.sum(a * normals) / 6.0)
