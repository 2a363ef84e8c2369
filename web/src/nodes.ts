// Elements, colours and numbers as people read them.
import type { Numbers } from "./data";

const SVG = "http://www.w3.org/2000/svg";
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
type Attributes = { [name: string]: string | number };

export const find = (id: string) => document.getElementById(id);

export function tag<K extends keyof HTMLElementTagNameMap>(
  name: K, parent: Element | null, attributes: Attributes = {}, text = "",
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, String(attributes[key]));
  node.textContent = text;
  parent?.append(node);
  return node;
}

export function draw(name: string, parent: Element | null, attributes: Attributes = {}, text = ""): SVGElement {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, String(attributes[key]));
  node.textContent = text;
  parent?.append(node);
  return node;
}

export function button(parent: Element, text: string, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const node = tag("button", parent, { type: "button", ...attributes }, text);
  node.addEventListener("click", press);
  return node;
}

export const colourOf = (joint: number) => `var(--c${joint % 8})`;
export const dashOf = (joint: number) => DASHES[Math.floor(joint / 8) % DASHES.length];
const light = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// A canvas and a file know no custom properties.
export const resolved = (text: string) => text.replace(/var\((--[\w-]+)\)/g, (_, name) => light(name));

export function swatch(parent: Element, joint: number, dashes = dashOf(joint)): SVGElement {
  const svg = draw("svg", parent, { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" });
  draw("path", svg, { d: "M0 5H24", stroke: colourOf(joint), "stroke-width": 3, "stroke-dasharray": dashes });
  return svg;
}

export function readable(x: number | null | undefined, digits = 4): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e5 || size < 1e-4 ? x.toExponential(digits - 2) : String(Number(x.toPrecision(digits)));
  return text.replace(/-/g, "\u2212");
}

const superscript = (k: number) => String(k).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);

// The label of a tick; powers of ten on logarithmic axes.
export function tickLabel(x: number | null, log: boolean): string {
  if (x === null) return "";
  const power = Math.log10(x);
  return log && Math.abs(power - Math.round(power)) < 1e-9 ? `10${superscript(Math.round(power))}` : readable(x, 7);
}

// The value of a curve between its points.
export function valueAt(x: number[], y: Numbers, place: number, step = false): number | null {
  let low = 0, high = x.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] <= place) low = middle; else high = middle;
  }
  const last = y.length - 1, a = y[Math.min(low, last)], b = y[Math.min(high, last)];
  if (step) return a;
  if (a === null || b === null) return null;
  const width = x[high] - x[low];
  return a + (width > 0 ? Math.min(1, Math.max(0, (place - x[low]) / width)) : 0) * (b - a);
}

// Lets the user keep a file.
export function save(name: string, text: string, type: string): void {
  const link = tag("a", null, { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
