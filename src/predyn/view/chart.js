"use strict";

// Line charts in SVG. A chart redraws itself to the width it gets, so that text keeps its size.

const SVG = "http://www.w3.org/2000/svg";
const PRINTED = 380; // px of a chart on paper, two side by side
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];

function element(name, attributes = {}, parent = null, text = null) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== null) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

function tag(name, className = "", parent = null, text = null) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== null) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

const colourOf = (joint) => `var(--c${joint % 8})`;
const dashOf = (joint) => DASHES[Math.floor(joint / 8) % DASHES.length];

function swatch(joint, parent) {
  const svg = element("svg", { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" }, parent);
  element("path", { d: "M0 5H24", stroke: colourOf(joint), "stroke-width": 3, "stroke-dasharray": dashOf(joint) }, svg);
}

function readable(x, digits = 4) {
  if (x === null || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e5 || size < 1e-4 ? x.toExponential(digits - 2) : String(Number(x.toPrecision(digits)));
  return text.replace(/-/g, "\u2212");
}

function tickStep(span, count) {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.9999);
}

function linearTicks(low, high, count) {
  const step = tickStep(high - low, count);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) ticks.push(k * step);
  return ticks;
}

function logTicks(low, high) {
  const every = Math.max(1, Math.ceil((high - low) / 6));
  const ticks = [];
  for (let k = Math.ceil(low - 1e-9); k <= high + 1e-9; k++) if (k % every === 0) ticks.push(k);
  return ticks;
}

// Index k and share so that x[k] + share (x[k+1] - x[k]) is the place.
function locate(x, place) {
  let low = 0, high = x.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] <= place) low = middle; else high = middle;
  }
  const width = x[high] - x[low];
  return [low, width > 0 ? Math.min(1, Math.max(0, (place - x[low]) / width)) : 0];
}

function valueAt(x, y, place) {
  const [k, share] = locate(x, place);
  const a = y[k], b = y[Math.min(k + 1, y.length - 1)];
  return a === null || b === null ? null : a + share * (b - a);
}

class Chart {
  // spec: title, unit, x, xLabel, log, points, phases, series: [{joint, name, y, limits}]
  // seek: called with x where the pointer presses, for charts over time
  constructor(parent, spec, seek = null) {
    this.spec = spec;
    this.figure = tag("figure", "", parent);
    const caption = tag("figcaption", "", this.figure, spec.title + " ");
    if (spec.unit) tag("span", "unit", caption, `[${spec.unit}]`);
    this.svg = element("svg", { class: seek ? "chart timed" : "chart", role: "img", "aria-label": spec.title }, this.figure);
    this.legend = tag("ul", "legend", this.figure);
    this.note = tag("p", "note", this.figure);
    this.shown = spec.series;
    this.width = 0;
    if (seek) {
      const press = (event) => { if (event.buttons & 1) seek(this.placeAt(event)); };
      this.svg.addEventListener("pointerdown", press);
      this.svg.addEventListener("pointermove", press);
    }
    new ResizeObserver(() => this.fit()).observe(this.figure);
    addEventListener("beforeprint", () => { this.width = PRINTED; this.draw(); });
    addEventListener("afterprint", () => this.fit());
    this.fit();
  }

  fit() {
    const width = Math.max(260, Math.round(this.figure.clientWidth));
    if (width !== this.width) { this.width = width; this.draw(); }
  }

  show(joints) {
    this.shown = this.spec.series.filter((line) => joints.has(line.joint));
    this.figure.hidden = this.shown.length === 0;
    this.draw();
  }

  placeAt(event) {
    const box = this.svg.getBoundingClientRect();
    const pixel = (event.clientX - box.left) / box.width * this.width;
    const [low, high] = this.xRange;
    return low + Math.min(1, Math.max(0, (pixel - this.left) / (this.right - this.left))) * (high - low);
  }

  // Range of the values; limits join in unless they would squeeze the curves.
  range() {
    let low = Infinity, high = -Infinity;
    for (const line of this.shown) for (const y of line.y) {
      if (y === null || (this.spec.log && y <= 0)) continue;
      low = Math.min(low, y); high = Math.max(high, y);
    }
    if (low > high) return { low: 0, high: 1, far: [] };
    if (this.spec.log) return { low: Math.floor(Math.log10(low)), high: Math.max(Math.ceil(Math.log10(high)), Math.floor(Math.log10(low)) + 1), far: [] };
    const span = high - low || Math.abs(high) || 1;
    const room = [low - span, high + span];
    const far = [];
    for (const line of this.shown) {
      const outside = (bound) => bound !== null && (bound < room[0] || bound > room[1]);
      for (const bound of line.limits || []) {
        if (bound === null || outside(bound)) continue;
        low = Math.min(low, bound);
        high = Math.max(high, bound);
      }
      const limits = (line.limits || []).map((bound) => (outside(bound) ? bound : null));
      if (limits.some((bound) => bound !== null)) far.push({ name: line.name, limits });
    }
    const margin = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1;
    return { low: low - margin, high: high + margin, far };
  }

  draw() {
    const { spec, svg, width } = this;
    const height = 230;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const { low, high, far } = this.range();
    const ticks = spec.log ? logTicks(low, high) : linearTicks(low, high, 5);
    const labels = ticks.map((y) => spec.log ? "10" + superscript(y) : readable(Number(y.toPrecision(12)), 6));
    this.left = 14 + 6.6 * Math.max(3, ...labels.map((label) => label.length));
    this.right = width - 12;
    const top = 8, bottom = height - 34;
    const x0 = spec.x[0], x1 = spec.x[spec.x.length - 1];
    this.xRange = [x0, x1 > x0 ? x1 : x0 + 1];
    const px = (x) => this.left + (x - x0) / (this.xRange[1] - x0) * (this.right - this.left);
    const py = (y) => {
      const place = spec.log ? (y > 0 ? Math.log10(y) : low) : y;
      return bottom - (place - low) / (high - low) * (bottom - top);
    };
    const tickY = (y) => bottom - (y - low) / (high - low) * (bottom - top);
    ticks.forEach((y, k) => {
      element("path", { class: y === 0 && !spec.log ? "zero" : "rule", d: `M${this.left} ${tickY(y)}H${this.right}` }, svg);
      element("text", { class: "end", x: this.left - 6, y: tickY(y) + 4 }, svg, labels[k]);
    });
    for (const x of linearTicks(x0, this.xRange[1], Math.max(3, Math.min(8, width / 90)))) {
      element("path", { class: "rule", d: `M${px(x)} ${top}V${bottom + 4}` }, svg);
      element("text", { class: "mid", x: px(x), y: bottom + 16 }, svg, readable(Number(x.toPrecision(12)), 6));
    }
    element("text", { class: "end", x: this.right, y: height - 4 }, svg, spec.xLabel);
    for (const phase of (spec.phases || []).slice(0, -1)) {
      const line = element("path", { class: "phase", d: `M${px(phase.end)} ${top}V${bottom}` }, svg);
      element("title", {}, line, `end of ${phase.name}`);
    }
    element("path", { class: "frame", d: `M${this.left} ${top}V${bottom}H${this.right}` }, svg);
    this.drawLimits(tickY, low, high);
    for (const line of this.shown) {
      let path = "", pen = "M";
      line.y.forEach((y, k) => {
        if (y === null) { pen = "M"; return; }
        path += `${pen}${px(spec.x[k]).toFixed(1)} ${py(y).toFixed(1)}`;
        pen = "L";
      });
      element("path", { class: "curve", d: path, stroke: colourOf(line.joint), "stroke-dasharray": dashOf(line.joint) }, svg);
      if (spec.points) line.y.forEach((y, k) => {
        if (y !== null) element("circle", { class: "dot", cx: px(spec.x[k]), cy: py(y), r: 2 }, svg);
      });
    }
    this.px = px;
    this.cursor = spec.phases ? element("line", { class: "cursor", y1: top, y2: bottom }, svg) : null;
    this.note.textContent = far.length ? `Limits beyond the axis: ${limitTexts(far)}` : "";
    this.drawLegend();
    if (this.time !== undefined) this.mark(this.time);
  }

  // One line per distinct limit: in the joint's colour, or in ink if several joints share it.
  drawLimits(tickY, low, high) {
    const owners = new Map();
    for (const line of this.shown) for (const bound of line.limits || []) {
      if (bound === null || bound < low || bound > high) continue;
      if (!owners.has(bound)) owners.set(bound, new Set());
      owners.get(bound).add(line);
    }
    for (const [bound, lines] of owners) {
      const colour = lines.size > 1 ? "var(--soft)" : colourOf([...lines][0].joint);
      const path = element("path", { class: "limit", d: `M${this.left} ${tickY(bound)}H${this.right}`, stroke: colour }, this.svg);
      element("title", {}, path, `limit of ${[...lines].map((line) => line.name).join(", ")}: ${readable(bound, 6)}`);
    }
    this.limited = owners.size > 0;
  }

  drawLegend() {
    this.legend.replaceChildren();
    this.values = [];
    if (!this.spec.phases) return;
    for (const line of this.shown) {
      const item = tag("li", "", this.legend);
      swatch(line.joint, item);
      item.append(line.name + " ");
      this.values.push(tag("b", "", item));
    }
    if (this.limited) {
      const item = tag("li", "", this.legend);
      const svg = element("svg", { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" }, item);
      element("path", { d: "M0 5H24", stroke: "var(--soft)", "stroke-width": 2, "stroke-dasharray": "2 3" }, svg);
      item.append("limit");
    }
  }

  mark(time) {
    this.time = time;
    if (!this.cursor || this.figure.hidden) return;
    const x = this.px(time).toFixed(1);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.shown.forEach((line, k) => { this.values[k].textContent = readable(valueAt(this.spec.x, line.y, time), 4); });
  }
}

const superscript = (k) => String(k).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);

// "j1, j2 ±170; j3 −10 to 40": joints with equal limits together.
function limitTexts(lines) {
  const groups = new Map();
  for (const { name, limits } of lines) {
    const text = limitText(limits);
    groups.set(text, [...(groups.get(text) || []), name]);
  }
  const texts = [...groups].map(([text, names]) => `${names.length === lines.length && lines.length > 1 ? "all" : names.join(", ")} ${text}`);
  return texts.slice(0, 5).join("; ") + (texts.length > 5 ? "; …" : "");
}

function limitText([low, high]) {
  if (low === null) return readable(high);
  if (high === null) return readable(low);
  return low === -high ? `±${readable(high)}` : `${readable(low)} and ${readable(high)}`;
}
