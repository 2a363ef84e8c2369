// Geometry of the solids, in link axes and with the colour of each point.

import { BoxGeometry, BufferAttribute, BufferGeometry, Color, CylinderGeometry, LatheGeometry, Matrix4, type Sphere, SphereGeometry, Vector2 } from "three";
import { mergeGeometries, mergeVertices, toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";
import { RoundedBoxGeometry } from "three/addons/geometries/RoundedBoxGeometry.js";
import type { Scene, Solid } from "./data";

const CREASE = 0.6, QUARTER = Math.PI / 2; // rad: facets that meet at less than the first look like one round surface

export interface Palette { tones: Color[]; roles: { [role: string]: Color }; neutral: Color; ink: Color; soft: Color; line: Color; force: Color; moment: Color; good: Color }

export function readPalette(place: Element): Palette {
  const style = getComputedStyle(place);
  const read = (name: string, other = "#888888") => new Color(style.getPropertyValue(name).trim() || other);
  const tones = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => read(`--c${k}`)), base = read("--base"), hub = read("--hub");
  return {
    tones, roles: { hub, base, payload: read("--payload", "#c49a5a"), tool: hub, obstacle: base.clone().lerp(read("--ink"), 0.2) },
    neutral: hub.clone().lerp(base, 0.6), ink: read("--ink"), soft: read("--soft"), line: read("--line").lerp(read("--soft"), 0.2), force: read("--bad"), moment: read("--c6"), good: read("--good"),
  };
}

// A body of revolution through two balls, along y.
function tapered([below, above, length]: number[], sides: number): BufferGeometry {
  const slope = Math.asin(Math.max(-1, Math.min(1, (below - above) / length))), caps = Math.round(sides / 5), profile: Vector2[] = [];
  for (const [r, height, from, to] of [[below, -length / 2, -QUARTER, slope], [above, length / 2, slope, QUARTER]]) {
    for (let k = 0; k <= caps; k++) {
      const angle = from + (to - from) * k / caps;
      profile.push(new Vector2(Math.max(0, r * Math.cos(angle)), height + r * Math.sin(angle)));
    }
  }
  return new LatheGeometry(profile, sides);
}

const bytes = (text: string) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer;

export function meshGeometry({ points, faces }: Scene["meshes"][number]): BufferGeometry {
  const places = new Float32Array(bytes(points)), corners = bytes(faces), geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(places, 3));
  geometry.setIndex(new BufferAttribute(places.length / 3 <= 65536 ? new Uint16Array(corners) : new Uint32Array(corners), 1));
  return mergeVertices(toCreasedNormals(geometry, CREASE));
}

function geometryOf({ kind, size, mesh }: Solid, meshes: BufferGeometry[], sides: number): BufferGeometry {
  if (kind === "mesh") return meshes[mesh!].clone();
  if (kind === "sphere") return new SphereGeometry(size[0], sides, Math.round(sides / 2));
  if (kind === "box") return sides > 12 ? mergeVertices(new RoundedBoxGeometry(size[0], size[1], size[2], 1, 0.06 * Math.min(...size))) : new BoxGeometry(...size);
  const upright = kind === "cylinder" ? new CylinderGeometry(size[0], size[0], size[1], sides) : tapered(kind === "capsule" ? [size[0], ...size] : size, sides);
  return upright.rotateX(QUARTER);
}

const matrixOf = (R: number[], p: number[]) => new Matrix4().set(R[0], R[1], R[2], p[0], R[3], R[4], R[5], p[1], R[6], R[7], R[8], p[2], 0, 0, 0, 1);

// Solids as one geometry that is drawn at once, and balls around them; bones: which bone of a skeleton moves each of them.
export function merged(solids: Solid[], bones: number[], meshes: BufferGeometry[], sides: number, palette: Palette): [BufferGeometry, Sphere[]] {
  const parts = solids.map((solid, number) => {
    const part = geometryOf(solid, meshes, sides).applyMatrix4(matrixOf(solid.R, solid.p)), { count } = part.attributes.position;
    for (const name of Object.keys(part.attributes)) if (name !== "position" && name !== "normal") part.deleteAttribute(name);
    const fill = (name: string, array: Float32Array | Uint16Array, values: number[]) => {
      for (let k = 0; k < count; k++) array.set(values, values.length * k);
      part.setAttribute(name, new BufferAttribute(array, values.length));
    };
    fill("color", new Float32Array(3 * count), (palette.roles[solid.role] ?? palette.tones[(solid.tone ?? solid.link) % 8] ?? palette.neutral).toArray());
    fill("skinIndex", new Uint16Array(4 * count), [bones[number], 0, 0, 0]);
    fill("skinWeight", new Float32Array(4 * count), [1, 0, 0, 0]);
    part.computeBoundingSphere();
    return part;
  });
  const whole = mergeGeometries(parts);
  for (const part of parts) part.dispose();
  return [whole, parts.map((part) => part.boundingSphere!)];
}
