"use strict";

// Nodes, numbers and the axes of charts.

const SVG = "http://www.w3.org/2000/svg";
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

const superscript = (k) => String(k).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);

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

// Powers of ten; within less than two of them also twice and five times each.
function logTicks(low, high) {
  const narrow = high - low < 2;
  const every = Math.max(1, Math.ceil((high - low) / 6));
  const ticks = [];
  for (let k = Math.floor(low - 1e-9); k <= high + 1e-9; k++) {
    if (k % every !== 0) continue;
    for (const factor of narrow ? [1, 2, 5] : [1]) {
      const place = k + Math.log10(factor);
      if (place >= low - 1e-9 && place <= high + 1e-9) ticks.push(place);
    }
  }
  return ticks;
}

// Numbers on a line of the screen, linear or by powers of ten. low and high: values, or their
// decimal logarithms.
class Axis {
  constructor(low, high, log) {
    this.low = low;
    this.high = high > low ? high : low + 1;
    this.log = log;
  }

  // Pixels of the two ends.
  span(from, to) {
    this.from = from;
    this.to = to;
  }

  raw(place) { return this.from + (place - this.low) / (this.high - this.low) * (this.to - this.from); }

  // The pixel of a value; what has no logarithm is at the low end.
  at(value) { return this.raw(this.log ? (value > 0 ? Math.log10(value) : this.low) : value); }

  value(pixel) {
    const share = Math.min(1, Math.max(0, (pixel - this.from) / (this.to - this.from)));
    const place = this.low + share * (this.high - this.low);
    return this.log ? 10 ** place : place;
  }

  ticks(count) {
    if (!this.log) return linearTicks(this.low, this.high, count).map((place) => ({ place, label: readable(Number(place.toPrecision(12)), 6) }));
    const whole = this.high - this.low >= 2;
    return logTicks(this.low, this.high).map((place) => ({ place, label: whole ? "10" + superscript(Math.round(place)) : readable(10 ** place, 3) }));
  }
}

// An axis for positive values: whole powers of ten if there are several, else with a margin.
function logAxis(low, high) {
  const [a, b] = [Math.log10(low), Math.log10(high)];
  if (b - a >= 1.5) return new Axis(Math.floor(a), Math.max(Math.ceil(b), Math.floor(a) + 2), true);
  const margin = Math.max(0.06 * (b - a), 0.04);
  return new Axis(a - margin, b + margin, true);
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

function valueAt(x, y, place, step = false) {
  const [k, share] = locate(x, place);
  if (step) return y[Math.min(k, y.length - 1)];
  const a = y[k], b = y[Math.min(k + 1, y.length - 1)];
  return a === null || b === null ? null : a + share * (b - a);
}
