// Columns as plots need them: a number for every case, what ticks say, and colours.
import { readable } from "../nodes";
import type { ColumnData } from "./data";

const MOST_WORDS = 30; // a column with more of them is not drawn
const MOST_STEPS = 40, EVEN = 1e-4; // a grid of at most so many values is drawn value by value; of a step

export class Column {
  readonly numbers: Float64Array; // NaN where there is none; of words their places
  readonly span: [number, number]; // lowest and highest
  readonly words: string[] | null;
  readonly title: string;
  readonly constant: boolean;
  readonly drawable: boolean;
  readonly step: number; // between the values of an even grid or between words; 0 of other columns

  constructor(readonly data: ColumnData, readonly index: number) {
    this.numbers = Float64Array.from(data.values, (value) => value ?? NaN);
    this.words = data.words ?? null;
    this.title = data.unit ? `${data.name} [${data.unit}]` : data.name;
    let low = Infinity, high = -Infinity;
    for (const value of this.numbers) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    this.constant = !(low < high);
    this.span = low <= high ? [low, high] : [0, 0];
    this.drawable = !data.cases && low <= high && (!this.words || this.words.length <= MOST_WORDS);
    this.step = this.words ? 1 : evenStep(this.numbers);
  }

  // Lowest and highest with space around them, also of a constant column.
  get wide(): [number, number] {
    const [low, high] = this.span, margin = this.step ? this.step / 2 : 0.04 * (high - low) || 0.1 * Math.abs(high) || 1;
    return [low - margin, high + margin];
  }

  share(row: number): number {
    const [low, high] = this.wide;
    return (this.numbers[row] - low) / (high - low);
  }

  text(row: number): string {
    const value = this.numbers[row];
    return this.words ? this.words[value] ?? "" : readable(value, 6);
  }

  // With its unit.
  full(row: number): string { return `${this.text(row)} ${this.words ? "" : this.data.unit}`.trim(); }

  label(value: number): string {
    return this.words ? this.words[value] ?? "" : readable(value, 5);
  }

  // Round numbers or words within the span.
  ticks(count: number): number[] {
    const [low, high] = this.wide;
    if (this.words) return spaced(this.words.map((_, k) => k).filter((k) => k >= low && k <= high), count);
    if (this.constant) return [this.span[0]];
    const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10), found: number[] = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  // Of a case: its word's colour, or a step of a ramp of numbers.
  colour(row: number): string {
    const value = this.numbers[row];
    if (Number.isNaN(value)) return "var(--soft)";
    if (this.words) return `var(--c${value % 8})`;
    return rampColour(this.constant ? 0.5 : (value - this.span[0]) / (this.span[1] - this.span[0]));
  }
}

export const RAMP = 12; // colours of the ramp: few, so that points are drawn colour by colour
export const rampColour = (share: number) => `var(--r${Math.min(RAMP - 1, Math.floor(RAMP * share))})`;

// The distance between the few values that numbers have, if it is always the same.
function evenStep(numbers: Float64Array): number {
  const found = new Set<number>();
  for (const value of numbers) if (!Number.isNaN(value) && found.add(value).size > MOST_STEPS) return 0;
  const places = [...found].sort((a, b) => a - b), step = (places[places.length - 1] - places[0]) / (places.length - 1);
  return places.length > 1 && places.every((place, k) => Math.abs(place - places[0] - k * step) < EVEN * step) ? step : 0;
}

function spaced(all: number[], count: number): number[] {
  const every = Math.max(1, Math.ceil(all.length / Math.max(1, count)));
  return all.filter((_, k) => k % every === 0);
}
