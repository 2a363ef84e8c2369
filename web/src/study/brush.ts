// A range of a column, drawn over its axis: dragged with a pointer or moved with keys.
import { tag } from "../nodes";
import type { Column } from "./columns";
import type { Study } from "./state";

const KEYS = "Arrow keys move the range, plus and minus widen and narrow it, Escape removes it.";
const STEP = 0.05; // of the axis, for one key

// upright: the axis grows from bottom to top rather than to the right; snap: to whole bars, whose width this is.
export function addBrush(place: HTMLElement, study: Study, column: Column, upright: boolean, snap = 0): void {
  Object.assign(place, { tabIndex: 0, role: "application", ariaLabel: `Filter by ${column.title}. ${KEYS}` });
  const mark = tag("div", place, { class: "brush", hidden: "" }), [low, high] = column.wide, size = high - low;
  let from: number | null = null;

  const at = (event: PointerEvent) => {
    const box = place.getBoundingClientRect(), share = upright ? (box.bottom - event.clientY) / box.height : (event.clientX - box.left) / box.width;
    return low + size * Math.max(0, Math.min(1, share));
  };
  const snapped = (a: number, b: number): [number, number] => {
    const [first, last] = a < b ? [a, b] : [b, a];
    return snap ? [low + snap * Math.floor((first - low) / snap + 1e-9), low + snap * Math.ceil((last - low) / snap - 1e-9)] : [first, last];
  };
  const show = () => {
    const { span } = study.filter(column);
    mark.hidden = !span;
    if (!span) return;
    const ends = span.map((end) => 100 * Math.max(0, Math.min(1, (end - low) / size)));
    const [start, length] = [`${ends[0]}%`, `${Math.max(0.5, ends[1] - ends[0])}%`];
    Object.assign(mark.style, upright ? { bottom: start, height: length, left: "0", right: "0" } : { left: start, width: length, top: "0", bottom: "0" });
  };
  place.addEventListener("pointerdown", (event) => { from = at(event); place.setPointerCapture(event.pointerId); });
  place.addEventListener("pointermove", (event) => {
    if (from !== null && Math.abs(at(event) - from) > 0.01 * size) study.setSpan(column, snapped(from, at(event)));
  });
  place.addEventListener("pointerup", (event) => {
    const to = at(event);
    if (from !== null && Math.abs(to - from) <= 0.01 * size) study.setSpan(column, snap && !study.filter(column).span ? snapped(to - 0.01 * snap, to + 0.01 * snap) : null);
    from = null;
  });
  place.addEventListener("pointercancel", () => { from = null; });
  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { span } = study.filter(column), step = snap || column.step || STEP * size;
    const [a, b] = span ? [Math.max(low, span[0]), Math.min(high, span[1])] : [low, high];
    const move = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key], grow = { "+": 1, "=": 1, "-": -1 }[event.key];
    if (event.key === "Escape") study.setSpan(column, null);
    else if (move && !span) study.setSpan(column, move > 0 ? [a + step, b] : [a, b - step]);
    else if (move) study.setSpan(column, [a + step * move, b + step * move]);
    else if (grow && b - a + 2 * step * grow > 0) study.setSpan(column, [a - step * grow, b + step * grow]);
    else return;
    event.preventDefault();
  });
  study.changed.subscribe(show);
  show();
}
