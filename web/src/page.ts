// Starts a page: all that it shows is in its element "data".
import "./page.css";
import { Chart } from "./charts";
import { Clock, Shared, hasAngle, type Page } from "./clock";
import type { PageData, Span } from "./data";
import { find, setLight } from "./nodes";
import { showPicker, showPlayer, showTools } from "./player";

// Curves jump where a time is given twice; uPlot needs times that grow.
function growing(times: number[]): number[] {
  const step = 1e-10 * Math.abs(times[times.length - 1] - times[0]) || 1e-10;
  let last = -Infinity;
  return times.map((time) => (last = Math.max(time, last + step)));
}

// Paper is white, and everything is on it.
function preparePrinting(page: Page): void {
  const paint = (paper: boolean) => { setLight(paper); page.paint.set(paper); };
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((part) => { part.open = true; });
    paint(true);
  });
  addEventListener("afterprint", () => paint(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (!page.paint.value) paint(false); });
}

function start(data: PageData): void {
  const clock = data.clock && new Clock(data.clock.start, data.clock.end, data.clock.phases);
  const page: Page = {
    times: data.times.map(growing), clock, zoom: new Shared<Span | null>(null),
    zooming: new Shared(false), radians: new Shared(false), paint: new Shared(false),
  };
  const place = find("player"), made: { [place: string]: Chart[] } = {};
  if (place && (clock || data.scene)) showPlayer(place, data, page, clock);
  for (const name in data.charts) {
    const parent = find(name);
    made[name] = parent ? data.charts[name].map((chart) => new Chart(parent, chart, page)) : [];
  }
  for (const { place, charts, names, first } of data.pickers) {
    const parent = find(place);
    if (parent) showPicker(parent, names, first, (joints) => charts.flatMap((name) => made[name]).forEach((chart) => chart.make(joints)));
  }
  const all = Object.values(data.charts).flat(), tools = find("tools");
  if (tools && all.length) showTools(tools, page, all.some(({ unit }) => hasAngle(unit)));
  preparePrinting(page);
  clock?.seek(clock.start);
}

start(JSON.parse(find("data")!.textContent!));
