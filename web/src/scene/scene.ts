// The animation: the mechanism, what acts on it, and a camera that turns about them.

import {
  Bone, Color, CylinderGeometry, DirectionalLight, HemisphereLight, Matrix4, Mesh, MeshLambertMaterial, Object3D, OrthographicCamera,
  Quaternion, Scene as Space, Skeleton, SkinnedMesh, type Sphere, Vector3, WebGLRenderer,
} from "three";
import { locate, type Scene, type Vector } from "./data";
import { matrixOf, merged, meshGeometry, readPalette, type Palette } from "./geometry";
import { Labels } from "./labels";
import { Arrow, AXES, ball, gridLines, Trail, triad } from "./marks";
import { Orbit } from "./orbit";
import { CASTS, Shadow } from "./shadow";

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
const FINE = 2; // pixels of the picture per pixel of the page: what a screen does not have smooths edges
const SOFTWARE = /swiftshader|llvmpipe|software|basic render/i; // renderers that begin with half as many
const SLOW = 34, FAST = 20, IDLE = 350; // ms: a frame that takes longer is drawn more coarsely, a faster one more finely; after a pause, finely
const TRIAD = 84; // px
const MOST_NAMES = 30; // of frames

export function showScene(place: HTMLElement, data: Scene): Stage {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("webgl2", { alpha: true, antialias: false, preserveDrawingBuffer: true });
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
  private shadow: Shadow | null = null;
  private casting: [Object3D, Sphere][] = [];
  private nodes: Bone[][] = []; // of each motion and link
  private followers: ((frame: number) => void)[] = []; // called before each drawing
  private time: number;
  private pending = 0;
  private last = 0;
  private paces: number[] = []; // ms between frames
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
    const info = context.getExtension("WEBGL_debug_renderer_info");
    if (info && SOFTWARE.test(context.getParameter(info.UNMASKED_RENDERER_WEBGL))) this.coarse = 0.5;
    this.meshes = data.meshes.map(meshGeometry);
    this.offer();
    this.build();
    this.orbit = new Orbit(canvas, data.camera, () => this.request());
    new ResizeObserver(() => this.draw(true)).observe(canvas);
  }

  // Which options there are: only those with something to show.
  private offer(): void {
    const { data, options } = this;
    if (data.axes.length) options["Joint axes"] = false;
    if (data.frames.length) options.Frames = false;
    if (data.trails.length) options.Trails = true;
    if (data.forces.length || data.loads.length) options.Forces = true;
    if (data.markers.length) options.Markers = true;
    if (data.ground || data.grid.wall) options.Shadows = true;
    if (data.camera.follow) options.Follow = false;
    for (const { name, shown } of data.motions.slice(1)) options[name] = shown !== false;
  }

  private build(): void {
    const { data } = this, palette = readPalette(this.canvas);
    this.followers = [];
    this.labels.clear();
    data.motions.forEach((_, motion) => this.addSolids(motion, palette));
    this.addSurroundings(palette);
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

  // Lights, the grid, and a shadow on its plane.
  private addSurroundings(palette: Palette): void {
    const { grid, ground, camera } = this.data, { azimuth, radius } = camera;
    const [up, east, north, centre, origin, a, b, floor] = [camera.up, camera.east, camera.north, camera.centre, grid.origin, grid.a, grid.b, grid.floor].map((x) => new Vector3(...x));
    const level = east.multiplyScalar(Math.cos(azimuth)).addScaledVector(north, Math.sin(azimuth)), normal = a.clone().cross(b);
    const sun = new DirectionalLight(0xffffff, 2.3), sky = new HemisphereLight(0xffffff, 0xb9bec8, 1.75);
    sun.position.copy(up).multiplyScalar(1.2).addScaledVector(level, 0.85).addScaledVector(up.clone().cross(level), -0.45);
    sky.position.copy(up);
    this.space.add(sun, sky);
    const grids = [gridLines(grid, palette.line)];
    if (grid.wall && ground) grids.push(gridLines({ ...grid, origin: [...centre.clone().addScaledVector(up, -centre.dot(up)).add(floor)] as Vector, b: [...normal] as Vector }, palette.line));
    for (const lines of grids) lines.renderOrder = -1;
    this.space.add(...grids);
    this.shadow = null;
    if (!grid.wall && !ground) return;
    this.shadow = new Shadow(centre.addScaledVector(normal, origin.sub(centre).dot(normal)), normal, sun.position, 20 * radius, 0.2);
    this.space.add(this.shadow);
  }

  // All solids of a motion in one mesh, on a skeleton with a bone for each link, for the world, and for each solid that comes and goes.
  private addSolids(motion: number, palette: Palette): void {
    const { data } = this, { poses, faint, name } = data.motions[motion], sides = data.solids.length > 80 ? 10 : data.solids.length > 30 ? 16 : 24;
    const links = this.nodes[motion] = poses.map(() => new Bone()), bones = [...links, new Bone()], end = data.times[data.times.length - 1];
    const solids = data.solids.filter((solid) => solid.motion === motion);
    const moved = solids.map(({ link, shown }) => {
      const bone = link < 0 ? poses.length : link;
      if (!shown) return bone;
      const own = new Bone();
      bones[bone].add(own);
      this.followers.push(() => own.scale.setScalar(this.time >= shown[0] && (this.time < shown[1] || shown[1] >= end) ? 1 : 0));
      return bones.push(own) - 1;
    });
    const [geometry, spheres] = merged(solids, moved, this.meshes, sides, palette);
    if (motion === 0) this.casting = spheres.map((sphere, k) => [bones[moved[k]], sphere]);
    const body = new SkinnedMesh(geometry, new MeshLambertMaterial({ vertexColors: true, transparent: faint, opacity: faint ? 0.4 : 1 }));
    body.add(...bones.slice(0, poses.length + 1));
    body.bind(new Skeleton(bones, bones.map(() => new Matrix4())), new Matrix4());
    body.frustumCulled = false;
    if (!faint) body.layers.enable(CASTS);
    else this.followers.push(() => { body.visible = this.options[name]; });
    this.space.add(body);
  }

  private addTrails(palette: Palette): void {
    const { data, options } = this;
    data.trails.forEach(({ motion, points }, number) => {
      const trail = new Trail(points, palette.tones[TRAIL_TONES[number % 6]], 0.0045 * data.camera.radius, motion > 0);
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
        if (thing instanceof SkinnedMesh) thing.skeleton.dispose();
        if (thing instanceof Shadow) thing.dispose();
      });
      space.clear();
    }
    this.build();
    this.draw(true);
  }

  private request(): void {
    this.pending ||= requestAnimationFrame((now) => {
      this.pending = 0;
      this.adapt(now);
      this.draw();
    });
  }

  // Fewer pixels while frames come too slowly, more while they come fast; all of them when nothing moves.
  private adapt(now: number): void {
    const passed = now - this.last;
    this.last = now;
    this.paces = passed > 250 ? [] : [...this.paces, passed];
    if (this.paces.length === 12) {
      const pace = this.paces.sort((a, b) => a - b)[6];
      if (pace > SLOW) this.coarse = Math.max(0.3, 0.8 * this.coarse);
      else if (pace < FAST) this.coarse = Math.min(1, 1.1 * this.coarse);
      this.paces = [];
    }
    clearTimeout(this.rest);
    if (this.coarse < 1) this.rest = window.setTimeout(() => this.draw(true), IDLE);
  }

  private draw(fine = false): void {
    const { renderer, canvas, orbit, data, space } = this, width = Math.max(50, canvas.clientWidth), height = Math.max(50, canvas.clientHeight);
    const ratio = FINE * (fine ? 1 : this.coarse);
    if (renderer.getPixelRatio() !== ratio) renderer.setPixelRatio(ratio);
    if (canvas.width !== Math.floor(width * ratio) || canvas.height !== Math.floor(height * ratio)) renderer.setSize(width, height, false);
    if (orbit.camera.aspect !== width / height) {
      orbit.camera.aspect = width / height;
      orbit.fit();
    }
    const [frame, share] = locate(data.times, this.time);
    this.pose(frame, share);
    if (data.camera.follow) orbit.accompany(data.camera.follow.path[frame].map((x, i) => x + share * (data.camera.follow!.path[frame + 1][i] - x)) as Vector);
    space.updateMatrixWorld();
    for (const act of this.followers) act(this.nearest());
    if (this.shadow) {
      this.shadow.visible = this.options.Shadows;
      if (this.shadow.visible) this.shadow.cast(renderer, space, this.casting);
    }
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
