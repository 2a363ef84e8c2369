// The Pareto front of two columns: cases that no other case beats in one and equals or beats in the other.
import type { Column } from "./columns";
import { type Sense, SOLVED } from "./data";
import type { Study } from "./state";

export interface Front {
  rows: number[]; // along the front
  dominated: number;
  on: Set<number>;
  knee: number | null; // the row farthest from the line between the ends, with both axes scaled to the front
}

// Of the solved cases that are shown.
export function frontOf(study: Study, x: Column, y: Column, senses: [Sense, Sense]): Front {
  const [a, b] = senses.map((sense) => (sense === "min" ? 1 : -1)), { states } = study.data, rows: number[] = [];
  for (let row = 0; row < study.count; row++) {
    if (study.active[row] && states[row] === SOLVED && Number.isFinite(x.numbers[row]) && Number.isFinite(y.numbers[row])) rows.push(row);
  }
  const first = (row: number) => a * x.numbers[row], second = (row: number) => b * y.numbers[row];
  rows.sort((i, k) => first(i) - first(k) || second(i) - second(k));
  const found: number[] = [];
  let best = Infinity, at = NaN;
  for (const row of rows) {
    if (second(row) < best || (second(row) === best && first(row) === at)) found.push(row); // equal cases do not beat each other
    if (second(row) < best) [best, at] = [second(row), first(row)];
  }
  return { rows: found, dominated: rows.length - found.length, on: new Set(found), knee: kneeOf(found, first, second) };
}

function kneeOf(rows: number[], first: (row: number) => number, second: (row: number) => number): number | null {
  if (rows.length < 3) return null;
  const [start, end] = [rows[0], rows[rows.length - 1]], width = first(end) - first(start), height = second(start) - second(end);
  if (!(width > 0 && height > 0)) return null;
  // below the line from (0, 1) to (1, 0)
  const gain = (row: number) => 1 - (first(row) - first(start)) / width - (second(row) - second(end)) / height;
  const best = rows.reduce((one, other) => (gain(other) > gain(one) ? other : one));
  return gain(best) > 1e-9 ? best : null;
}
