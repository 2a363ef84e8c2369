// Marks around the bodies: arrows of loads, trails, frames, the grid, texts.

import {
  BufferAttribute, BufferGeometry, type Camera, CatmullRomCurve3, Color, ConeGeometry, CylinderGeometry, Group, Line, LineBasicMaterial, LineSegments, Mesh,
  MeshBasicMaterial, MeshLambertMaterial, SphereGeometry, TubeGeometry, Vector3,
} from "three";
import type { Grid, Vector } from "./data";

const UP = new Vector3(0, 1, 0), HEAD = 7.5; // length of an arrow's head over the radius of its shaft
const AXES = ["#d8443c", "#3f9b46", "#3a6fd8"].map((tone) => new Color(tone));

// A paint that is clear in the shade too.
const bright = (color: Color, opacity = 1) => new MeshLambertMaterial({ color, emissive: color, emissiveIntensity: 0.3, transparent: opacity < 1, opacity, depthWrite: opacity === 1 });

export const ball = (radius: number, colour: Color, opacity = 1) => new Mesh(new SphereGeometry(radius, 16, 10), bright(colour, opacity));

// An arrow that can be moved; that of a moment has two heads.
export class Arrow extends Group {
  private readonly shaft: Mesh;
  private readonly heads: Mesh[];
  constructor(private readonly thick: number, colour: Color, moment = false) {
    super();
    const paint = bright(colour), head = HEAD * thick, cone = new ConeGeometry(0.42 * head, head, 14).translate(0, -0.5 * head, 0);
    this.shaft = new Mesh(new CylinderGeometry(thick, thick, 1, 10).translate(0, 0.5, 0), paint);
    this.heads = (moment ? [0, 1] : [0]).map(() => new Mesh(cone, paint));
    this.add(this.shaft, ...this.heads);
  }

  point(foot: Vector3, tip: Vector3): this {
    const along = tip.clone().sub(foot), length = along.length(), head = HEAD * this.thick;
    this.position.copy(foot);
    this.quaternion.setFromUnitVectors(UP, along.divideScalar(length || 1));
    this.shaft.scale.y = Math.max(1e-6, length - 0.8 * head);
    this.heads.forEach((cone, k) => cone.position.setY(Math.max(length, head) - 0.8 * k * head));
    return this;
  }
}

// A path: a thin line, or tube of radius `ahead`, and thick as far as it has been covered.
export class Trail extends Group {
  private readonly tube: TubeGeometry;
  constructor(points: Vector[], color: Color, radius: number, faint: boolean, ahead = 0) {
    super();
    const curve = new CatmullRomCurve3(points.map((point) => new Vector3(...point)));
    curve.getUtoTmapping = (u) => u; // a piece of the tube for each frame, not for each metre
    this.tube = new TubeGeometry(curve, points.length - 1, radius, 6);
    const look = { color, transparent: true, opacity: faint ? 0.4 : 1 };
    const whole = ahead ? new Mesh(new TubeGeometry(curve, points.length - 1, ahead, 6), new MeshBasicMaterial(look))
      : new Line(new BufferGeometry().setFromPoints(curve.points), new LineBasicMaterial(look));
    this.add(whole, new Mesh(this.tube, new MeshBasicMaterial(look)));
  }

  until(frame: number, visible: boolean): void {
    this.visible = visible;
    this.tube.setDrawRange(0, 36 * frame);
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

// Lines of a plane that fade away from its middle.
export function gridLines({ origin, a, b, step, lines }: Grid, colour: Color): LineSegments {
  const places: number[] = [], colours: number[] = [];
  const [middle, along, across] = [origin, a, b].map((x) => new Vector3(...x));
  for (let i = -lines; i <= lines; i++) for (let j = -lines; j < lines; j++) for (const [u, v] of [[i, j], [i, j + 1], [j, i], [j + 1, i]]) {
    places.push(...middle.clone().addScaledVector(along, u * step).addScaledVector(across, v * step));
    colours.push(...colour, 0.9 * Math.max(0, 1 - (u * u + v * v) / lines ** 2) ** 1.5);
  }
  const grid = segments(places, colours, 4);
  grid.renderOrder = -1;
  return grid;
}

// A text beside a point of the scene: HTML above the canvas, so that it is sharp and stays text.
export function label(layer: HTMLElement, colour: Color): (at: Vector3 | null, camera: Camera, text: string) => void {
  const words = layer.appendChild(document.createElement("span")), spot = new Vector3();
  Object.assign(words.style, {
    position: "absolute", color: colour.getStyle(), font: "600 12px system-ui, sans-serif", whiteSpace: "nowrap",
    textShadow: "0 0 3px var(--paper), 0 0 3px var(--paper), 0 0 2px var(--paper)",
  });
  return (at, camera, text) => {
    words.hidden = at === null || spot.copy(at).project(camera).z > 1;
    if (words.textContent !== text) words.textContent = text;
    if (words.hidden) return;
    const right = spot.x > 0.6, x = 50 * (1 + (right ? -spot.x : spot.x)), y = 50 * (1 - spot.y); // % of the picture, whose size on paper is another
    Object.assign(words.style, { [right ? "left" : "right"]: "auto", [right ? "right" : "left"]: `calc(${x.toFixed(2)}% + 8px)`, top: `calc(${y.toFixed(2)}% - 8px)` });
  };
}
