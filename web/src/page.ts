// Starts a page: all that it shows is in its element "data".
import "./page.css";
import { Chart } from "./charts";
import { Clock, Shared, hasAngle, type Page } from "./clock";
import type { ChartData, PageData, Span } from "./data";
import { find } from "./nodes";
import { showPicker, showPlayer, showTools } from "./player";

// Curves jump where a time is given twice; uPlot needs times that grow.
function growing(times: number[]): number[] {
  const step = 1e-10 * Math.abs(times[times.length - 1] - times[0]) || 1e-10;
  let last = -Infinity;
  return times.map((time) => (last = Math.max(time, last + step)));
}

// Paper is white, and everything is on it.
function preparePrinting(page: Page): void {
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.light = "";
    document.querySelectorAll("details").forEach((part) => { part.open = true; });
    page.paint.set(true);
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.light;
    page.paint.set(false);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (document.documentElement.dataset.light === undefined) page.paint.set(false);
  });
}

function start(data: PageData): void {
  const clock = data.clock && new Clock(data.clock.start, data.clock.end, data.clock.phases);
  const page: Page = {
    times: data.times.map(growing), clock, zoom: new Shared<Span | null>(null),
    zooming: new Shared(false), radians: new Shared(false), paint: new Shared(false),
  };
  const place = find("player");
  if (place && (clock || data.scene)) showPlayer(place, data, page, clock);
  const made: { [place: string]: Chart[] } = {}, all: ChartData[] = [];
  for (const [name, charts] of Object.entries(data.charts)) {
    const parent = find(name);
    if (!parent) continue;
    made[name] = charts.map((chart) => new Chart(parent, chart, page));
    all.push(...charts);
  }
  for (const { place, charts, names, first } of data.pickers) {
    const parent = find(place);
    if (parent) showPicker(parent, names, first, (joints) => charts.flatMap((name) => made[name] ?? []).forEach((chart) => chart.show(joints)));
  }
  if (all.length) showTools(page, all.some(({ unit }) => hasAngle(unit)));
  preparePrinting(page);
  clock?.seek(clock.start);
}

start(JSON.parse(find("data")!.textContent!));
