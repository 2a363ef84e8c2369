// What lies on and under the curves of a chart, and whole charts, in SVG: for the page, paper and files.
import type { ChartData, Phase, Series, Span } from "./data";
import { colourOf, dashOf, draw, readable, type Attributes } from "./nodes";

export type Tick = { place: number; label: string };

// A chart as it is shown; spans and ticks of times and of values.
export interface Drawing {
  spec: ChartData; lines: Series[]; times: number[][]; phases: Phase[];
  spans: [Span, Span]; ticks: [Tick[], Tick[]];
}

// The part of a picture in which a chart draws, in pixels.
export type Plane = { width: number; height: number; x(value: number): number; y(value: number): number };

export const dashesOf = (line: Series) => (line.dashed ? "5 4" : line.step ? "" : dashOf(line.joint));
export const strokeOf = (line: Series) => (line.faint ? "var(--soft)" : colourOf(line.joint));

// Phases, of which every other is shaded, under the curves; their names, limits and marks on them.
export function adorn(under: Element, over: Element, { spec, lines, phases, spans }: Drawing, plane: Plane): void {
  phases.forEach(({ name, end }, k) => {
    const left = k ? Math.max(0, plane.x(phases[k - 1].end)) : 0, right = Math.min(plane.width, plane.x(end));
    if (phases.length < 2 || right <= left) return;
    draw("rect", under, { class: "phase", x: left, width: right - left, height: plane.height, fill: "var(--soft)", "fill-opacity": k % 2 ? 0.09 : 0 });
    if (right - left > 6 * name.length + 4) draw("text", over, { x: (left + right) / 2, y: -5, fill: "var(--soft)", "font-size": 10.5, "text-anchor": "middle" }, name);
  });
  const owners = new Map<number, Series[]>();
  for (const line of lines) for (const bound of line.limits ?? []) {
    if (bound !== null && bound >= spans[1][0] && bound <= spans[1][1]) owners.set(bound, [...(owners.get(bound) ?? []), line]);
  }
  for (const [bound, limited] of owners) { // in the colour of a series, or grey if several share it
    const stroke = limited.length > 1 ? "var(--soft)" : colourOf(limited[0].joint), path = draw("path", over, { class: "limit", d: `M0 ${plane.y(bound).toFixed(1)}H${plane.width}`, stroke, "stroke-width": 1.4, "stroke-dasharray": "2 3" });
    draw("title", path, {}, `${spec.limitName ?? "limit"} of ${limited.map((line) => line.name).join(", ")}: ${readable(bound, 6)}`);
  }
  for (const { x, joint, label } of spec.verticals ?? []) draw("title", draw("path", over, { class: "limit", d: `M${plane.x(x).toFixed(1)} 0V${plane.height}`, stroke: colourOf(joint), "stroke-dasharray": "4 3" }), {}, label);
  (spec.marks ?? []).forEach(({ x, y, label }, k) => {
    const [cx, cy] = [plane.x(x), plane.y(y)], left = cx > plane.width / 2;
    if (cx < -1 || cx > plane.width + 1) return;
    draw("circle", over, { class: "ring", cx, cy, r: 5.5, fill: "none", stroke: "var(--ink)", "stroke-width": 1.8 });
    const place = { x: cx + (left ? -10 : 10), y: cy + (k % 2 ? 17 : -8), "text-anchor": left ? "end" : "start" };
    draw("text", over, { ...place, fill: "var(--ink)", "font-size": 12 }, label);
  });
}

// Corners of a curve, in unbroken pieces; steps have two for each value.
function pieces(line: Series, x: number[], y: Series["y"], plane: Plane): string[][] {
  const found: string[][] = [[]];
  y.forEach((value, k) => {
    if (value === null) { found.push([]); return; }
    for (const i of line.step ? [k, Math.min(k + 1, x.length - 1)] : [k]) found[found.length - 1].push(`${plane.x(x[i]).toFixed(1)} ${plane.y(value).toFixed(1)}`);
  });
  return found.filter((piece) => piece.length);
}

function drawLine(parent: Element, line: Series, x: number[], plane: Plane): void {
  if (line.band) {
    const [lower, upper] = line.band.map((y) => pieces(line, x, y, plane));
    const d = lower.map((piece, k) => `M${[...piece, ...[...(upper[k] ?? [])].reverse()].join("L")}Z`).join("");
    draw("path", parent, { class: "band", d, fill: colourOf(line.joint), "fill-opacity": 0.2 });
  }
  const found = pieces(line, x, line.y, plane), pen = { fill: "none", stroke: strokeOf(line) };
  const d = line.dots ? found.flat().map((corner) => `M${corner}h0`).join("") : found.map((piece) => `M${piece.join("L")}`).join("");
  const look: Attributes = line.dots ? { class: "cloud", "stroke-width": 3, "stroke-linecap": "round", opacity: 0.6 }
    : { class: line.faint ? "curve faint" : "curve", "stroke-width": line.faint || line.thin ? 1.2 : 1.8, opacity: line.thin ? 0.45 : 1, "stroke-dasharray": dashesOf(line) };
  draw("path", parent, { ...pen, ...look, d, "stroke-linejoin": "round" });
}

// A whole chart, for paper and files.
export function drawChart(drawing: Drawing): SVGElement {
  const { spec, lines, times, spans: [across, high], ticks } = drawing, [left, top, width, height] = [58, 42, 330, 190];
  const columns = [3, 2].find((count) => lines.every(({ name }) => 6.2 * name.length + 32 < width / count)) ?? 1; // of the legend
  const size = [left + width + 14, top + height + 36 + 16 * Math.ceil(lines.length / columns)];
  const svg = draw("svg", null, { viewBox: `0 0 ${size.join(" ")}`, width: size[0], height: size[1], "font-family": "system-ui, sans-serif", "font-size": 11 });
  const share = (value: number, [low, top]: Span, log?: boolean) =>
    (log ? Math.log(Math.max(value, low / 1e3) / low) / Math.log(top / low) : (value - low) / (top - low));
  const plane: Plane = { width, height, x: (value) => width * share(value, across, spec.logX), y: (value) => height * (1 - share(value, high, spec.log)) };
  const frame = draw("g", svg, { transform: `translate(${left} ${top})`, fill: "var(--soft)" });
  ticks.forEach((axis, k) => axis.forEach(({ place, label }) => {
    const [x, y] = [plane.x(place), plane.y(place)];
    draw("path", frame, { d: k ? `M0 ${y}h${width}` : `M${x} 0v${height}`, stroke: "var(--grid)" });
    draw("text", frame, k ? { x: -6, y: y + 4, "text-anchor": "end" } : { class: "tick", x, y: height + 15, "text-anchor": "middle" }, label);
  }));
  draw("path", frame, { d: `M0 0v${height}h${width}`, fill: "none", stroke: "var(--line)" });
  draw("text", frame, { x: width, y: height + 30, "text-anchor": "end" }, spec.xLabel);
  const inner = draw("svg", frame, { width, height }), under = draw("g", inner); // cuts off what lies beyond the axes
  for (const line of lines) drawLine(inner, line, times[line.x], plane);
  adorn(under, draw("g", frame), drawing, plane);
  draw("text", frame, { y: -24, fill: "var(--ink)", "font-size": 13, "font-weight": 600 }, `${spec.title}${spec.unit ? ` [${spec.unit}]` : ""}`);
  lines.filter(({ thin }) => !thin).forEach((line, k) => {
    const x = width / columns * (k % columns), y = height + 46 + 16 * Math.floor(k / columns);
    draw("path", frame, { d: `M${x} ${y - 4}h18`, stroke: strokeOf(line), "stroke-width": 3, "stroke-dasharray": dashesOf(line) });
    draw("text", frame, { x: x + 23, y, fill: "var(--ink)" }, line.name.length > 50 ? `${line.name.slice(0, 49)}…` : line.name);
  });
  return svg;
}
