// The animation: a picture of the scene at a time, from where the camera is.

import { WebGLRenderer } from "three";
import { ViewHelper } from "three/addons/helpers/ViewHelper.js";
import { Contents } from "./contents";
import type { Scene, Vector } from "./data";
import { Orbit } from "./orbit";

export interface Stage {
  setTime(time: number): void;
  look(preset: string): void;
  options: { [name: string]: boolean };
  set(name: string, on: boolean): void;
  redraw(): void; // at once, with the present colours
}

const HELP = "Animation of the mechanism. Arrow keys turn, plus and minus zoom, 0 resets the view, space plays and pauses.";
const NO_WEBGL = "This browser does not provide WebGL 2, so the animation is not shown. The figures and curves below are complete.";
const FINE = 2; // pixels of the picture per pixel of the page: those that a screen does not have smooth the edges
const SOFTWARE = /swiftshader|llvmpipe|software|basic render/i; // renderers that draw one per pixel while something moves
const SLOW = 33, IDLE = 350; // ms: so do those whose frames are slower than this; after a pause the picture is fine

export function showScene(place: HTMLElement, data: Scene): Stage | null {
  const canvas = document.createElement("canvas"), context = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
  if (context) return show(place, canvas, context, data);
  Object.assign(place.appendChild(document.createElement("p")), { className: "message", textContent: NO_WEBGL });
  return null;
}

function show(place: HTMLElement, canvas: HTMLCanvasElement, context: WebGL2RenderingContext, data: Scene): Stage {
  const frame = place.appendChild(document.createElement("div")), texts = document.createElement("div");
  frame.style.position = "relative";
  Object.assign(texts.style, { position: "absolute", inset: "0", overflow: "hidden", pointerEvents: "none" });
  Object.assign(canvas, { id: "scene", tabIndex: 0, role: "application", ariaLabel: HELP });
  frame.append(canvas, texts);
  const renderer = new WebGLRenderer({ canvas, context }), info = context.getExtension("WEBGL_debug_renderer_info");
  const orbit = new Orbit(canvas, data.camera, request), contents = new Contents(data, texts, orbit.camera), axes = new ViewHelper(orbit.camera, canvas);
  axes.setLabels("x", "y", "z");
  axes.scale.setScalar(0.75);
  Object.assign(axes.location, { top: -16, right: -16 }); // small, in a corner that mechanisms seldom reach
  renderer.autoClear = false;
  let time = data.times[0], pending = 0, last = 0, rest = 0, pace = 0; // last: ms of the last frame; pace: ms between frames
  let moving = info && SOFTWARE.test(context.getParameter(info.UNMASKED_RENDERER_WEBGL)) ? 1 : FINE; // pixels per pixel of the page while something moves

  function request(): void {
    pending ||= requestAnimationFrame((now) => {
      if (now - last < 250) pace += 0.05 * (now - last - pace);
      if (pace > SLOW) moving = 1;
      pending = 0;
      last = now;
      draw(moving);
      clearTimeout(rest);
      if (moving < FINE) rest = window.setTimeout(draw, IDLE, FINE);
    });
  }

  function draw(ratio: number): void {
    const width = Math.max(50, canvas.clientWidth), height = Math.max(50, canvas.clientHeight);
    if (renderer.getPixelRatio() !== ratio) renderer.setPixelRatio(ratio);
    if (canvas.width !== Math.floor(width * ratio) || canvas.height !== Math.floor(height * ratio)) renderer.setSize(width, height, false);
    orbit.widen(width / height);
    const { times } = data, end = times.length - 1, at = Math.max(0, Math.min(end, end * (time - times[0]) / (times[end] - times[0]))) || 0;
    const before = Math.min(Math.floor(at), end - 1), path = data.camera.follow?.path;
    if (path) orbit.accompany(path[before].map((x, i) => x + (at - before) * (path[before + 1][i] - x)) as Vector);
    contents.update(time, before, at - before, renderer);
    renderer.clear();
    renderer.render(contents.space, orbit.camera);
    axes.render(renderer);
  }

  contents.build(canvas);
  new ResizeObserver(() => draw(FINE)).observe(canvas);
  return {
    options: data.options, look: (preset) => orbit.look(preset),
    setTime: (now) => { time = now; request(); },
    redraw: () => { contents.build(canvas); draw(FINE); },
    set: (name, on) => {
      data.options[name] = on;
      if (name === "Follow") orbit.follow(on);
      request();
    },
  };
}
