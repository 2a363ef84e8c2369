// Everything in the scene, and what happens to it over time.

import {
  Bone, type BufferGeometry, type Camera, type Color, DirectionalLight, Group, HemisphereLight, Matrix4, type Mesh, MeshLambertMaterial,
  type Object3D, Quaternion, Scene as Space, Skeleton, SkinnedMesh, type Sphere, Vector3, type WebGLRenderer,
} from "three";
import type { Scene, Solid, Vector } from "./data";
import { merged, meshGeometry, type Palette, readPalette } from "./geometry";
import { Arrow, ball, gridLines, label, Trail, triad } from "./marks";
import { CASTS, Shadow } from "./shadow";

const TRAIL_TONES = [1, 0, 2, 3, 4, 6], MOST_NAMES = 30; // the latter of frames
const CLEAR = 0.6, GHOST = 0.25; // opacity of obstacles and of the poses of the swept path
const vectors = (...all: Vector[]) => all.map((x) => new Vector3(...x));

export class Contents {
  readonly space = new Space();
  private readonly nodes: Bone[][] = []; // of each motion and link
  private readonly meshes: BufferGeometry[];
  private shadow: Shadow | null = null;
  private casting: [Object3D, Sphere][] = [];
  private acts: ((at: number) => void)[] = []; // what to do before each picture; at: number of the frame, with its fraction
  private time = 0;
  private palette!: Palette;
  private readonly options: { [name: string]: boolean };
  // texts: an element above the picture
  constructor(private readonly data: Scene, private readonly texts: HTMLElement, private readonly camera: Camera) {
    this.options = data.options;
    this.meshes = data.meshes.map(meshGeometry);
  }

  // Makes everything, in the colours that the canvas has now.
  build(canvas: HTMLCanvasElement): void {
    this.clear();
    this.palette = readPalette(canvas);
    for (const motion of this.data.motions.keys()) this.addSolids(motion);
    this.addGhosts();
    this.addSurroundings();
    this.addTrails();
    this.addLoads();
    this.addMarks();
  }

  private clear(): void {
    this.space.traverse((thing) => {
      if (thing instanceof SkinnedMesh) thing.skeleton.dispose();
      if (thing instanceof Shadow) thing.dispose();
      if ("geometry" in thing) for (const part of [(thing as Mesh).geometry, (thing as Mesh).material].flat()) part.dispose();
    });
    this.space.clear();
    this.texts.replaceChildren();
    [this.acts, this.casting] = [[], []];
  }

  // The scene at a time, which is a share of the way from one frame to the next.
  update(time: number, frame: number, share: number, renderer: WebGLRenderer): void {
    this.time = time;
    this.data.motions.forEach(({ poses }, motion) => poses.forEach((flat, link) => move(this.nodes[motion][link], flat, 7 * frame, share)));
    this.space.updateMatrixWorld();
    for (const act of this.acts) act(frame + share);
    this.shadow?.cast(renderer, this.space, this.casting, this.options.Shadows);
  }

  private get among(): boolean { return Boolean(this.data.ghosts?.length); } // obstacles
  private node(link: number): Object3D { return link < 0 ? this.space : this.nodes[0][link]; }

  // Lights, grids, and a plane with the shadow.
  private addSurroundings(): void {
    const { grid, floor, shadow, light, camera } = this.data, sun = new DirectionalLight(0xffffff, 2.3), sky = new HemisphereLight(0xffffff, 0xb9bec8, 1.75);
    sun.position.set(...light);
    sky.position.set(...camera.up);
    this.space.add(sun, sky, gridLines(grid, this.palette.line));
    if (floor) this.space.add(gridLines(floor, this.palette.line));
    this.shadow = shadow && new Shadow(new Vector3(...shadow.middle), new Vector3(...shadow.normal), sun.position, 20 * camera.radius);
    if (this.shadow) this.space.add(this.shadow);
  }

  // All solids of a motion in one mesh, on a skeleton with a bone for each link, for the world, and for each solid that comes and goes.
  private addSolids(motion: number): void {
    const { data } = this, { poses, faint, name } = data.motions[motion], count = data.solids.length, end = data.times[data.times.length - 1];
    const links = this.nodes[motion] = poses.map(() => new Bone()), bones = [...links, new Bone()];
    const solids = data.solids.filter((solid) => solid.motion === motion);
    if (!solids.length) return;
    const moved = solids.map(({ link, shown }) => {
      const bone = link < 0 ? poses.length : link;
      if (!shown) return bone;
      const own = new Bone();
      bones[bone].add(own);
      this.acts.push(() => own.scale.setScalar(this.time >= shown[0] && (this.time < shown[1] || shown[1] >= end) ? 1 : 0));
      return bones.push(own) - 1;
    });
    this.space.add(...bones.slice(0, poses.length + 1));
    for (const clear of [false, true]) { // what a robot must not touch does not hide it
      const chosen = [...solids.keys()].filter((k) => (solids[k].role === "obstacle" && this.among) === clear), places = chosen.map((k) => moved[k]);
      if (!chosen.length) continue;
      const [body, spheres] = this.skinned(chosen.map((k) => solids[k]), places, bones, count > 80 ? 9 : count > 30 ? 16 : 24, faint ? 0.4 : clear ? CLEAR : 1);
      this.space.add(body);
      if (motion > 0) { this.acts.push(() => { body.visible = this.options[name]; }); continue; }
      this.casting.push(...spheres.map((sphere, k): [Object3D, Sphere] => [bones[places[k]], sphere]));
      body.layers.enable(CASTS);
    }
  }

  private skinned(solids: Solid[], places: number[], bones: Bone[], sides: number, opacity: number): [SkinnedMesh, Sphere[]] {
    const [geometry, spheres] = merged(solids, places, this.meshes, sides, this.palette);
    const body = new SkinnedMesh(geometry, new MeshLambertMaterial({ vertexColors: true, transparent: opacity < 1, opacity }));
    body.bind(new Skeleton(bones, bones.map(() => new Matrix4())), new Matrix4());
    body.frustumCulled = false;
    return [body, spheres];
  }

  // What the robot sweeps: its poses in some frames, made when they are first shown.
  private addGhosts(): void {
    const { data: { ghosts = [], motions: [{ poses }], solids, times }, options } = this, swept = new Group();
    this.space.add(swept);
    this.acts.push(() => {
      swept.visible = Boolean(options["Swept path"]);
      if (swept.visible && !swept.children.length) for (const frame of ghosts) {
        const bones = poses.map(() => new Bone()), time = times[frame], before = Math.min(frame, times.length - 2);
        poses.forEach((flat, link) => move(bones[link], flat, 7 * before, frame - before));
        const there = solids.filter(({ motion, link, role, shown }) => motion === 0 && link >= 0 && role !== "obstacle" && (!shown || (time >= shown[0] && time < shown[1])));
        swept.add(...bones, this.skinned(there, there.map(({ link }) => link), bones, 12, GHOST)[0]);
      }
    });
  }

  private addTrails(): void {
    const { data, options, palette, among } = this;
    for (const [number, { motion, points }] of data.trails.entries()) {
      const trail = new Trail(points, palette.tones[TRAIL_TONES[number % 6]], (among ? 0.0055 : 0.0045) * data.camera.radius, motion > 0, among ? 0.0026 * data.camera.radius : 0);
      this.space.add(trail);
      this.acts.push((at) => trail.until(Math.round(at), options.Trails && (motion === 0 || options[data.motions[motion].name])));
    }
  }

  private addLoads(): void {
    const { data, options, palette } = this;
    const add = (kind: string, ends: (at: number) => [Vector3, Vector3, string] | null, option = "Forces", thin = false) => {
      const colour = kind === "moment" ? palette.moment : palette.force, write = label(this.texts, colour);
      const arrow = new Arrow((thin ? 0.004 : 0.0075) * data.camera.radius, colour, kind === "moment");
      this.space.add(arrow);
      this.acts.push((at) => {
        const now = options[option] ? ends(at) : null;
        arrow.visible = now !== null;
        if (now) arrow.point(now[0], now[1]);
        write(now && now[1], this.camera, now ? now[2] : "");
      });
    };
    for (const { kind, label, link, p, vector, world } of data.forces) add(kind, () => {
      const [foot, along] = vectors(p, vector), { matrixWorld } = this.node(link);
      if (!world) along.applyMatrix4(new Matrix4().extractRotation(matrixWorld));
      return [foot.applyMatrix4(matrixWorld), along.add(foot), label];
    });
    for (const { kind, feet, tips, labels, option, thin } of data.loads) add(kind, (at) => {
      const [foot, tip] = [between(feet, at), between(tips, at)];
      return foot && tip && [foot, tip, labels[Math.round(at)]];
    }, option, thin);
  }

  // Puts a mark on a link, shown with an option if one is named.
  private pin(mark: Object3D, link: number, p: Vector, option = "", name = "", colour?: Color): void {
    mark.position.set(...p);
    this.node(link).add(mark);
    if (option) this.acts.push(() => { mark.visible = this.options[option]; });
    if (!colour) return;
    const write = label(this.texts, colour);
    this.acts.push(() => write(mark.visible ? mark.getWorldPosition(new Vector3()) : null, this.camera, name));
  }

  private addMarks(): void {
    const { data, options, palette } = this, { radius } = data.camera, size = 0.055 * radius;
    for (const { name, p, R } of data.goals) {
      this.pin(ball(0.025 * radius, palette.good, 0.4), -1, p, "", name, palette.good);
      if (R) this.pin(triad(1.6 * size, R), -1, p);
    }
    for (const { name, link, p } of data.contacts) this.pin(ball(0.014 * radius, palette.force), link, p, "", name, palette.force);
    const ink = data.frames.length <= MOST_NAMES ? palette.soft : undefined;
    for (const { name, link, p, R } of data.frames) this.pin(triad(size, R), link, p, "Frames", name, ink);
    for (const { link, p, axis } of data.axes) {
      const [middle, half] = vectors(p, axis.map((x) => 0.12 * radius * x) as Vector), arrow = new Arrow(0.003 * radius, palette.ink);
      this.pin(arrow.point(middle.clone().sub(half), middle.add(half)), link, arrow.position.toArray(), "Joint axes");
    }
    for (const { points } of data.markers) {
      const mark = ball(0.011 * radius, palette.ink);
      this.space.add(mark);
      this.acts.push((at) => {
        const place = between(points, at);
        mark.visible = options.Markers && place !== null;
        if (place) mark.position.copy(place);
      });
    }
  }
}

// A point that is there in some frames, at a fraction of the way from one to the next; null if it is not there in the nearest.
function between(points: (Vector | null)[], at: number): Vector3 | null {
  const [nearest, before, after] = [points[Math.round(at)], points[Math.floor(at)], points[Math.ceil(at)]];
  return before && after ? new Vector3(...before).lerp(new Vector3(...after), at % 1) : nearest && new Vector3(...nearest);
}

const there = new Vector3(), turn = new Quaternion();

// The pose of a link between the frame that begins at a place in flat (x y z qw qx qy qz of each) and the next one.
function move(node: Bone, flat: number[], at: number, share: number): void {
  node.position.fromArray(flat, at).lerp(there.fromArray(flat, at + 7), share);
  node.quaternion.set(flat[at + 4], flat[at + 5], flat[at + 6], flat[at + 3]);
  node.quaternion.slerp(turn.set(flat[at + 11], flat[at + 12], flat[at + 13], flat[at + 10]), share).normalize();
}
