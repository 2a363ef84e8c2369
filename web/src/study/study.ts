// Starts the page of a study: all that it shows is in its element "data", motions beside it.
import "./study.css";
import { button, find, save, setLight, tag } from "../nodes";
import { showDistributions } from "./bars";
import type { Column } from "./columns";
import type { Sense, StudyData } from "./data";
import { showDetails } from "./details";
import { showMultiples } from "./multiples";
import { showParallel } from "./parallel";
import { Plane } from "./plane";
import { filterText, Study } from "./state";
import { showTable } from "./table";

function showPlanes(place: HTMLElement, study: Study): void {
  const { drawn, data: { pareto } } = study, telling = drawn.filter((column) => !column.constant && column.data.role !== "status");
  if (drawn.length < 2) return;
  place.hidden = false;
  const compared = (pareto ?? []).map(([k]) => study.columns[k]).filter((column) => column.drawable) as [Column, Column];
  if (compared.length === 2) new Plane(tag("div", place), study, "Trade-off", true, compared, pareto!.map(([, sense]) => sense) as [Sense, Sense]);
  const varied = telling.filter(({ data }) => data.role === "varied"), collected = telling.filter(({ data }) => data.role === "collected");
  const order = [...new Set([varied[0], collected[0], varied[1], ...telling, ...drawn].filter(Boolean))];
  study.colours.value = varied[1] ?? collected[1] ?? null;
  new Plane(tag("div", place), study, "Scatter", false, [order[0], order[1]], ["min", "min"]);
}

// What is shown, and the way back to everything.
function showFilters(place: HTMLElement, study: Study): void {
  place.hidden = !study.count;
  const words = tag("output", place, { id: "count" }), filters = tag("span", place, { class: "filters" }), end = tag("div", place, { class: "end" });
  const clear = button(end, "Show all", () => study.clear(), { id: "all" });
  button(end, "CSV", () => save("cases.csv", csvOf(study), "text/csv"), { title: "Save the cases shown as a table" });
  const show = () => {
    words.textContent = `${study.shown.toLocaleString("en")} of ${study.count.toLocaleString("en")} cases shown`;
    filters.replaceChildren();
    for (const [column, filter] of study.filtered) button(filters, filterText(column, filter), () => study.drop(column), { class: "filter", title: "Remove this filter" });
    if (study.reason !== null) button(filters, "without a result, for one reason", () => study.setReason(null), { class: "filter", title: "Remove this filter" });
    clear.disabled = study.shown === study.count;
  };
  study.changed.subscribe(show);
  show();
}

function csvOf({ data, columns, active }: Study): string {
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const lines = [["case", ...columns.map(({ title }) => title)].map(quoted)];
  data.cases.forEach((number, row) => {
    if (active[row]) lines.push([String(number), ...columns.map((column) => (column.words ? quoted(column.text(row)) : String(data.columns[column.index].values[row] ?? "")))]);
  });
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

function showReasons(study: Study): void {
  document.querySelectorAll<HTMLElement>("[data-reason]").forEach((cell) => {
    button(cell, "Show", () => { study.setReason(Number(cell.dataset.reason)); find("shown")!.scrollIntoView(); }, { "aria-label": "Show these cases alone" });
  });
}

function start(data: StudyData): void {
  const study = new Study(data), repaint = () => { setLight(false); study.paint.set(null); };
  showFilters(find("shown")!, study);
  showPlanes(find("planes")!, study);
  showParallel(find("parallel")!, study);
  showDistributions(find("distributions")!, study);
  showMultiples(find("multiples")!, study);
  showTable(find("table")!, study);
  showReasons(study);
  showDetails(study);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
}

start(JSON.parse(find("data")!.textContent!));
