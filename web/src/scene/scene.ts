// The animation: a picture of the scene at a time, from where the camera is.

import { type Bone, Group, Quaternion, Scene as Space, Vector3, WebGLRenderer } from "three";
import { Contents } from "./contents";
import type { Scene, Vector } from "./data";
import { Arrow, AXES } from "./marks";
import { Orbit } from "./orbit";

export type { Scene } from "./data";

export interface Stage {
  setTime(time: number): void;
  reset(): void;
  look(preset: string): void;
  options: { [name: string]: boolean };
  set(name: string, on: boolean): void;
  redraw(): void; // with the present colours, at once
}

const HELP = "Animation of the mechanism. Arrow keys turn, plus and minus zoom, 0 resets the view, space plays and pauses.";
const NO_WEBGL = "This browser does not provide WebGL 2, so the animation is not shown. The figures and curves below are complete.";
const FINE = 2; // pixels of the picture per pixel of the page: those that a screen does not have smooth the edges
const SOFTWARE = /swiftshader|llvmpipe|software|basic render/i; // renderers that begin with half as many
const SLOW = 33, FAST = 20, IDLE = 350; // ms: slower frames get fewer pixels, faster ones more; after a pause there are all
const CORNER = 44; // px from the middle of the world's axes to the edges

export function showScene(place: HTMLElement, data: Scene): Stage {
  const canvas = document.createElement("canvas"), context = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
  if (context) return new Show(place, canvas, context, data);
  const message = place.appendChild(document.createElement("p"));
  Object.assign(message, { className: "message", textContent: NO_WEBGL });
  return { setTime() {}, reset() {}, look() {}, options: {}, set() {}, redraw() {} };
}

class Show implements Stage {
  readonly options: { [name: string]: boolean };
  private readonly renderer: WebGLRenderer;
  private readonly orbit: Orbit;
  private readonly space = new Space();
  private readonly contents: Contents;
  private readonly axes = new Group();
  private time: number;
  private pending = 0; // the next frame, if one is asked for
  private last = 0; // ms, time of the last frame
  private pace = SLOW; // ms between frames
  private coarse = 1; // share of the pixels along an edge
  private rest = 0; // timer

  constructor(place: HTMLElement, private readonly canvas: HTMLCanvasElement, context: WebGL2RenderingContext, private readonly data: Scene) {
    const frame = place.appendChild(document.createElement("div")), texts = document.createElement("div");
    frame.style.position = "relative";
    Object.assign(texts.style, { position: "absolute", inset: "0", overflow: "hidden", pointerEvents: "none" });
    Object.assign(canvas, { id: "scene", tabIndex: 0, role: "application", ariaLabel: HELP });
    frame.append(canvas, texts);
    this.time = data.times[0];
    this.options = data.options;
    this.renderer = new WebGLRenderer({ canvas, context });
    const info = context.getExtension("WEBGL_debug_renderer_info");
    if (info && SOFTWARE.test(context.getParameter(info.UNMASKED_RENDERER_WEBGL))) this.coarse = 0.5;
    this.orbit = new Orbit(canvas, data.camera, () => this.request());
    for (const [k, tone] of AXES.entries()) this.axes.add(new Arrow(0.045, tone).point(new Vector3(), new Vector3().setComponent(k, 0.9)));
    this.contents = new Contents(data, this.space, texts, this.orbit.camera);
    this.contents.build(canvas);
    new ResizeObserver(() => this.draw(1)).observe(canvas);
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
    this.contents.build(this.canvas);
    this.draw(1);
  }

  private request(): void {
    this.pending ||= requestAnimationFrame((now) => {
      this.pending = 0;
      this.adapt(now - this.last);
      this.last = now;
      this.draw(this.coarse);
    });
  }

  private adapt(passed: number): void {
    if (passed < 250) this.pace += 0.15 * (passed - this.pace);
    if (this.pace > SLOW) this.coarse = Math.max(0.3, 0.98 * this.coarse);
    else if (this.pace < FAST) this.coarse = Math.min(1, 1.01 * this.coarse);
    clearTimeout(this.rest);
    if (this.coarse < 1) this.rest = window.setTimeout(() => this.draw(1), IDLE);
  }

  // share: of the finest picture's pixels along an edge
  private draw(share: number): void {
    const { renderer, canvas, orbit, data, contents } = this, width = Math.max(50, canvas.clientWidth), height = Math.max(50, canvas.clientHeight);
    const ratio = Math.ceil(8 * FINE * share) / 8; // in steps: another size means new memory
    if (renderer.getPixelRatio() !== ratio) renderer.setPixelRatio(ratio);
    if (canvas.width !== Math.floor(width * ratio) || canvas.height !== Math.floor(height * ratio)) renderer.setSize(width, height, false);
    if (orbit.camera.aspect !== width / height) {
      orbit.camera.aspect = width / height;
      orbit.fit();
    }
    const { times } = data, last = times.length - 1, at = Math.max(0, Math.min(last, last * (this.time - times[0]) / (times[last] - times[0]))) || 0;
    const frame = Math.min(Math.floor(at), last - 1), path = data.camera.follow?.path;
    data.motions.forEach(({ poses }, motion) => poses.forEach((flat, link) => move(contents.nodes[motion][link], flat, frame, at - frame)));
    if (path) orbit.accompany(path[frame].map((x, i) => x + (at - frame) * (path[frame + 1][i] - x)) as Vector);
    contents.update(this.time, Math.round(at), renderer);
    this.placeAxes(width, height);
    renderer.render(this.space, orbit.camera);
  }

  // The world's axes in the lower right corner, just before the eye.
  private placeAxes(width: number, height: number): void {
    const { camera } = this.orbit, depth = 2 * camera.near, pixel = 2 * depth * Math.tan(camera.fov * Math.PI / 360) / height;
    this.axes.position.set(pixel * (width / 2 - CORNER), pixel * (CORNER - height / 2), -depth);
    camera.localToWorld(this.axes.position);
    this.axes.scale.setScalar(0.7 * CORNER * pixel);
    this.space.add(this.axes);
  }
}

const here = new Vector3(), turn = new Quaternion();

// The pose of a link between two frames: flat holds x y z qw qx qy qz of each.
function move(node: Bone, flat: number[], frame: number, share: number): void {
  const at = 7 * frame, next = at + 7;
  node.position.fromArray(flat, at).lerp(here.fromArray(flat, next), share);
  node.quaternion.set(flat[at + 4], flat[at + 5], flat[at + 6], flat[at + 3]);
  node.quaternion.slerp(turn.set(flat[next + 4], flat[next + 5], flat[next + 6], flat[next + 3]), share).normalize();
}
