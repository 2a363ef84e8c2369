// Parallel coordinates: a line for each case across an axis for each column.
import { button, tag } from "../nodes";
import { addBrush } from "./brush";
import { Canvas, colour } from "./canvas";
import type { Column } from "./columns";
import type { Study } from "./state";

const GOLDEN = 0.618034;
const FIRST = 7, MOST_LINES = 3000, MOST_FAINT = 1000; // axes at first; lines drawn
const TOP = 42, BOTTOM = 22, EDGE = 70, APART = 120; // px; as in study.css

export function showParallel(place: HTMLElement, study: Study): void {
  const columns = study.drawn.filter((column) => column.data.name !== "message");
  if (columns.length < 2) return;
  place.hidden = false;
  tag("h2", place, {}, "Parallel coordinates");
  const picker = tag("div", place, { class: "picker", role: "group", "aria-label": "Axes" });
  const inner = tag("div", tag("div", place, { class: "lines" }), { class: "inner" }), note = tag("p", place, { class: "note", role: "status" });
  const shown = new Set(firstAxes(columns)), axes = () => columns.filter((column) => shown.has(column));
  const across = (k: number, width: number) => EDGE + (width - 2 * EDGE) * (axes().length > 1 ? k / (axes().length - 1) : 0.5);

  const canvas = new Canvas(inner, study, (pen, width, height) => {
    const places = axes(), tall = height - TOP - BOTTOM, { active, chosen: { value: chosen }, count } = study;
    const trace = (row: number) => {
      let drawing = false;
      places.forEach((column, k) => {
        const y = TOP + tall * (1 - column.share(row)), x = across(k, width);
        if (Number.isNaN(y)) drawing = false;
        else if (drawing) pen.lineTo(x, y);
        else { pen.moveTo(x, y); drawing = true; }
      });
    };
    const some = (wanted: number, most: number) => {
      const rows: number[] = [];
      for (let row = 0; row < count; row++) if (active[row] === wanted) rows.push(row);
      const every = rows.length / most; // grids repeat their values: a regular choice would miss some
      return every <= 1 ? rows : Array.from({ length: most }, (_, k) => rows[Math.floor((k + (k * GOLDEN) % 1) * every)]);
    };
    const lines = some(1, MOST_LINES);
    pen.lineWidth = 1;
    pen.globalAlpha = 0.35;
    pen.strokeStyle = colour("line");
    for (const row of some(0, MOST_FAINT)) { pen.beginPath(); trace(row); pen.stroke(); }
    pen.globalAlpha = Math.max(0.12, Math.min(0.8, 12 / Math.sqrt(lines.length || 1)));
    for (const row of lines) {
      pen.beginPath();
      pen.strokeStyle = colour(study.colours.value?.colour(row) ?? "accent");
      trace(row);
      pen.stroke();
    }
    pen.globalAlpha = 1;
    if (chosen !== null) for (const [ink, wide] of [["paper", 5], ["ink", 2.5]] as const) {
      pen.beginPath();
      Object.assign(pen, { strokeStyle: colour(ink), lineWidth: wide });
      trace(chosen);
      pen.stroke();
    }
    note.textContent = lines.length < study.shown ? `${lines.length.toLocaleString("en")} of ${study.shown.toLocaleString("en")} lines are drawn.` : "";
  });

  const arrange = () => {
    inner.querySelectorAll(".axis").forEach((axis) => axis.remove());
    const places = axes(), count = places.length - 1;
    inner.style.minWidth = `${2 * EDGE + APART * count}px`;
    places.forEach((column, k) => {
      const axis = tag("div", inner, { class: "axis" }), [low, high] = column.span;
      axis.style.left = `calc(${EDGE}px + (100% - ${2 * EDGE}px) * ${count ? k / count : 0.5})`;
      addBrush(axis, study, column, true);
      tag("span", axis, { class: "name", title: column.title }, column.title);
      if (!column.constant) tag("span", axis, { class: "high" }, column.label(high));
      tag("span", axis, { class: "low" }, column.label(low));
    });
    canvas.draw();
  };
  for (const column of columns) {
    const each = button(picker, column.data.name, () => {
      if (!shown.delete(column)) shown.add(column);
      each.setAttribute("aria-pressed", String(shown.has(column)));
      arrange();
    }, { "aria-pressed": String(shown.has(column)) });
  }
  tag("p", place, { class: "note" }, "Drag along an axis to keep the cases within a range; click it to remove the range.");
  arrange();
}

// What varies, then what was collected; constant columns say little.
function firstAxes(columns: Column[]): Column[] {
  const wanted = [...columns.filter(({ data }) => data.role === "varied"), ...columns.filter(({ data }) => data.role === "collected")];
  const telling = wanted.filter((column) => !column.constant);
  return (telling.length > 1 ? telling : columns).slice(0, FIRST);
}
