// Solids as convex meshes: points, and facets as lists of point numbers, counter-clockwise seen
// from outside. Built once in link axes; every frame moves them.

const BLUNT = 0.6; // cosine of the angle between facets that look like one round surface

const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const plus = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const times = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const apply = (R, x) => [
  R[0] * x[0] + R[1] * x[1] + R[2] * x[2],
  R[3] * x[0] + R[4] * x[1] + R[5] * x[2],
  R[6] * x[0] + R[7] * x[1] + R[8] * x[2],
];

function rotation([w, x, y, z]) {
  const s = 2 / (w * w + x * x + y * y + z * z);
  return [
    1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
    s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),
    s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y),
  ];
}

// A body of revolution about z through rings (height, radius); radius 0 is a pole.
function lathe(rings, sides) {
  const points = [], starts = [], facets = [];
  for (const [z, r] of rings) {
    starts.push(points.length);
    const count = r > 0 ? sides : 1;
    for (let k = 0; k < count; k++) {
      const angle = 2 * Math.PI * k / sides;
      points.push([r * Math.cos(angle), r * Math.sin(angle), z]);
    }
  }
  const on = (ring, k) => starts[ring] + (rings[ring][1] > 0 ? k % sides : 0);
  for (let ring = 0; ring + 1 < rings.length; ring++) for (let k = 0; k < sides; k++) {
    const corners = [on(ring, k), on(ring, k + 1), on(ring + 1, k + 1), on(ring + 1, k)];
    facets.push(corners.filter((corner, place) => corners.indexOf(corner) === place));
  }
  return { points, facets };
}

function box([x, y, z]) {
  const points = [];
  for (const i of [-1, 1]) for (const j of [-1, 1]) for (const k of [-1, 1]) points.push([i * x / 2, j * y / 2, k * z / 2]);
  return { points, facets: [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]] };
}

const cylinder = ([r, length], sides) => lathe([[-length / 2, 0], [-length / 2, r], [length / 2, r], [length / 2, 0]], sides);

function capsule([r, length], sides) {
  const lower = [], caps = sides > 12 ? 5 : 3;
  for (let k = 0; k <= caps; k++) {
    const angle = 0.5 * Math.PI * k / caps;
    lower.push([-length / 2 - r * Math.cos(angle), k === 0 ? 0 : r * Math.sin(angle)]);
  }
  const upper = lower.slice(0, length > 0 ? undefined : -1).reverse().map(([z, radius]) => [-z, radius]);
  return lathe([...lower, ...upper], sides);
}

const unit = (a) => times(a, 1 / (Math.hypot(...a) || 1));

// The solid in link axes as triangles, each corner a point number and the normal there. Facets
// that meet at a blunt angle share their normals, so that round bodies look round.
function meshOf(solid, sides) {
  const make = { box, cylinder, capsule, sphere: ([r]) => capsule([r, 0], sides) }[solid.kind];
  const { points, facets } = make(solid.size, sides);
  const flat = facets.map(([a, b, c]) => unit(cross(plus(points[b], times(points[a], -1)), plus(points[c], times(points[a], -1)))));
  const around = points.map(() => []);
  facets.forEach((facet, k) => facet.forEach((corner) => around[corner].push(flat[k])));
  const normals = [], triangles = [];
  facets.forEach((facet, k) => {
    const corners = facet.map((corner) => {
      const near = around[corner].filter((normal) => dot(normal, flat[k]) > BLUNT);
      normals.push(apply(solid.R, unit(near.reduce(plus))));
      return [corner, normals.length - 1];
    });
    for (let i = 2; i < corners.length; i++) triangles.push([corners[0], corners[i - 1], corners[i]]);
  });
  return { link: solid.link, role: solid.role, triangles, normals, points: points.map((x) => plus(apply(solid.R, x), solid.p)) };
}
