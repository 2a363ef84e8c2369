// Which part of the numbers a chart shows.
import type { ChartData, Numbers, Series, Span } from "./data";
import { readable } from "./nodes";

// Lowest and highest value; only positive ones have a place on a logarithmic axis.
function extent(lists: Numbers[], log?: boolean): Span | null {
  let low = Infinity, high = -Infinity;
  for (const list of lists) for (const value of list) {
    if (value === null || (log && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? null : [low, high];
}

// Whole powers of ten if there are several, else with a margin.
function logSpan([low, high]: Span): Span {
  const [a, b] = [Math.log10(low), Math.log10(high)], margin = Math.max(0.06 * (b - a), 0.04);
  return b - a >= 1.5 ? [10 ** Math.floor(a), 10 ** Math.max(Math.ceil(b), Math.floor(a) + 2)] : [10 ** (a - margin), 10 ** (b + margin)];
}

// Where a logarithmic axis has ticks: at powers of ten; within less than two of them also between.
export function isRound(place: number, [low, high]: Span): boolean {
  const power = Math.log10(place), leading = Math.round(place / 10 ** Math.floor(power + 1e-9));
  const every = Math.max(1, Math.ceil(Math.log10(high / low) / 7));
  return high / low >= 100 ? leading === 1 && Math.round(power) % every === 0 : [1, 2, 5].includes(leading);
}

const superscript = (k: number) => String(k).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);

export function tickLabel(place: number | null, log?: boolean): string {
  if (place === null) return "";
  const power = Math.log10(place);
  return log && Math.abs(power - Math.round(power)) < 1e-9 ? `10${superscript(Math.round(power))}` : readable(place, 7);
}

export function acrossSpan(spec: ChartData, lines: Series[], times: number[][]): Span {
  const found = extent(lines.map((line) => times[line.x]), spec.logX) ?? [0, 1];
  return spec.logX ? logSpan(found) : found[1] > found[0] ? found : [found[0], found[0] + 1];
}

// Limits and faint curves join in unless they would squeeze the others; then words tell about them.
// Only values within `across` count.
export function upSpan(spec: ChartData, lines: Series[], times: number[][], across: Span): [Span, string] {
  const strong = lines.filter((line) => !line.faint), far: string[] = [], beyond: string[] = [];
  const within = (line: Series, y: Numbers) => y.filter((_, k) => {
    const x = times[line.x], next = x[Math.min(k + 1, x.length - 1)];
    return (line.step ? next : x[k]) >= across[0] && x[k] <= across[1];
  });
  const lists = (strong.length ? strong : lines).flatMap((line) => [line.y, ...(line.band ?? [])].map((y) => within(line, y)));
  const found = extent([...lists, spec.shows ?? []], spec.log);
  if (!found || spec.log) return [found ? logSpan(found) : spec.log ? [0.1, 1] : [0, 1], ""];
  let [low, high] = found;
  if (spec.most !== undefined) high = Math.max(low, Math.min(high, spec.most));
  const size = high - low || Math.abs(high) || 1, room = [low - size, high + size], near = [low - size / 2, high + size / 2];
  const outside = (bound: number | null) => bound !== null && (bound < room[0] || bound > room[1]);
  const join = (bound: number) => { low = Math.min(low, bound); high = Math.max(high, bound); };
  for (const line of lines) {
    const limits = line.limits ?? [null, null];
    for (const bound of limits) if (bound !== null && !outside(bound)) join(bound);
    if (limits.some(outside)) far.push(`${line.name} ${limits.filter(outside).map((bound) => readable(bound)).join(" and ")}`);
    const faint = line.faint && strong.length ? extent([within(line, line.y)]) : null;
    for (const end of faint ?? []) join(Math.max(near[0], Math.min(near[1], end)));
    if (faint && (faint[0] < near[0] || faint[1] > near[1])) beyond.push(line.name);
  }
  const margin = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1;
  const words = far.length ? [`Limits beyond the axis: ${far.slice(0, 6).join("; ")}${far.length > 6 ? "; …" : ""}.`] : [];
  if (beyond.length) words.push(`Parts of ${beyond.join(", ")} lie beyond the axis.`);
  return [[low - margin, spec.most === undefined ? high + margin : Math.min(high + margin, spec.most)], words.join(" ")];
}
