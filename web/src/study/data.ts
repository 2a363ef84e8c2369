// What the page of a study is given: the JSON that predyn.view writes (study_page.py).
import type { Numbers, PageData } from "../data";

export interface ColumnData {
  name: string; unit: string; role: "varied" | "collected" | "status";
  values: Numbers; // of a text column: places in `words`
  words?: string[];
  cases?: true; // its numbers are those of other cases
}

export interface StudyData {
  cases: number[];
  states: number[]; // SOLVED, FAILED or ASIDE
  motions: number[]; // NO_MOTION, KEPT in the folder, or IN_PAGE
  columns: ColumnData[];
  reasons: number[][]; // rows without a result, by reason
  pareto: [number, Sense][] | null; // two columns and which end of them is better
  curves: { title: string; unit: string; low: number; high: number; end: number }[];
  opens: [string, string]; // the command that opens a kept motion, before and after its number
}

export type Sense = "min" | "max";
export const SOLVED = 0, ASIDE = 2, KEPT = 1, IN_PAGE = 2;

async function unpack(id: string): Promise<string> {
  const packed = document.getElementById(id)!.textContent!, bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

let common: Promise<PageData> | null = null, player: Promise<string> | null = null;

// Rows of `width` numbers, column by column: second differences of multiples of a power of ten.
interface Steps { places: number; width: number; steps: number[] }

function numbersOf(coded: Numbers | Steps): Numbers {
  if (!("steps" in coded)) return coded;
  const { places, width, steps } = coded, count = steps.length / width, found = new Array<number>(steps.length);
  for (let column = 0; column < width; column++) {
    let value = 0, step = 0;
    for (let row = 0; row < count; row++) {
      step += steps[column * count + row];
      value += step;
      found[row * width + column] = value / 10 ** places;
    }
  }
  return found;
}

// The motion of a row: its own parts, and those that all motions have in common.
export async function motionOf(row: number): Promise<PageData> {
  common ??= unpack("common").then((text) => JSON.parse(text));
  const shared = await common, own = JSON.parse(await unpack(`motion-${row}`));
  const data: PageData = { ...shared, ...own, scene: { ...shared.scene, ...own.scene } };
  const charts = data.charts.charts.map((chart) => ({ ...chart, series: chart.series.map((line) => ({ ...line, y: numbersOf(line.y) })) }));
  const motions = data.scene!.motions.map((motion) => ({ ...motion, poses: motion.poses.map((pose) => numbersOf(pose) as number[]) }));
  return { ...data, charts: { charts }, scene: { ...data.scene!, motions } };
}

// The page of one motion, for a frame: it has the player of the report.
export async function motionPage(row: number): Promise<string> {
  player ??= unpack("player");
  const page = await player, data = JSON.stringify(await motionOf(row)).replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
  return page.replace('id="data">{}<', () => `id="data">${data}<`);
}
