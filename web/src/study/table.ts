// The table of all cases that are shown; only the rows on the screen are in the document.
import { button, tag } from "../nodes";
import type { Column } from "./columns";
import { SOLVED } from "./data";
import type { Study } from "./state";

const ROW = 28, MARGIN = 8, SCROLLBAR = 20; // px, as in study.css; rows above and below the screen; px
const KEYS = "Arrow keys choose a case, Enter opens it.";

export function showTable(place: HTMLElement, study: Study): void {
  if (!study.count) return;
  place.hidden = false;
  const bar = tag("div", place, { class: "bar" });
  tag("h2", bar, {}, "Cases");
  const grid = tag("div", place, { class: "grid", tabindex: 0, role: "application", "aria-label": `Table of cases. ${KEYS}` });
  const table = tag("table", grid, { role: "grid" }), head = tag("thead", table), body = tag("tbody", table);
  grid.style.height = `min(30rem, ${ROW * (study.count + 2) + SCROLLBAR}px)`;
  const titles = tag("tr", head), fields = tag("tr", head), { cases, states } = study.data;
  let order: number[] = [], sorting: Column | null = null, down = false;

  const widths = [80, ...study.columns.map(widthOf)];
  table.style.width = `${widths.reduce((sum, one) => sum + one, 0)}px`;
  const sorters: [HTMLElement, Column | null][] = [null, ...study.columns].map((column, k) => {
    const cell = tag("th", titles, { scope: "col", class: column && !column.words ? "n" : "", title: column?.title ?? "Case" });
    cell.style.width = `${widths[k]}px`;
    button(cell, column?.title ?? "Case", () => { [sorting, down] = [column, sorting === column && !down]; sort(); });
    const field = tag("th", fields);
    if (column) addField(field, study, column);
    return [cell, column];
  });
  const head2 = () => head.offsetHeight;

  const sort = () => {
    order = cases.flatMap((_, row) => (study.active[row] ? [row] : []));
    if (sorting) {
      const { numbers } = sorting, sign = down ? -1 : 1;
      order.sort((a, b) => {
        const [x, y] = [numbers[a], numbers[b]];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b; // missing ones last
        return sign * (x - y) || a - b;
      });
    } else if (down) order.reverse();
    for (const [cell, column] of sorters) {
      cell.setAttribute("aria-sort", column !== sorting ? "none" : down ? "descending" : "ascending");
      cell.querySelector("button")!.textContent = `${column?.title ?? "Case"}${column === sorting ? (down ? " ↓" : " ↑") : ""}`;
    }
    table.setAttribute("aria-rowcount", String(order.length + 2));
    show();
  };
  const space = (rows: number) => {
    const cell = tag("td", tag("tr", body, { class: "space", "aria-hidden": "true" }), { colspan: widths.length });
    cell.style.height = `${ROW * rows}px`;
  };
  const show = () => {
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - MARGIN), last = Math.min(order.length, Math.ceil((grid.scrollTop + grid.clientHeight) / ROW) + MARGIN);
    body.replaceChildren();
    space(Math.min(first, order.length));
    for (let at = first; at < last; at++) {
      const row = order[at], line = tag("tr", body, { "data-row": row, "aria-rowindex": at + 3, "aria-selected": String(row === study.chosen.value), class: states[row] === SOLVED ? "" : "bad-row" });
      tag("td", line, {}, `${cases[row]}${study.motion(row) ? " ▶" : ""}`);
      for (const column of study.columns) {
        const text = column.text(row);
        tag("td", line, { class: column.words ? "" : "n", title: text }, text);
      }
    }
    space(Math.max(0, order.length - last));
  };
  const reveal = () => {
    const at = order.indexOf(study.chosen.value ?? -1), top = at * ROW, tall = grid.clientHeight - head2() - ROW;
    if (at >= 0 && (top < grid.scrollTop || top > grid.scrollTop + tall)) grid.scrollTop = Math.max(0, top - tall / 2);
    show();
  };
  let pending = 0;
  grid.addEventListener("scroll", () => { pending ||= requestAnimationFrame(() => { pending = 0; show(); }); });
  body.addEventListener("click", (event) => {
    const line = (event.target as Element).closest<HTMLElement>("[data-row]");
    if (!line) return;
    study.chosen.set(Number(line.dataset.row));
    study.opened.set(Number(line.dataset.row));
  });
  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.floor(grid.clientHeight / ROW) - 3, at = order.indexOf(study.chosen.value ?? -1);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: order.length - 1 }[event.key];
    if (to !== undefined && order.length) study.chosen.set(order[Math.max(0, Math.min(order.length - 1, to))]);
    else if (event.key === "Enter" && study.chosen.value !== null) study.opened.set(study.chosen.value);
    else return;
    event.preventDefault();
  });
  study.changed.subscribe(() => { grid.scrollTop = 0; sort(); });
  study.chosen.subscribe(reveal);
  new ResizeObserver(show).observe(grid);
  sort();
}

// A range for numbers ("1..5", ">2", "<= 3", "4"), a part of words for texts.
function addField(place: HTMLElement, study: Study, column: Column): void {
  const hint = column.words ? "contains" : "from..to", field = tag("input", place, { type: "text", placeholder: hint, "aria-label": `Filter ${column.title}`, title: column.words ? "Part of the text" : "1..5, >2, <3 or 4" });
  field.addEventListener("input", () => {
    if (column.words) { study.setText(column, field.value.trim()); return; }
    const span = spanOf(field.value, column);
    field.setCustomValidity(span === undefined ? "Expected a range such as 1..5, >2, <3 or 4" : "");
    if (span !== undefined) study.setSpan(column, span);
  });
  study.changed.subscribe(() => {
    if (document.activeElement === field) return;
    const { span, text = "" } = study.filter(column), end = (value: number) => (Number.isFinite(value) ? String(Number(value.toPrecision(5))) : "");
    field.value = column.words ? text : span ? (span[0] === -Infinity ? `<${end(span[1])}` : span[1] === Infinity ? `>${end(span[0])}` : `${end(span[0])}..${end(span[1])}`) : "";
    field.setCustomValidity("");
  });
}

// null: no filter; undefined: not understood.
export function spanOf(text: string, column: Column): [number, number] | null | undefined {
  const given = text.trim().replace(/\u2212/g, "-");
  if (!given) return null;
  const number = "([-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[-+]?\\d+)?)", match = (pattern: string) => new RegExp(`^${pattern}$`, "i").exec(given);
  const [range, above, below, equal] = [match(`${number}\\s*(?:\\.\\.|to|:)\\s*${number}`), match(`>=?\\s*${number}`), match(`<=?\\s*${number}`), match(`=?\\s*${number}`)];
  if (range) return [Number(range[1]), Number(range[2])];
  if (above) return [Number(above[1]), Infinity];
  if (below) return [-Infinity, Number(below[1])];
  if (!equal) return undefined;
  const value = Number(equal[1]), slack = 1e-6 * Math.max(Math.abs(value), 1e-3 * (column.span[1] - column.span[0]));
  return [value - slack, value + slack];
}

function widthOf(column: Column): number {
  const every = Math.max(1, Math.floor(column.numbers.length / 200));
  let most = column.title.length + 2;
  for (let row = 0; row < column.numbers.length; row += every) most = Math.max(most, column.text(row).length);
  return Math.max(96, Math.min(320, 22 + 7.4 * most));
}
