// What lies on and under the curves of a chart, and whole charts, in SVG: for the page, paper and files.
import type { Bounds, ChartData, Phase, Series, Span } from "./data";
import { colourOf, dashOf, draw, readable } from "./nodes";

// The part of a picture in which a chart draws, in pixels.
export interface Plane {
  width: number;
  height: number;
  x(value: number): number;
  y(value: number): number;
  high: Span; // lowest and highest value
}

export interface Tick {
  place: number;
  label: string;
}

export const dashesOf = (line: Series) => (line.dashed ? "5 4" : line.step ? "" : dashOf(line.joint));
export const strokeOf = (line: Series) => (line.faint ? "var(--soft)" : colourOf(line.joint));

// Every other phase is shaded; names stand above where there is room.
export function drawPhases(under: Element, over: Element, phases: Phase[], plane: Plane): void {
  if (phases.length < 2) return;
  phases.forEach(({ name, end }, k) => {
    const left = k ? Math.max(0, plane.x(phases[k - 1].end)) : 0, right = Math.min(plane.width, plane.x(end));
    if (right <= left) return;
    const shade = { class: "phase", x: left, width: right - left, height: plane.height, fill: "var(--soft)", "fill-opacity": k % 2 ? 0.09 : 0 };
    draw("title", draw("rect", under, shade), {}, name);
    if (right - left > 6 * name.length + 4) draw("text", over, { x: (left + right) / 2, y: -5, fill: "var(--soft)", "font-size": 10.5, "text-anchor": "middle" }, name);
  });
}

// One line for each limit: in the colour of its series, or in ink if several share it.
export function drawLimits(parent: Element, lines: Series[], spec: ChartData, plane: Plane): boolean {
  const owners = new Map<number, Series[]>();
  for (const line of lines) for (const bound of line.limits ?? []) {
    if (bound !== null && bound >= plane.high[0] && bound <= plane.high[1]) owners.set(bound, [...(owners.get(bound) ?? []), line]);
  }
  for (const [bound, of] of owners) {
    const stroke = of.length > 1 ? "var(--soft)" : colourOf(of[0].joint);
    const path = draw("path", parent, { class: "limit", d: `M0 ${plane.y(bound).toFixed(1)}H${plane.width}`, stroke, "stroke-width": 1.4, "stroke-dasharray": "2 3" });
    draw("title", path, {}, `${spec.limitName ?? "limit"} of ${of.map((line) => line.name).join(", ")}: ${readable(bound, 6)}`);
  }
  return owners.size > 0;
}

// A ring and its label; neighbouring marks have theirs apart.
export function drawMarks(parent: Element, spec: ChartData, plane: Plane): void {
  (spec.marks ?? []).forEach(({ x, y, label }, k) => {
    const [cx, cy] = [plane.x(x), plane.y(y)], left = cx > plane.width / 2;
    draw("circle", parent, { class: "ring", cx, cy, r: 5.5, fill: "none", stroke: "var(--ink)", "stroke-width": 1.8 });
    const place = { x: cx + (left ? -10 : 10), y: cy + (k % 2 ? 17 : -8), "text-anchor": left ? "end" : "start" };
    draw("text", parent, { ...place, fill: "var(--ink)", "font-size": 12 }, label);
  });
}

// Corners of a curve, in unbroken pieces; steps have two for each value.
function pieces(line: Series, x: number[], y: Series["y"], plane: Plane): string[][] {
  const found: string[][] = [[]];
  y.forEach((value, k) => {
    if (value === null) { found.push([]); return; }
    const height = plane.y(value).toFixed(1);
    found[found.length - 1].push(`${plane.x(x[k]).toFixed(1)} ${height}`);
    if (line.step && k + 1 < x.length) found[found.length - 1].push(`${plane.x(x[k + 1]).toFixed(1)} ${height}`);
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
  if (line.dots) {
    draw("path", parent, { ...pen, class: "cloud", d: found.flat().map((corner) => `M${corner}h0`).join(""), "stroke-width": 3, "stroke-linecap": "round", opacity: 0.6 });
    return;
  }
  const d = found.map((piece) => `M${piece.join("L")}`).join("");
  draw("path", parent, { ...pen, class: line.faint ? "curve faint" : "curve", d, "stroke-width": line.faint ? 1.2 : 1.8, "stroke-dasharray": dashesOf(line), "stroke-linejoin": "round" });
}

export interface Drawing {
  spec: ChartData;
  lines: Series[];
  times: number[][];
  phases: Phase[];
  spans: [Span, Span];
  ticks: [Tick[], Tick[]];
}

// A whole chart, for paper and files. titled: with what stands around it on the page.
export function drawChart({ spec, lines, times, phases, spans: [across, high], ticks }: Drawing, titled: boolean): SVGElement {
  const [left, top, width, height] = [58, (titled ? 30 : 8) + (phases.length > 1 ? 12 : 0), 330, 190];
  const rows = titled ? Math.ceil(lines.length / 3) : 0;
  const size = [left + width + 14, top + height + 36 + 16 * rows];
  const svg = draw("svg", null, { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${size.join(" ")}`, width: size[0], height: size[1], "font-family": "system-ui, sans-serif", "font-size": 11 });
  const share = (value: number, [low, top]: Span, log?: boolean) => (log
    ? Math.log(Math.max(value, low / 1e3) / low) / Math.log(top / low) : (value - low) / (top - low));
  const plane: Plane = {
    width, height, high,
    x: (value) => width * share(value, across, spec.logX),
    y: (value) => height * (1 - share(value, high, spec.log)),
  };
  const inner = draw("svg", null, { x: left, y: top, width, height, viewBox: `0 0 ${width} ${height}` });
  const soft = { fill: "var(--soft)" };
  for (const { place, label } of ticks[0]) {
    const x = left + plane.x(place);
    draw("path", svg, { d: `M${x} ${top}v${height}`, stroke: "var(--grid)" });
    draw("text", svg, { ...soft, x, y: top + height + 15, "text-anchor": "middle" }, label);
  }
  for (const { place, label } of ticks[1]) {
    const y = top + plane.y(place);
    draw("path", svg, { d: `M${left} ${y}h${width}`, stroke: "var(--grid)" });
    draw("text", svg, { ...soft, x: left - 6, y: y + 4, "text-anchor": "end" }, label);
  }
  draw("path", svg, { d: `M${left} ${top}v${height}h${width}`, fill: "none", stroke: "var(--line)" });
  draw("text", svg, { ...soft, x: left + width, y: top + height + 31, "text-anchor": "end" }, spec.xLabel);
  const over = draw("g", null, { transform: `translate(${left} ${top})` }); // is not cut off at the axes
  drawPhases(inner, over, phases, plane);
  for (const line of lines) drawLine(inner, line, times[line.x], plane);
  drawLimits(inner, lines, spec, plane);
  drawMarks(over, spec, plane);
  svg.append(inner, over);
  if (titled) {
    draw("text", svg, { x: left, y: 18, fill: "var(--ink)", "font-size": 13, "font-weight": 600 }, `${spec.title}${spec.unit ? ` [${spec.unit}]` : ""}`);
    lines.forEach((line, k) => {
      const x = left + 115 * (k % 3), y = top + height + 46 + 16 * Math.floor(k / 3);
      draw("path", svg, { d: `M${x} ${y - 4}h18`, stroke: strokeOf(line), "stroke-width": 3, "stroke-dasharray": dashesOf(line) });
      draw("text", svg, { x: x + 23, y, fill: "var(--ink)" }, line.name.slice(0, 16));
    });
  }
  return svg;
}

function limitText([low, high]: Bounds): string {
  if (low === null || high === null) return readable(low ?? high);
  return low === -high ? `±${readable(high)}` : `${readable(low)} and ${readable(high)}`;
}

// "j1, j2 ±170; j3 −10 to 40": series with equal limits together.
export function limitTexts(lines: { name: string; limits: Bounds }[]): string {
  const groups = new Map<string, string[]>();
  for (const { name, limits } of lines) groups.set(limitText(limits), [...(groups.get(limitText(limits)) ?? []), name]);
  const texts = [...groups].map(([text, names]) => `${names.length === lines.length && lines.length > 1 ? "all" : names.join(", ")} ${text}`);
  return texts.slice(0, 5).join("; ") + (texts.length > 5 ? "; …" : "");
}
