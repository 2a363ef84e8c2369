// Marks around the bodies: arrows of loads, trails, frames, the grid, texts.

import {
  BufferAttribute, BufferGeometry, type Camera, CatmullRomCurve3, Color, ConeGeometry, CylinderGeometry, Group, Line, LineBasicMaterial, LineSegments, Mesh,
  MeshBasicMaterial, MeshLambertMaterial, SphereGeometry, TorusGeometry, TubeGeometry, Vector3,
} from "three";
import type { Grid, Vector } from "./data";

const UP = new Vector3(0, 1, 0), HEAD = 7.5; // length of an arrow's head over the radius of its shaft
export const AXES = ["#d8443c", "#3f9b46", "#3a6fd8"].map((tone) => new Color(tone));

// A paint that is clear in the shade too.
const bright = (color: Color, opacity = 1) =>
  new MeshLambertMaterial({ color, emissive: color, emissiveIntensity: 0.3, transparent: opacity < 1, opacity, depthWrite: opacity === 1 });

export const ball = (radius: number, colour: Color, opacity = 1) => new Mesh(new SphereGeometry(radius, 16, 10), bright(colour, opacity));

export function rod(radius: number, length: number, colour: Color, along: Vector3): Mesh {
  const bar = new Mesh(new CylinderGeometry(radius, radius, length, 8), bright(colour));
  bar.quaternion.setFromUnitVectors(UP, along);
  return bar;
}

// An arrow that can be moved; a moment has two heads and a ring that turns about it.
export class Arrow extends Group {
  private readonly shaft: Mesh;
  private readonly heads: Mesh[];
  private readonly ring = new Group();

  constructor(private readonly thick: number, colour: Color, moment = false) {
    super();
    const paint = bright(colour), head = HEAD * thick, cone = new ConeGeometry(0.42 * head, head, 14).translate(0, -0.5 * head, 0);
    this.shaft = new Mesh(new CylinderGeometry(thick, thick, 1, 10).translate(0, 0.5, 0), paint);
    this.heads = (moment ? [0, 1] : [0]).map(() => new Mesh(cone, paint));
    this.add(this.shaft, ...this.heads, this.ring);
    if (!moment) return;
    const r = 9 * thick, arc = 4.6; // drawn about z, then laid down so that z is the arrow: right-handed
    const tip = new Mesh(cone, paint);
    tip.position.set(r * Math.cos(arc) - head * Math.sin(arc), r * Math.sin(arc) + head * Math.cos(arc), 0);
    tip.rotation.z = arc;
    this.ring.add(new Mesh(new TorusGeometry(r, 0.8 * thick, 8, 28, arc), paint), tip).rotateX(-Math.PI / 2);
  }

  point(foot: Vector3, tip: Vector3): this {
    const along = tip.clone().sub(foot), length = along.length(), head = HEAD * this.thick;
    this.position.copy(foot);
    this.quaternion.setFromUnitVectors(UP, along.divideScalar(length || 1));
    this.shaft.scale.y = Math.max(1e-6, length - 0.8 * head);
    this.heads.forEach((cone, k) => cone.position.setY(Math.max(length, head) - 0.6 * k * head));
    this.ring.position.setY(0.45 * length);
    return this;
  }
}

// A path: a thin line, and thick as far as it has been covered.
export class Trail extends Group {
  private readonly tube: TubeGeometry | null = null;
  private readonly covered = [0]; // share of the length at each point

  constructor(points: Vector[], color: Color, radius: number, faint: boolean) {
    super();
    const places = points.map((point) => new Vector3(...point)), last = places.length - 1, opacity = faint ? 0.4 : 0.9;
    this.add(new Line(new BufferGeometry().setFromPoints(places), new LineBasicMaterial({ color, transparent: true, opacity })));
    places.slice(1).forEach((place, k) => this.covered.push(this.covered[k] + place.distanceTo(places[k])));
    if (!(this.covered[last] > radius)) return;
    this.covered.forEach((length, k) => { this.covered[k] = length / this.covered[last]; });
    const apart = places.filter((place, k) => k === 0 || place.distanceTo(places[k - 1]) > 0);
    this.tube = new TubeGeometry(new CatmullRomCurve3(apart), last, radius, 6);
    this.add(new Mesh(this.tube, new MeshBasicMaterial({ color, transparent: faint, opacity: faint ? 0.4 : 1 })));
  }

  until(frame: number, visible: boolean): void {
    this.visible = visible;
    this.tube?.setDrawRange(0, 36 * Math.round(this.covered[frame] * (this.covered.length - 1)));
  }
}

function segments(places: number[], colours: number[], channels: 3 | 4): LineSegments {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(places), 3));
  geometry.setAttribute("color", new BufferAttribute(new Float32Array(colours), channels));
  return new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true, transparent: channels === 4, depthWrite: channels === 3 }));
}

// The axes of a frame in red, green and blue.
export function triad(length: number, R: number[]): LineSegments {
  const places = [0, 1, 2].flatMap((k) => [0, 0, 0, length * R[k], length * R[3 + k], length * R[6 + k]]);
  return segments(places, AXES.flatMap((tone) => [...tone, ...tone]), 3);
}

const fade = (share: number) => Math.max(0, 1 - share * share) ** 1.5;

// Lines of a plane that fade away from its middle.
export function gridLines({ origin, a, b, step, lines }: Grid, colour: Color): LineSegments {
  const places: number[] = [], colours: number[] = [];
  const [middle, along, across] = [origin, a, b].map((x) => new Vector3(...x));
  for (let i = -lines; i <= lines; i++) for (let j = -lines; j < lines; j++) for (const [u, v] of [[i, j], [i, j + 1], [j, i], [j + 1, i]]) {
    places.push(...middle.clone().addScaledVector(along, u * step).addScaledVector(across, v * step));
    colours.push(...colour, 0.9 * fade(Math.hypot(u, v) / lines));
  }
  const grid = segments(places, colours, 4);
  grid.renderOrder = -1;
  return grid;
}

// A text beside a point of the scene: HTML above the canvas, so that it is sharp and stays text.
export function label(layer: HTMLElement, colour: Color): (at: Vector3 | null, camera: Camera, text: string) => void {
  const words = layer.appendChild(document.createElement("span")), spot = new Vector3();
  Object.assign(words.style, {
    position: "absolute", left: "0", top: "0", color: colour.getStyle(), font: "600 12px system-ui, sans-serif", whiteSpace: "nowrap",
    textShadow: "0 0 3px var(--paper), 0 0 3px var(--paper), 0 0 2px var(--paper)",
  });
  return (at, camera, text) => {
    words.hidden = at === null || spot.copy(at).project(camera).z > 1;
    if (words.textContent !== text) words.textContent = text;
    if (!words.hidden) words.style.transform = `translate(${((spot.x + 1) / 2 * layer.clientWidth + 8).toFixed(1)}px, ${((1 - spot.y) / 2 * layer.clientHeight - 8).toFixed(1)}px)`;
  };
}
