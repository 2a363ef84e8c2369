// Distributions: how many of all cases, and of those shown, have values in each part of a column.
import { draw, tag } from "../nodes";
import { addBrush } from "./brush";
import type { Column } from "./columns";
import type { Study } from "./state";

const BARS = 24, MOST = 24; // bars of a distribution; distributions that are there at first

export function showDistributions(place: HTMLElement, study: Study): void {
  const columns = study.drawn.filter(({ data }) => data.name !== "message");
  if (!columns.length) return;
  place.hidden = false;
  tag("h2", place, {}, "Distributions");
  const grid = tag("div", place, { class: "bars" });
  for (const column of columns.slice(0, MOST)) addBars(grid, study, column);
  if (columns.length > MOST) {
    const more = tag("details", place);
    tag("summary", more, {}, `${columns.length - MOST} more`);
    more.addEventListener("toggle", () => {
      const rest = tag("div", more, { class: "bars" });
      for (const column of columns.slice(MOST)) addBars(rest, study, column);
    }, { once: true });
  }
  tag("p", place, { class: "note" }, "Grey: all cases; colour: the cases shown. Drag over bars to filter, click to remove the filter.");
}

function addBars(place: HTMLElement, study: Study, column: Column): void {
  const figure = tag("figure", place), caption = tag("figcaption", figure, { title: column.title }, column.title);
  const plot = tag("div", figure, { class: "plot" }), ends = tag("div", figure, { class: "ends" });
  const [low, high] = column.wide, count = column.step ? Math.round((high - low) / column.step) : column.constant ? 1 : BARS, size = (high - low) / count;
  const svg = draw("svg", plot, { viewBox: `0 0 ${count} 1`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const bars = ["all", "some"].map((name) => draw("path", svg, { class: name }));
  const words = column.words ? spelled(column.words) : column.constant ? ["", `all ${column.label(column.span[0])}`, ""] : [column.label(column.span[0]), column.label(column.span[1])];
  for (const word of words) tag("span", ends, {}, word);
  addBrush(plot, study, column, false, size);

  const tally = (active: Uint8Array | null) => {
    const found = new Array<number>(count).fill(0);
    column.numbers.forEach((value, row) => {
      if (!Number.isNaN(value) && (!active || active[row])) found[Math.min(count - 1, Math.max(0, Math.floor((value - low) / size + 1e-9)))]++;
    });
    return found;
  };
  const all = tally(null), most = Math.max(...all), path = (tallies: number[]) =>
    tallies.map((one, k) => (one ? `M${k + 0.06} 1V${(1 - Math.max(0.012, one / most)).toFixed(4)}h0.88V1Z` : "")).join("");
  const show = () => {
    const some = tally(study.active);
    bars[1].setAttribute("d", path(some));
    plot.title = column.words ? column.words.slice(0, 12).map((word, k) => `${word}: ${some[k]} of ${all[k]}`).join("\n") : "";
    caption.dataset.shown = String(some.reduce((sum, one) => sum + one, 0));
  };
  bars[0].setAttribute("d", path(all));
  study.changed.subscribe(show);
  show();
}

// All words if there is space for them.
function spelled(words: string[]): string[] {
  return words.length <= 4 && words.join("").length < 32 ? words : [words[0], `${words.length} values`, words[words.length - 1]];
}
