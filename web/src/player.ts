// The animation with its controls, and the table of joints beside it.
import type { PageData, Row } from "./data";
import type { Clock, Page } from "./clock";
import { shownIn } from "./clock";
import { button, draw, find, readable, swatch, tag, valueAt } from "./nodes";
import { showScene, type Stage } from "./scene/scene";

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
const MOUSE = "Drag to rotate, scroll to zoom, shift-drag to pan.", TOUCH = "Drag to rotate, pinch to zoom.";
const PRESETS = ["Front", "Side", "Top", "Reset view"];

export function showPlayer(place: HTMLElement, data: PageData, page: Page, clock: Clock | null): void {
  place.hidden = false;
  const frame = tag("div", place, { class: data.state.length ? "stage" : "" });
  const film = tag("div", frame, { class: "film" });
  const viewport = tag("div", film, { class: "viewport" });
  const stage = data.scene && showScene(viewport, data.scene);
  if (data.scene?.grid) tag("p", viewport, { class: "hint" }, `Grid ${readable(data.scene.grid.step)} m. ${matchMedia("(pointer: coarse)").matches ? TOUCH : MOUSE}`);
  if (clock) showControls(tag("div", film, { class: "controls", role: "group", "aria-label": "Time" }), clock);
  if (stage) {
    showView(tag("div", film, { class: "controls view", role: "group", "aria-label": "View" }), stage);
    if (clock) clock.tell((time) => stage.setTime(time));
    else stage.setTime(0);
    page.paint.tell(() => stage.redraw());
    viewport.addEventListener("keydown", (event) => {
      if (event.key === " ") { event.preventDefault(); clock?.toggle(); }
    });
  }
  if (clock && data.state.length) showState(tag("div", frame, { class: "side", tabindex: 0, role: "group", "aria-label": "Joints at this time" }), data.state, page, clock);
}

function showControls(place: HTMLElement, clock: Clock): void {
  const play = button(place, "▶ Play", () => clock.toggle(), { id: "play" });
  clock.playing.tell((on) => { play.textContent = on ? "❚❚ Pause" : "▶ Play"; });
  const slider = tag("input", place, { type: "range", id: "slider", min: 0, max: 1000, step: 1, "aria-label": "Time" });
  const output = tag("output", place, { id: "clock", for: "slider" });
  const digits = Math.max(2, 3 - Math.floor(Math.log10(clock.duration || 1)));
  clock.tell((time) => {
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
  for (const preset of PRESETS) button(looks, preset, () => (preset === "Reset view" ? stage.reset() : stage.look(preset)), { "data-look": preset });
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
function showState(place: HTMLElement, rows: Row[], page: Page, clock: Clock): void {
  const table = tag("table", place, { id: "state" });
  const head = tag("tr", tag("thead", table));
  for (const name of ["Joint", "Position", "Effort", ""]) tag("th", head, { scope: "col", class: name === "Joint" ? "" : "n" }, name);
  const body = tag("tbody", table);
  const updates = rows.map(({ name, joint, position, effort }) => {
    const row = tag("tr", body), title = tag("th", row, { scope: "row", title: name });
    swatch(title, joint);
    title.append(name);
    const cell = tag("td", row, { class: "n" }), other = tag("td", row, { class: "n" }, "no motor");
    const at = (curve: Row["position"], time: number) => valueAt(page.times[curve.x], curve.y, time, curve.step);
    const show = (place: Element, value: number | null, unit: string) => {
      const [shown, factor] = shownIn(unit, page.radians.value);
      place.textContent = `${readable(value === null ? null : factor * value)} ${shown}`;
    };
    const meter = tag("td", row, { class: "meter" });
    if (!effort) return (time: number) => show(cell, at(position, time), position.unit);
    const svg = draw("svg", meter, { viewBox: "-50 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    const bar = draw("rect", svg, { height: 10 });
    draw("path", svg, { d: "M0 0V10", stroke: "var(--soft)" });
    return (time: number) => {
      const value = at(effort, time), share = 50 * Math.max(-1, Math.min(1, (value ?? 0) / effort.most));
      show(cell, at(position, time), position.unit);
      show(other, value, effort.unit);
      bar.setAttribute("x", String(Math.min(0, share)));
      bar.setAttribute("width", String(Math.abs(share)));
    };
  });
  const update = () => updates.forEach((each) => each(clock.value));
  clock.tell(update);
  page.radians.tell(update);
}

// Buttons that choose what charts show, by the number that the series carry as `joint`.
export function showPicker(place: HTMLElement, names: string[], first: number[], show: (joints: Set<number>) => void): void {
  const shown = new Set(first);
  const update = () => {
    buttons.forEach((each, joint) => each.setAttribute("aria-pressed", String(shown.has(joint))));
    show(shown);
  };
  const choose = (joints: Iterable<number>) => () => {
    shown.clear();
    for (const joint of joints) shown.add(joint);
    update();
  };
  if (names.length > 8) {
    button(place, "All", choose([...names.keys()]));
    button(place, "None", choose([]));
  }
  const buttons = names.map((name, joint) => {
    const each = button(place, "", () => {
      if (!shown.delete(joint)) shown.add(joint);
      update();
    });
    swatch(each, joint);
    each.append(name);
    return each;
  });
  place.hidden = names.length === 1;
  update();
}

// Controls for all charts: the unit of angles, what a drag does, and the way back from a zoom.
export function showTools(page: Page, angles: boolean): void {
  const place = find("tools");
  if (!place) return;
  if (angles) {
    const units = tag("div", place, { class: "joined", role: "group", "aria-label": "Unit of angles" });
    const choices = ["°", "rad"].map((unit, k) => button(units, unit, () => page.radians.set(k === 1), { "data-unit": unit, "aria-pressed": k === 0 ? "true" : "false" }));
    page.radians.tell((on) => choices.forEach((each, k) => each.setAttribute("aria-pressed", String((k === 1) === on))));
  }
  const zoom = button(place, "Zoom", () => page.zooming.set(!page.zooming.value), { id: "zooming", "aria-pressed": "false", title: "Drag in a chart to zoom; also with shift held down" });
  page.zooming.tell((on) => zoom.setAttribute("aria-pressed", String(on)));
  const whole = button(place, "Show all", () => page.zoom.set(null), { id: "whole", hidden: "", title: "Also by a double click in a chart" });
  page.zoom.tell((range) => { whole.hidden = range === null; });
}
