// Cases as points of two columns: a scatter with a colour, or a trade-off with its Pareto front.
import { draw, readable, tag } from "../nodes";
import { Canvas, colour } from "./canvas";
import { type Column, RAMP, rampColour } from "./columns";
import { type Sense, SOLVED } from "./data";
import { type Front, frontOf } from "./front";
import type { Study } from "./state";

const LEFT = 58, RIGHT = 14, TOP = 14, BOTTOM = 36, NEAR = 14; // px
const KEYS = "Arrow keys go to the next case to the left, right, above or below, Enter opens it, Escape removes the filters of the axes.";
const HIDDEN = "var(--line)", FAILURE = "var(--bad)", FRONT = "var(--accent)"; // colours of points
const SHAPES: [string, string][] = [["M0.5 0.1A0.4 0.4 0 1 1 0.49 0.1Z", "fill"], ["M0.15 0.15L0.85 0.85M0.85 0.15L0.15 0.85", "stroke"]];

export class Plane {
  private readonly canvas: Canvas;
  private readonly holder: HTMLElement;
  private readonly tip: HTMLElement;
  private readonly words: HTMLElement;
  private readonly key: HTMLElement;
  private axes: [Column, Column];
  private senses: [Sense, Sense] = ["min", "min"];
  private front: Front | null = null;
  private inner: [number, number] = [1, 1]; // px between the axes

  // front: whether the columns are compared; else points have colours.
  constructor(place: HTMLElement, private readonly study: Study, title: string, private readonly compares: boolean, first: [Column, Column], senses: [Sense, Sense]) {
    const figure = tag("figure", place), controls = tag("div", (tag("h2", figure, {}, title), figure), { class: "axes" });
    [this.axes, this.senses] = [first, senses];
    for (const k of [0, 1] as const) {
      columnChoice(controls, study, k ? "Vertical" : "Horizontal", this.axes[k], (column) => { this.axes[k] = column!; this.renew(); });
      if (compares) this.addSense(controls, k);
    }
    if (!compares) columnChoice(controls, study, "Colour", study.colours.value, (column) => study.colours.set(column), true);
    this.holder = tag("div", figure, { class: "plane" });
    this.canvas = new Canvas(this.holder, study, (pen, width, height) => this.paint(pen, width, height));
    this.tip = tag("div", this.holder, { class: "tip", hidden: "" });
    this.key = tag("ul", figure, { class: "key" });
    this.words = tag("p", figure, { class: "note", role: "status" });
    Object.assign(this.canvas.node, { tabIndex: 0, role: "application", ariaLabel: `${title}. ${KEYS}` });
    this.listen();
    for (const each of [study.changed, study.colours]) (each as { subscribe(listener: () => void): void }).subscribe(() => this.renew());
    study.chosen.subscribe((row) => { if (document.activeElement === this.canvas.node) this.showTip(row); });
    this.renew();
  }

  private addSense(place: HTMLElement, k: 0 | 1): void {
    const select = tag("select", place, { "aria-label": `Better end of the ${k ? "vertical" : "horizontal"} axis` });
    for (const sense of ["min", "max"]) tag("option", select, { value: sense }, sense === "min" ? "lower is better" : "higher is better");
    select.value = this.senses[k];
    select.addEventListener("change", () => { this.senses[k] = select.value as Sense; this.renew(); });
  }

  // After other columns or filters.
  private renew(): void {
    const { study, axes: [x, y] } = this;
    this.front = this.compares ? frontOf(study, x, y, this.senses) : null;
    this.key.replaceChildren();
    if (this.front) {
      const { rows, dominated, knee } = this.front, named = knee === null ? "The front has no knee." : `Knee: case ${study.data.cases[knee]} (${x.data.name} ${x.full(knee)}, ${y.data.name} ${y.full(knee)}).`;
      this.words.textContent = `${rows.length} of the solved cases shown ${rows.length === 1 ? "is" : "are"} on the front, ${dominated} ${dominated === 1 ? "is" : "are"} dominated. ${named}`;
      this.addKey(0, "var(--accent)", "on the front");
      this.addKey(1, "var(--soft)", "dominated");
    } else this.explainColours();
    this.canvas.draw();
  }

  private addKey(shape: number, ink: string, name: string): void {
    const item = tag("li", this.key), [d, kind] = SHAPES[shape];
    draw("path", draw("svg", item, { viewBox: "0 0 1 1", "aria-hidden": "true" }), { d, fill: kind === "fill" ? ink : "none", stroke: kind === "fill" ? "none" : ink, "stroke-width": 0.15 });
    item.append(name);
  }

  private explainColours(): void {
    const { study: { colours: { value: column }, data } } = this;
    if (column?.words) column.words.slice(0, 12).forEach((word, k) => this.addKey(0, `var(--c${k % 8})`, word));
    else if (column) {
      const item = tag("li", this.key, {}, readable(column.span[0])), bar = draw("svg", item, { class: "ramp", viewBox: `0 0 ${RAMP} 1`, preserveAspectRatio: "none", "aria-hidden": "true" });
      for (let k = 0; k < RAMP; k++) draw("rect", bar, { x: k, width: 1, height: 1, fill: rampColour((k + 0.5) / RAMP) });
      item.append(`${readable(column.span[1])} ${column.data.unit}`);
    }
    const { axes: [x, y] } = this, gone = (row: number) => Number.isNaN(x.numbers[row] + y.numbers[row]);
    if (data.states.some((state, row) => state !== SOLVED && !gone(row))) this.addKey(1, "var(--bad)", "no result");
    const missing = data.states.reduce((sum, _, row) => sum + Number(gone(row)), 0);
    this.words.textContent = missing ? `${missing} case${missing > 1 ? "s have" : " has"} no value on these axes.` : "";
  }


  private spot(row: number): [number, number] {
    const [width, height] = this.inner, [x, y] = this.axes;
    return [LEFT + width * x.share(row), TOP + height * (1 - y.share(row))];
  }

  private paint(pen: CanvasRenderingContext2D, width: number, height: number): void {
    this.inner = [width - LEFT - RIGHT, height - TOP - BOTTOM];
    this.paintAxes(pen, width, height);
    const { study: { active, data, chosen, count }, front } = this, size = count > 3000 ? 1.8 : count > 300 ? 2.6 : 4;
    const layers = new Map<string, number[]>([[HIDDEN, []]]); // rows by colour: what filters hide lies below
    for (let row = 0; row < count; row++) {
      const ink = active[row] ? this.inkOf(row) : HIDDEN, rows = layers.get(ink);
      if (rows) rows.push(row); else layers.set(ink, [row]);
    }
    const best = layers.get(FRONT);
    layers.delete(FRONT);
    for (const [ink, rows] of layers) {
      pen.globalAlpha = ink === HIDDEN ? 0.45 : 0.9;
      pen.fillStyle = pen.strokeStyle = colour(ink);
      marks(pen, rows.map((row) => this.spot(row)), size, ink !== HIDDEN && (front !== null || ink === FAILURE));
    }
    if (best) {
      this.paintFront(pen);
      pen.fillStyle = colour(FRONT);
      marks(pen, best.map((row) => this.spot(row)), size + 1.5, false);
    }
    pen.globalAlpha = 1;
    if (front?.knee != null) this.name(pen, front.knee, `knee: case ${data.cases[front.knee]}`);
    if (chosen.value !== null) this.ring(pen, chosen.value);
  }

  private inkOf(row: number): string {
    const { study: { data, colours }, front } = this;
    if (data.states[row] !== SOLVED) return FAILURE;
    if (front) return front.on.has(row) ? FRONT : "var(--soft)";
    return colours.value?.colour(row) ?? "var(--c0)";
  }

  private paintAxes(pen: CanvasRenderingContext2D, width: number, height: number): void {
    const [x, y] = this.axes, [across, up] = this.inner, [a, b] = [x.wide, y.wide];
    Object.assign(pen, { strokeStyle: colour("grid"), fillStyle: colour("soft"), lineWidth: 1, textAlign: "center" });
    for (const place of x.ticks(across / 90)) {
      const at = LEFT + across * (place - a[0]) / (a[1] - a[0]);
      line(pen, at, TOP, at, TOP + up);
      pen.fillText(short(x.label(place), 14), at, TOP + up + 14);
    }
    pen.textAlign = "right";
    for (const place of y.ticks(up / 45)) {
      const at = TOP + up * (1 - (place - b[0]) / (b[1] - b[0]));
      line(pen, LEFT, at, LEFT + across, at);
      pen.fillText(short(y.label(place), 8), LEFT - 6, at + 4);
    }
    pen.fillText(short(x.title, 60), LEFT + across, height - 6);
    pen.textAlign = "left";
    pen.fillText(short(y.title, 40), 6, 11);
    pen.strokeStyle = colour("line");
    pen.strokeRect(LEFT, TOP, width - LEFT - RIGHT, up);
  }

  private paintFront(pen: CanvasRenderingContext2D): void {
    pen.beginPath();
    for (const row of this.front!.rows) pen.lineTo(...this.spot(row));
    Object.assign(pen, { strokeStyle: colour("accent"), lineWidth: 1.5, globalAlpha: 0.8 });
    pen.stroke();
  }

  private name(pen: CanvasRenderingContext2D, row: number, text: string): void {
    const [x, y] = this.spot(row), left = x > pen.canvas.clientWidth / 2;
    Object.assign(pen, { fillStyle: colour("ink"), strokeStyle: colour("paper"), lineWidth: 3, textAlign: left ? "right" : "left", font: "600 12px system-ui, sans-serif" });
    const spot: [string, number, number] = [text, x + (left ? -11 : 11), y - 9];
    pen.strokeText(...spot);
    pen.fillText(...spot);
    this.circle(pen, x, y, 7, "ink");
  }

  private ring(pen: CanvasRenderingContext2D, row: number): void {
    const [x, y] = this.spot(row);
    if (Number.isNaN(x + y)) return;
    this.circle(pen, x, y, 8.5, "paper", 4);
    this.circle(pen, x, y, 8.5, "ink");
  }

  private circle(pen: CanvasRenderingContext2D, x: number, y: number, size: number, ink: string, wide = 2): void {
    pen.beginPath();
    pen.arc(x, y, size, 0, 7);
    Object.assign(pen, { strokeStyle: colour(ink), lineWidth: wide });
    pen.stroke();
  }

  // The active case nearest to a place on the screen, if one is near.
  private nearest(event: PointerEvent): number | null {
    const { left, top } = this.canvas.node.getBoundingClientRect(), [x, y] = [event.clientX - left, event.clientY - top];
    let best: number | null = null, least = NEAR ** 2;
    for (let row = 0; row < this.study.count; row++) {
      if (!this.study.active[row]) continue;
      const [u, v] = this.spot(row), far = (u - x) ** 2 + (v - y) ** 2;
      if (far < least) [least, best] = [far, row];
    }
    return best;
  }

  private showTip(row: number | null): void {
    const { tip, study, axes: [x, y] } = this;
    tip.hidden = row === null || Number.isNaN(x.numbers[row] + y.numbers[row]);
    if (tip.hidden || row === null) return;
    const [left, top] = this.spot(row), { clientWidth: width } = this.holder;
    const colours = this.compares ? null : study.colours.value;
    tip.textContent = [`case ${study.data.cases[row]}`, ...[x, y, ...(colours && colours !== x && colours !== y ? [colours] : [])].map((column) => `${column.data.name} ${column.full(row)}`)].join(" · ");
    Object.assign(tip.style, { top: `${Math.max(0, top - 40)}px`, left: "0" }); // its width is that of the text alone
    tip.style.left = `${Math.max(0, Math.min(left < width / 2 ? left : left - tip.offsetWidth, width - tip.offsetWidth))}px`;
  }

  private listen(): void {
    const { node } = this.canvas, { study, holder } = this;
    let from: [number, number] | null = null, box: HTMLElement | null = null;
    const place = (event: PointerEvent): [number, number] => { const { left, top } = node.getBoundingClientRect(); return [event.clientX - left, event.clientY - top]; };
    node.addEventListener("pointerdown", (event) => { from = place(event); node.setPointerCapture(event.pointerId); });
    node.addEventListener("pointermove", (event) => {
      if (!from) { this.showTip(this.nearest(event)); return; }
      const to = place(event), size = [0, 1].map((k) => Math.abs(to[k] - from![k]));
      if (!box && size[0] + size[1] > 8) box = tag("div", holder, { class: "box" });
      if (box) Object.assign(box.style, { left: `${Math.min(to[0], from[0])}px`, top: `${Math.min(to[1], from[1])}px`, width: `${size[0]}px`, height: `${size[1]}px` });
    });
    node.addEventListener("pointerup", (event) => {
      const to = place(event), row = this.nearest(event);
      if (box && from) this.select(from, to);
      else if (row !== null) { study.chosen.set(row); study.opened.set(row); }
      box?.remove();
      from = box = null;
    });
    node.addEventListener("pointercancel", () => { box?.remove(); from = box = null; });
    node.addEventListener("pointerleave", () => this.showTip(null));
    node.addEventListener("dblclick", () => { for (const column of this.axes) study.setSpan(column, null); });
    node.addEventListener("blur", () => this.showTip(null));
    node.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = ({ ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 1], ArrowDown: [1, -1] } as { [key: string]: [0 | 1, number] })[event.key];
      if (step) this.walk(...step);
      else if (event.key === "Enter" && study.chosen.value !== null) study.opened.set(study.chosen.value);
      else if (event.key === "Escape") for (const column of this.axes) study.setSpan(column, null);
      else return;
      event.preventDefault();
    });
  }

  // Cases within a box of the screen are the filter of both columns.
  private select(from: [number, number], to: [number, number]): void {
    const [width, height] = this.inner, shares = [[from[0], to[0]].map((x) => (x - LEFT) / width), [from[1], to[1]].map((y) => 1 - (y - TOP) / height)];
    this.axes.forEach((column, k) => {
      const [low, high] = column.wide, ends = shares[k].map((share) => low + (high - low) * share).sort((a, b) => a - b);
      this.study.setSpan(column, ends as [number, number]);
    });
  }

  private walk(axis: 0 | 1, direction: number): void {
    const { study: { active, chosen, count } } = this, [column, other] = [this.axes[axis], this.axes[1 - axis]], now = chosen.value;
    const place = (row: number) => direction * column.numbers[row];
    const past = (row: number) => now === null || Number.isNaN(place(now)) || place(row) > place(now) || (place(row) === place(now) && direction * (row - now) > 0);
    let best: number | null = null;
    for (let row = 0; row < count; row++) {
      if (!active[row] || row === now || Number.isNaN(place(row) + other.numbers[row]) || !past(row)) continue;
      if (best === null || place(row) < place(best) || (place(row) === place(best) && direction * (row - best) < 0)) best = row;
    }
    if (best !== null) chosen.set(best);
  }
}

const short = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function line(pen: CanvasRenderingContext2D, ...[a, b, c, d]: number[]): void {
  pen.beginPath();
  pen.moveTo(a, b);
  pen.lineTo(c, d);
  pen.stroke();
}

// Dots, or crosses, of one colour.
function marks(pen: CanvasRenderingContext2D, spots: [number, number][], size: number, crosses: boolean): void {
  pen.beginPath();
  pen.lineWidth = 1.2;
  for (const [x, y] of spots) {
    if (Number.isNaN(x + y)) continue;
    if (crosses) { pen.moveTo(x - size, y - size); pen.lineTo(x + size, y + size); pen.moveTo(x + size, y - size); pen.lineTo(x - size, y + size); }
    else { pen.moveTo(x + size, y); pen.arc(x, y, size, 0, 6.2832); }
  }
  if (crosses) pen.stroke(); else pen.fill();
}

// A choice among the columns that can be drawn.
export function columnChoice(place: HTMLElement, study: Study, name: string, first: Column | null, choose: (column: Column | null) => void, none = false): void {
  const select = tag("select", tag("label", place, {}, `${name} `));
  if (none) tag("option", select, { value: -1 }, "none");
  for (const column of study.drawn) tag("option", select, { value: column.index }, column.title);
  select.value = String(first?.index ?? -1);
  select.addEventListener("change", () => choose(study.columns[Number(select.value)] ?? null));
}
