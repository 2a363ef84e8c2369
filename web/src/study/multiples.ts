// Small multiples: the curves of the motions that are shown, on common axes; a click opens one.
import { button, colourOf, dashOf, draw, jointSwatch, readable, tag } from "../nodes";
import { motionOf } from "./data";
import type { Study } from "./state";

const PER_PAGE = 12, MOST_NAMED = 16;

export function showMultiples(place: HTMLElement, study: Study): void {
  const { curves, cases } = study.data;
  if (!curves.length) return;
  place.hidden = false;
  const bar = tag("div", place, { class: "bar" }), grid = tag("div", place, { class: "multiples" });
  const key = tag("ul", place, { class: "key" });
  tag("h2", bar, {}, "Curves");
  const controls = tag("div", bar, { class: "tools" }), select = tag("select", controls, { "aria-label": "Quantity" });
  curves.forEach(({ title, unit }, k) => tag("option", select, { value: k }, unit ? `${title} [${unit}]` : title));
  const before = button(controls, "‹ Previous", () => turn(-1)), where = tag("output", controls), after = button(controls, "Next ›", () => turn(1));
  const note = tag("p", place, { class: "note" });
  let page = 0, version = 0;

  const turn = (by: number) => { page += by; show(); };
  const show = async () => {
    const rows = cases.flatMap((_, row) => (study.active[row] && study.motion(row) ? [row] : [])), last = Math.max(0, Math.ceil(rows.length / PER_PAGE) - 1);
    page = Math.max(0, Math.min(last, page));
    [before.disabled, after.disabled] = [page === 0, page === last];
    const some = rows.slice(PER_PAGE * page, PER_PAGE * (page + 1)), spec = curves[Number(select.value)], mine = ++version;
    where.textContent = rows.length ? `${PER_PAGE * page + 1} to ${PER_PAGE * page + some.length} of ${rows.length}` : "none";
    const high = spec.high > spec.low ? spec.high : spec.low + 1;
    note.textContent = rows.length ? `All plots have the same axes: ${readable(spec.low)} to ${readable(spec.high)} ${spec.unit}, 0 to ${readable(spec.end)} s.` : "None of the cases shown has a motion in this page.";
    const motions = await Promise.all(some.map(motionOf));
    if (mine !== version) return;
    grid.replaceChildren();
    showKey(key, motions[0]?.charts.charts?.find(({ title, unit }) => title === spec.title && unit === spec.unit)?.series ?? []);
    motions.forEach((motion, k) => {
      const row = some[k], each = button(grid, `case ${cases[row]}`, () => { study.chosen.set(row); study.opened.set(row); }, { "data-row": row });
      const svg = draw("svg", each, { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
      const up = (value: number) => 98 - 96 * (value - spec.low) / (high - spec.low);
      if (spec.low < 0 && spec.high > 0) draw("path", svg, { class: "rule", d: `M0 ${up(0)}H100` });
      for (const line of motion.charts.charts?.find(({ title, unit }) => title === spec.title && unit === spec.unit)?.series ?? []) {
        let pen = "M";
        const d = line.y.map((value, i) => {
          if (value === null) { pen = "M"; return ""; }
          const corner = `${pen}${(100 * motion.times[line.x][i] / (spec.end || 1)).toFixed(1)} ${up(value).toFixed(1)}`;
          pen = "L";
          return corner;
        }).join("");
        draw("path", svg, { d, stroke: colourOf(line.joint), "stroke-dasharray": dashOf(line.joint) });
      }
    });
    mark();
  };
  const mark = () => grid.querySelectorAll<HTMLElement>("[data-row]").forEach((each) => each.setAttribute("aria-current", String(Number(each.dataset.row) === study.chosen.value)));
  select.addEventListener("change", show);
  study.changed.subscribe(() => { page = 0; show(); });
  study.chosen.subscribe(mark);
  show();
}

// Which line is which; many joints are named by the motion that a click opens.
function showKey(place: HTMLElement, series: { name: string; joint: number }[]): void {
  place.replaceChildren();
  for (const { name, joint } of series.length <= MOST_NAMED ? series : []) {
    const item = tag("li", place);
    jointSwatch(item, joint);
    item.append(name);
  }
}
