// What a page is given: the JSON that predyn.view writes (sheets.py).
import type { Scene } from "./scene/data";

export type Numbers = (number | null)[];
export type Bounds = [number | null, number | null];
export type Span = [number, number];
export type Phase = { name: string; end: number };
export type Where = { place: string; chart: number; line: number };
export type Row = { name: string; joint: number; position: Where; effort: (Where & { most: number }) | null };

export interface Series {
  joint: number; // its colour, and what pickers choose it by
  name: string;
  x: number; // of the list of times
  y: Numbers;
  limits?: Bounds; band?: [Numbers, Numbers]; joined?: boolean; // joined: the band is not that of one value
  step?: boolean; dots?: boolean; dashed?: boolean; // step: y[k] holds from x[k] to x[k+1]; dots: no curve
  faint?: boolean; thin?: boolean; // faint: for comparison, may leave the chart; thin: one of several of a name, not in the legend
}

export interface ChartData {
  title: string; unit: string; xLabel: string;
  timed: boolean; // follows the clock
  series: Series[];
  log?: boolean; logX?: boolean; points?: boolean; // logarithmic axes; dots on the curves
  legend?: boolean; limitName?: string; bandName?: string; note?: string; // charts over time always have a legend
  marks?: { x: number; y: number; label: string }[]; verticals?: { x: number; joint: number; label: string }[];
  most?: number; // the axis ends there at the latest
  shows?: number[]; // values that the axis has room for, whatever is drawn
}

export interface PageData {
  times: number[][];
  clock: null | { start: number; end: number; phases: Phase[] };
  scene: null | Scene;
  state: Row[];
  charts: { [place: string]: ChartData[] };
  pickers: { place: string; charts: string[]; names: string[]; first: number[] }[];
}
