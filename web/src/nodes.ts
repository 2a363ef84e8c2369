// Elements, colours and numbers as people read them.
import type { Numbers } from "./data";

const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
export type Attributes = { [name: string]: string | number };

export const find = (id: string) => document.getElementById(id);

function placed<T extends Element>(node: T, parent: Element | null, attributes: Attributes, text: string): T {
  for (const key in attributes) node.setAttribute(key, String(attributes[key]));
  node.textContent = text;
  parent?.append(node);
  return node;
}

export const tag = <K extends keyof HTMLElementTagNameMap>(name: K, parent: Element | null, attributes: Attributes = {}, text = "") =>
  placed(document.createElement(name), parent, attributes, text);

export const draw = (name: string, parent: Element | null, attributes: Attributes = {}, text = "") =>
  placed(document.createElementNS("http://www.w3.org/2000/svg", name), parent, attributes, text);

export function button(parent: Element, text: string, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const node = tag("button", parent, { type: "button", ...attributes }, text);
  node.addEventListener("click", press);
  return node;
}

export const colourOf = (joint: number) => `var(--c${joint % 8})`;
export const dashOf = (joint: number) => DASHES[Math.floor(joint / 8) % DASHES.length];
let known: { [name: string]: string } = {}; // looking them up is slow

// Paper is white.
export function setLight(on: boolean): void {
  document.documentElement.toggleAttribute("data-light", on);
  known = {};
}

// A canvas and a file know no custom properties.
export const resolved = (text: string) => text.replace(/var\((--[\w-]+)\)/g, (_, name) =>
  (known[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim()));

export const swatch = (parent: Element, look: Attributes, shape = "path") =>
  draw(shape, draw("svg", parent, { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" }), { d: "M0 5H24", "stroke-width": 3, ...look });
export const jointSwatch = (parent: Element, joint: number) => swatch(parent, { stroke: colourOf(joint), "stroke-dasharray": dashOf(joint) });

export function readable(x: number | null | undefined, digits = 4): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const size = Math.abs(x), short = size === 0 || (size < 1e5 && size >= 1e-4);
  return (short ? String(Number(x.toPrecision(digits))) : x.toExponential(digits - 2)).replace(/-/g, "\u2212");
}

// The value of a curve between its points.
export function valueAt(x: number[], y: Numbers, place: number, step = false): number | null {
  let low = 0, high = x.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] <= place) low = middle; else high = middle;
  }
  const last = y.length - 1, a = y[Math.min(low, last)], b = y[Math.min(high, last)];
  if (step || a === null || b === null) return step ? a : null;
  return a + Math.min(1, Math.max(0, (place - x[low]) / (x[high] - x[low] || 1))) * (b - a);
}

// Lets the user keep a file.
export function save(name: string, text: string, type: string): void {
  const link = tag("a", null, { download: name.replace(/[^\p{L}\d.]+/gu, "-"), href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
