// A camera that turns about the motion and fits it into the picture, from any direction.

import { PerspectiveCamera, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Scene, Vector } from "./data";

const FIELD = 26, MARGIN = 1.1, STEEPEST = Math.PI / 2 - 1e-4; // degrees; space around what is fitted; rad

export class Orbit {
  readonly camera = new PerspectiveCamera(FIELD);
  private readonly controls: OrbitControls;
  private readonly axes: Vector3[];
  private readonly drift = new Vector3();
  private following = false;
  constructor(canvas: HTMLCanvasElement, private readonly data: Scene["camera"], changed: () => void) {
    this.axes = [data.east, data.north, data.up].map((axis) => new Vector3(...axis));
    this.camera.up.copy(this.axes[2]);
    this.controls = new OrbitControls(this.camera, canvas);
    this.look("Reset view");
    this.controls.addEventListener("change", changed);
    const { controls } = this, acts: { [key: string]: () => void } = {
      ArrowLeft: () => controls.rotateLeft(-0.1), ArrowRight: () => controls.rotateLeft(0.1), ArrowUp: () => controls.rotateUp(-0.1), ArrowDown: () => controls.rotateUp(0.1),
      "+": () => controls.dollyIn(0.87), "=": () => controls.dollyIn(0.87), "-": () => controls.dollyOut(0.87), 0: () => this.look("Reset view"),
    };
    canvas.addEventListener("keydown", (event) => {
      if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
    });
  }

  // Front: toward the plane that holds most of the motion; Side: from its right; Top: from above.
  look(preset: string): void {
    const { azimuth, front, elevation } = this.data, [east, north, up] = this.axes;
    const [around, above] = { Front: [front, 0], Side: [front + Math.PI / 2, 0], Top: [front, STEEPEST] }[preset] ?? [azimuth, Math.max(-STEEPEST, Math.min(STEEPEST, elevation))];
    const level = east.clone().multiplyScalar(Math.cos(around)).addScaledVector(north, Math.sin(around));
    this.fit(level.multiplyScalar(Math.cos(above)).addScaledVector(up, Math.sin(above)));
  }

  // Moves back toward the eye until all is in the picture; keeps the direction if none is given.
  private fit(toward = this.camera.position.clone().sub(this.controls.target).normalize()): void {
    const right = new Vector3().crossVectors(this.axes[2], toward).normalize(), top = new Vector3().crossVectors(toward, right);
    const tall = Math.tan(FIELD * Math.PI / 360) / MARGIN, wide = tall * this.camera.aspect, centre = new Vector3(), offset = new Vector3();
    const points = (this.following && this.data.follow ? this.data.follow.points : this.data.points).map((x) => new Vector3(...x));
    for (const axis of [right, top, toward]) {
      const reach = points.map((point) => point.dot(axis));
      centre.addScaledVector(axis, (Math.min(...reach) + Math.max(...reach)) / 2);
    }
    const distance = Math.max(...points.map((point) => {
      offset.subVectors(point, centre);
      return offset.dot(toward) + Math.max(Math.abs(offset.dot(right)) / wide, Math.abs(offset.dot(top)) / tall);
    }));
    if (this.following) centre.add(this.drift);
    Object.assign(this.camera, { near: 0.02 * distance, far: 20 * distance });
    Object.assign(this.controls, { minDistance: 0.08 * distance, maxDistance: 6 * distance });
    this.controls.target.copy(centre);
    this.camera.position.copy(centre).addScaledVector(toward, distance);
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  widen(aspect: number): void {
    if (this.camera.aspect === aspect) return;
    this.camera.aspect = aspect;
    this.fit();
  }

  follow(on: boolean): void { this.following = on; this.fit(); }

  // The mechanism is here now: the camera comes along if it follows.
  accompany(place: Vector): void {
    const now = new Vector3(...place), step = now.clone().sub(this.drift);
    this.drift.copy(now);
    if (!this.following) return;
    this.controls.target.add(step);
    this.camera.position.add(step);
  }
}
