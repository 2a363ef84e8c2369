// The animation with its controls, and the table of joints beside it.
import type { PageData, Where } from "./data";
import { shownIn, type Clock, type Page } from "./clock";
import { button, draw, jointSwatch, readable, tag, valueAt } from "./nodes";
import { showScene, type Stage } from "./scene/scene";

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
const MOUSE = "Drag to rotate, scroll to zoom, shift-drag to pan.", TOUCH = "Drag to rotate, pinch to zoom.";
const PRESETS = ["Front", "Side", "Top", "Reset view"];

export function showPlayer(place: HTMLElement, data: PageData, page: Page, clock: Clock | null): void {
  place.hidden = false;
  const frame = tag("div", place, { class: data.state.length ? "stage" : "" }), film = tag("div", frame, { class: "film" });
  const viewport = tag("div", film, { class: "viewport" });
  const stage = data.scene && showScene(viewport, data.scene);
  if (stage && data.scene) tag("p", viewport, { class: "hint" }, `Grid ${readable(data.scene.grid.step)} m. ${matchMedia("(pointer: coarse)").matches ? TOUCH : MOUSE}`);
  if (clock) showControls(tag("div", film, { class: "controls", role: "group", "aria-label": "Time" }), clock);
  if (stage) {
    showView(tag("div", film, { class: "controls view", role: "group", "aria-label": "View" }), stage);
    if (clock) clock.subscribe((time) => stage.setTime(time));
    else stage.setTime(0);
    page.paint.subscribe(() => stage.redraw());
    viewport.addEventListener("keydown", (event) => {
      if (event.key === " ") { event.preventDefault(); clock?.toggle(); }
    });
  }
  if (clock && data.state.length) showState(tag("div", frame, { class: "side", tabindex: 0, role: "group", "aria-label": "Joints at this time" }), data, page, clock);
}

function showControls(place: HTMLElement, clock: Clock): void {
  const play = button(place, "▶ Play", () => clock.toggle(), { id: "play" });
  clock.playing.subscribe((on) => { play.textContent = on ? "❚❚ Pause" : "▶ Play"; });
  const slider = tag("input", place, { type: "range", id: "slider", min: 0, max: 1000, step: 1, "aria-label": "Time" });
  const output = tag("output", place, { id: "clock", for: "slider" });
  const digits = Math.max(2, 3 - Math.floor(Math.log10(clock.duration || 1)));
  clock.subscribe((time) => {
    slider.value = String(Math.round(1000 * (time - clock.start) / (clock.duration || 1)));
    slider.setAttribute("aria-valuetext", `${time.toFixed(digits)} seconds`);
    const phase = clock.phases.length > 1 ? clock.phases.find(({ end }) => time <= end) : null;
    output.textContent = `${time.toFixed(digits)} of ${clock.end.toFixed(digits)} s${phase ? ` · ${phase.name}` : ""}`;
  });
  slider.addEventListener("input", () => clock.seek(clock.start + Number(slider.value) / 1000 * clock.duration));
  const speed = tag("select", tag("label", place, {}, "Speed "), { id: "speed" });
  clock.speed = SPEEDS.filter((factor) => factor <= 1 && clock.duration / factor >= 2).pop() ?? SPEEDS[0];
  for (const factor of SPEEDS) tag("option", speed, { value: factor }, `${factor}×`);
  speed.value = String(clock.speed);
  speed.addEventListener("change", () => { clock.speed = Number(speed.value); });
  box(place, "Loop", clock.loop, (on) => { clock.loop = on; }).id = "loop";
}

function showView(place: HTMLElement, stage: Stage): void {
  const looks = tag("div", place, { class: "joined" });
  for (const preset of PRESETS) button(looks, preset, () => stage.look(preset), { "data-look": preset });
  for (const name in stage.options) box(place, name, stage.options[name], (on) => stage.set(name, on)).dataset.option = name;
}

function box(place: HTMLElement, name: string, on: boolean, change: (on: boolean) => void): HTMLInputElement {
  const label = tag("label", place), input = tag("input", label, { type: "checkbox" });
  label.append(` ${name}`);
  input.checked = on;
  input.addEventListener("change", () => change(input.checked));
  return input;
}

// Position and effort of every joint now, with a bar of effort against the most there can be.
function showState(place: HTMLElement, data: PageData, page: Page, clock: Clock): void {
  const table = tag("table", place, { id: "state" }), head = tag("tr", tag("thead", table)), body = tag("tbody", table);
  for (const name of ["Joint", "Position", "Effort", ""]) tag("th", head, { scope: "col", class: name === "Joint" ? "" : "n" }, name);
  const show = (cell: HTMLElement, { place, chart, line }: Where): number => {
    const spec = data.charts[place][chart], { x, y, step } = spec.series[line];
    const [unit, factor] = shownIn(spec.unit, page.radians.value), value = valueAt(page.times[x], y, clock.value, step);
    cell.textContent = `${readable(value === null ? null : factor * value)} ${unit}`;
    return value ?? 0;
  };
  const updates = data.state.map(({ name, joint, position, effort }) => {
    const row = tag("tr", body), title = tag("th", row, { scope: "row", title: name });
    jointSwatch(title, joint);
    title.append(name);
    const cell = tag("td", row, { class: "n" }), other = tag("td", row, { class: "n" }, "no motor"), meter = tag("td", row, { class: "meter" });
    if (!effort) return () => show(cell, position);
    const svg = draw("svg", meter, { viewBox: "-50 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    const bar = draw("rect", svg, { height: 10 });
    draw("path", svg, { d: "M0 0V10", stroke: "var(--soft)" });
    return () => {
      show(cell, position);
      const share = 50 * Math.max(-1, Math.min(1, show(other, effort) / effort.most));
      bar.setAttribute("x", String(Math.min(0, share)));
      bar.setAttribute("width", String(Math.abs(share)));
    };
  });
  const update = () => updates.forEach((each) => each());
  clock.subscribe(update);
  page.radians.subscribe(update);
}

// Buttons that choose what charts show, by the number that the series carry as `joint`.
export function showPicker(place: HTMLElement, names: string[], first: number[], show: (joints: Set<number>) => void): void {
  let shown = new Set(first);
  const choose = (joints: Iterable<number>) => {
    shown = new Set(joints);
    buttons.forEach((each, joint) => each.setAttribute("aria-pressed", String(shown.has(joint))));
    show(shown);
  };
  if (names.length > 8) for (const text of ["All", "None"]) button(place, text, () => choose(text === "All" ? names.keys() : []));
  const buttons = names.map((name, joint) => {
    const each = button(place, "", () => choose(shown.has(joint) ? [...shown].filter((other) => other !== joint) : [...shown, joint]));
    jointSwatch(each, joint);
    each.append(name);
    return each;
  });
  place.hidden = names.length === 1;
  choose(shown);
}

// Controls for all charts: the unit of angles, what a drag does, and the way back from a zoom.
export function showTools(place: HTMLElement, page: Page, angles: boolean): void {
  const units = tag("div", angles ? place : null, { class: "joined", role: "group", "aria-label": "Unit of angles" });
  const pressed = (each: HTMLElement, on: boolean) => each.setAttribute("aria-pressed", String(on));
  const [degrees, radians] = ["°", "rad"].map((unit, k) => button(units, unit, () => page.radians.set(k === 1), { "data-unit": unit, "aria-pressed": String(k === 0) }));
  page.radians.subscribe((on) => { pressed(degrees, !on); pressed(radians, on); });
  const zoom = button(place, "Zoom", () => page.zooming.set(!page.zooming.value), { id: "zooming", "aria-pressed": "false", title: "Drag in a chart to zoom; also with shift held down" });
  page.zooming.subscribe((on) => pressed(zoom, on));
  const whole = button(place, "Show all", () => page.zoom.set(null), { id: "whole", hidden: "", title: "Also by a double click in a chart" });
  page.zoom.subscribe((range) => { whole.hidden = range === null; });
}
