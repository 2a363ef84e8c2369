// The animation: the mechanism, what acts on it, and a camera that turns about them.

import {
  Color, CylinderGeometry, DirectionalLight, Group, HemisphereLight, Matrix4, Mesh, MeshLambertMaterial, Object3D, OrthographicCamera,
  PCFShadowMap, Quaternion, Scene as Space, Vector3, WebGLRenderer,
} from "three";
import { locate, type Scene, type Solid, type Vector } from "./data";
import { matrixOf, merged, meshGeometry, readPalette, type Palette } from "./geometry";
import { Labels } from "./labels";
import { Arrow, AXES, ball, gridLines, surface, Trail, triad } from "./marks";
import { Orbit } from "./orbit";

export type { Scene } from "./data";

export interface Stage {
  setTime(time: number): void;
  reset(): void;
  look(preset: string): void;
  options: { [name: string]: boolean };
  set(name: string, on: boolean): void;
  redraw(): void; // colours too, at once
}

const HELP = "Animation of the mechanism. Arrow keys turn, plus and minus zoom, 0 resets the view, space plays and pauses.";
const NO_WEBGL = "This browser does not provide WebGL 2, so the animation is not shown. The figures and curves below are complete.";
const TRAIL_TONES = [1, 0, 2, 3, 4, 6];
const SLOW = 38, IDLE = 350; // ms: frames that take longer are drawn more coarsely; after this pause, finely again
const TRIAD = 84; // px
const MOST_NAMES = 30; // of frames

export function showScene(place: HTMLElement, data: Scene): Stage {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("webgl2", { alpha: true, antialias: true, preserveDrawingBuffer: true });
  if (context) return new Show(place, canvas, context, data);
  const message = document.createElement("p");
  message.className = "message";
  message.textContent = NO_WEBGL;
  place.append(message);
  return { setTime() {}, reset() {}, look() {}, options: {}, set() {}, redraw() {} };
}

class Show implements Stage {
  readonly options: { [name: string]: boolean } = {};
  private readonly renderer: WebGLRenderer;
  private readonly orbit: Orbit;
  private readonly labels = new Labels();
  private readonly meshes;
  private space = new Space();
  private corner = new Space();
  private readonly cornerCamera = new OrthographicCamera(-1.35, 1.35, 1.35, -1.35, 0.1, 10);
  private readonly sun = new DirectionalLight(0xffffff, 2.3);
  private nodes: Group[][] = []; // of each motion and link
  private followers: ((frame: number) => void)[] = []; // called before each drawing
  private time: number;
  private pending = 0;
  private last = 0;
  private pace = 0;
  private coarse = 1;
  private rest = 0;

  constructor(place: HTMLElement, private readonly canvas: HTMLCanvasElement, context: WebGL2RenderingContext, private readonly data: Scene) {
    const frame = document.createElement("div");
    frame.style.position = "relative";
    canvas.id = "scene";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", HELP);
    frame.append(canvas, this.labels.layer);
    place.append(frame);
    this.time = data.times[0];
    this.renderer = new WebGLRenderer({ canvas, context, alpha: true });
    this.renderer.autoClear = false;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.meshes = data.meshes.map(meshGeometry);
    this.offer();
    this.build();
    this.orbit = new Orbit(canvas, data.camera, () => this.request());
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // Which options there are: only those with something to show.
  private offer(): void {
    const { data, options } = this;
    if (data.axes.length) options["Joint axes"] = false;
    if (data.frames.length) options.Frames = false;
    if (data.trails.length) options.Trails = true;
    if (data.forces.length || data.loads.length) options.Forces = true;
    if (data.markers.length) options.Markers = true;
    options.Shadows = true;
    if (data.camera.follow) options.Follow = false;
    for (const { name, shown } of data.motions.slice(1)) options[name] = shown !== false;
  }

  private build(): void {
    const { data, space } = this, palette = readPalette(this.canvas);
    this.followers = [];
    this.labels.clear();
    this.nodes = data.motions.map(({ poses }) => poses.map(() => new Group()));
    this.nodes.forEach((nodes, motion) => {
      const group = new Group().add(...nodes);
      space.add(group);
      if (motion > 0) this.followers.push(() => { group.visible = this.options[data.motions[motion].name]; });
    });
    this.light();
    this.addSurroundings(palette);
    this.addSolids(palette);
    this.addTrails(palette);
    this.addLoads(palette);
    this.addPoints(palette);
    AXES.forEach((tone, k) => {
      const arrow = new Arrow(0.045, tone);
      arrow.point(new Vector3(), new Vector3().setComponent(k, 0.95));
      this.corner.add(arrow);
    });
    this.corner.add(new HemisphereLight(0xffffff, 0xcccccc, 2.6));
  }

  private light(): void {
    const { centre, radius, up, east, north, azimuth, elevation } = this.data.camera, { sun } = this;
    const [u, e, n, middle] = [up, east, north, centre].map((x) => new Vector3(...x));
    const level = e.clone().multiplyScalar(Math.cos(azimuth)).addScaledVector(n, Math.sin(azimuth));
    const side = new Vector3().crossVectors(u, level), above = Math.abs(elevation) > 1.2 ? 1.8 : 1.15;
    sun.position.copy(middle).addScaledVector(u, above * 2 * radius).addScaledVector(level, 1.7 * radius).addScaledVector(side, -0.9 * radius);
    sun.target.position.copy(middle);
    sun.castShadow = true;
    sun.shadow.mapSize.set(1024, 1024);
    sun.shadow.radius = 3.5;
    sun.shadow.normalBias = 0.004 * radius;
    sun.shadow.bias = -0.0005;
    Object.assign(sun.shadow.camera, { left: -1.3 * radius, right: 1.3 * radius, top: 1.3 * radius, bottom: -1.3 * radius, near: 0.2 * radius, far: 6 * radius });
    sun.shadow.camera.updateProjectionMatrix();
    const sky = new HemisphereLight(0xffffff, 0xb9bec8, 1.75);
    sky.position.copy(u);
    this.space.add(sun, sun.target, sky);
  }

  private addSurroundings(palette: Palette): void {
    const { grid, ground, camera } = this.data, reach = grid.lines * grid.step;
    const lines = gridLines(grid, palette.line);
    lines.renderOrder = -1;
    this.space.add(lines);
    const [origin, a, b, floor, up, centre] = [grid.origin, grid.a, grid.b, grid.floor, camera.up, camera.centre].map((x) => new Vector3(...x));
    if (grid.wall) this.space.add(surface(origin, a.cross(b), reach, palette.paper, 0.5));
    if (ground) {
      const below = centre.addScaledVector(up, -centre.dot(up)).add(floor);
      this.space.add(surface(grid.wall ? below : origin, up, reach, palette.paper, 0.85));
    }
  }

  private addSolids(palette: Palette): void {
    const { data } = this, sides = data.solids.length > 60 ? 12 : 24;
    const paint = (faint: boolean) => new MeshLambertMaterial({ vertexColors: true, transparent: faint, opacity: faint ? 0.35 : 1 });
    const paints = [paint(false), paint(true)];
    const groups = new Map<string, Solid[]>();
    for (const solid of data.solids) {
      const key = `${solid.motion} ${solid.link} ${solid.shown}`;
      groups.set(key, [...(groups.get(key) ?? []), solid]);
    }
    for (const solids of groups.values()) {
      const { motion, link, shown } = solids[0], faint = Boolean(data.motions[motion].faint);
      const body = new Mesh(merged(solids, this.meshes, sides, palette), paints[faint ? 1 : 0]);
      body.castShadow = !faint;
      this.node(link, motion).add(body);
      const end = data.times[data.times.length - 1];
      if (shown) this.followers.push(() => { body.visible = this.time >= shown[0] && (this.time < shown[1] || shown[1] >= end); });
    }
  }

  private addTrails(palette: Palette): void {
    const { data, options } = this;
    data.trails.forEach(({ motion, points }, number) => {
      const trail = new Trail(points, palette.tones[TRAIL_TONES[number % 6]], motion > 0);
      this.space.add(trail);
      this.followers.push((frame) => {
        trail.visible = options.Trails && (motion === 0 || options[data.motions[motion].name]);
        trail.until(frame);
      });
    });
  }

  private addLoads(palette: Palette): void {
    const { data, options } = this, thick = 0.0075 * data.camera.radius;
    const add = (kind: string, text: string, now: () => [Vector3, Vector3, string] | null) => {
      const colour = kind === "moment" ? palette.moment : palette.force;
      const arrow = new Arrow(thick, colour, kind === "moment"), label = this.labels.add(text, colour.getStyle());
      this.space.add(arrow);
      this.followers.push(() => {
        const ends = options.Forces ? now() : null;
        arrow.visible = ends !== null;
        if (ends) arrow.point(ends[0], ends[1]);
        label(ends && ends[1], this.orbit.camera, ends?.[2]);
      });
    };
    for (const { kind, label, link, p, vector, world } of data.forces) add(kind, label, () => {
      const { matrixWorld } = this.node(link), foot = new Vector3(...p).applyMatrix4(matrixWorld), along = new Vector3(...vector);
      if (!world) along.applyMatrix4(new Matrix4().extractRotation(matrixWorld));
      return [foot, along.add(foot), label];
    });
    for (const { kind, feet, tips, labels } of data.loads) add(kind, "", () => {
      const k = this.nearest(), foot = feet[k], tip = tips[k];
      return foot && tip ? [new Vector3(...foot), new Vector3(...tip), labels[k]] : null;
    });
  }

  private addPoints(palette: Palette): void {
    const { data, options, space } = this, { radius } = data.camera, size = 0.055 * radius;
    const dot = (link: number, p: Vector, share: number, colour: Color, opacity = 1) => {
      const mark = ball(share * radius, colour, opacity);
      mark.position.set(...p);
      this.node(link).add(mark);
      return mark;
    };
    for (const { name, p, R } of data.goals) {
      dot(-1, p, 0.025, palette.good, 0.4);
      if (R) space.add(triad(matrixOf(R, p), 1.6 * size));
      this.name(name, palette.good, () => new Vector3(...p));
    }
    for (const { points } of data.markers) {
      const mark = dot(-1, [0, 0, 0], 0.011, palette.ink);
      this.followers.push((frame) => {
        mark.visible = options.Markers && points[frame] !== null;
        if (points[frame]) mark.position.set(...points[frame]);
      });
    }
    for (const { name, link, p } of data.contacts) {
      const mark = dot(link, p, 0.014, palette.force);
      this.name(name, palette.force, () => mark.getWorldPosition(new Vector3()));
    }
    for (const { link, R, p, name } of data.frames) {
      const frame = triad(matrixOf(R, p), size), node = this.node(link);
      node.add(frame);
      this.followers.push(() => { frame.visible = options.Frames; });
      if (data.frames.length <= MOST_NAMES) this.name(name, palette.soft, () => (options.Frames ? new Vector3(...p).applyMatrix4(node.matrixWorld) : null));
    }
    const rod = new CylinderGeometry(0.004 * radius, 0.004 * radius, 0.24 * radius, 8), paint = new MeshLambertMaterial({ color: palette.ink });
    for (const { link, p, axis } of data.axes) {
      const line = new Mesh(rod, paint);
      line.position.set(...p);
      line.quaternion.setFromUnitVectors(new Vector3(0, 1, 0), new Vector3(...axis));
      this.node(link).add(line);
      this.followers.push(() => { line.visible = options["Joint axes"]; });
    }
  }

  private name(text: string, colour: Color, at: () => Vector3 | null): void {
    const label = this.labels.add(text, colour.getStyle());
    this.followers.push(() => label(at(), this.orbit.camera));
  }

  private node(link: number, motion = 0): Object3D {
    return link < 0 ? this.space : this.nodes[motion][link];
  }

  private nearest(): number {
    const [frame, share] = locate(this.data.times, this.time);
    return frame + (share > 0.5 ? 1 : 0);
  }

  private pose(frame: number, share: number): void {
    const from = new Vector3(), turn = new Quaternion(), next = new Quaternion();
    this.data.motions.forEach(({ poses }, motion) => poses.forEach((flat, link) => {
      const at = 7 * frame, to = Math.min(at + 7, flat.length - 7), node = this.nodes[motion][link];
      node.position.copy(from.fromArray(flat, at)).lerp(from.fromArray(flat, to), share);
      turn.set(flat[at + 4], flat[at + 5], flat[at + 6], flat[at + 3]);
      node.quaternion.copy(turn.slerp(next.set(flat[to + 4], flat[to + 5], flat[to + 6], flat[to + 3]), share)).normalize();
    }));
  }

  setTime(time: number): void {
    this.time = time;
    this.request();
  }

  reset(): void { this.orbit.look("Reset view"); }

  look(preset: string): void { this.orbit.look(preset); }

  set(name: string, on: boolean): void {
    this.options[name] = on;
    if (name === "Follow") {
      this.orbit.following = on;
      this.orbit.fit();
    }
    this.request();
  }

  redraw(): void {
    for (const space of [this.space, this.corner]) {
      space.traverse((thing) => {
        if (!("geometry" in thing)) return;
        const { geometry, material } = thing as Mesh;
        geometry.dispose();
        for (const paint of [material].flat()) paint.dispose();
      });
      space.clear();
    }
    this.build();
    this.draw();
  }

  private request(): void {
    this.pending ||= requestAnimationFrame((now) => {
      this.pending = 0;
      this.adapt(now);
      this.draw();
    });
  }

  // Fewer pixels while frames come too slowly; all of them again when nothing moves.
  private adapt(now: number): void {
    const passed = now - this.last;
    this.last = now;
    this.pace = passed > 200 ? 0 : this.pace ? 0.8 * this.pace + 0.2 * passed : passed;
    if (this.pace > SLOW && this.coarse > 0.5) Object.assign(this, { coarse: 0.8 * this.coarse, pace: 0 });
    clearTimeout(this.rest);
    if (this.coarse < 1) this.rest = window.setTimeout(() => this.draw(true), IDLE);
  }

  private draw(fine = false): void {
    const { renderer, canvas, orbit, data, space } = this, width = Math.max(50, canvas.clientWidth), height = Math.max(50, canvas.clientHeight);
    const ratio = Math.min(2, window.devicePixelRatio || 1) * (fine ? 1 : this.coarse);
    if (renderer.getPixelRatio() !== ratio) renderer.setPixelRatio(ratio);
    if (canvas.width !== Math.floor(width * ratio) || canvas.height !== Math.floor(height * ratio)) renderer.setSize(width, height, false);
    if (orbit.camera.aspect !== width / height) {
      orbit.camera.aspect = width / height;
      orbit.fit();
    }
    const [frame, share] = locate(data.times, this.time);
    this.pose(frame, share);
    this.sun.castShadow = this.options.Shadows;
    if (data.camera.follow) orbit.accompany(data.camera.follow.path[frame].map((x, i) => x + share * (data.camera.follow!.path[frame + 1][i] - x)) as Vector);
    space.updateMatrixWorld();
    for (const act of this.followers) act(this.nearest());
    renderer.setViewport(0, 0, width, height);
    renderer.clear();
    renderer.render(space, orbit.camera);
    this.cornerCamera.quaternion.copy(orbit.camera.quaternion);
    this.cornerCamera.position.set(0, 0, 5).applyQuaternion(orbit.camera.quaternion);
    renderer.setViewport(width - TRIAD, 0, TRIAD, TRIAD);
    renderer.clearDepth();
    renderer.render(this.corner, this.cornerCamera);
  }
}
