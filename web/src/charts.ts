// Charts: uPlot draws the curves; what lies on them is SVG of our own.
import uPlot from "uplot";
import { acrossSpan, isRound, tickLabel, upSpan } from "./axes";
import { Shared, hasAngle, shownIn, type Page } from "./clock";
import type { ChartData, Series, Span } from "./data";
import { adorn, dashesOf, drawChart, strokeOf, type Drawing } from "./drawing";
import { button, colourOf, draw, readable, resolved, save, setLight, swatch, tag, valueAt, type Attributes } from "./nodes";

const HEIGHT = 240;
const FONT = "11px system-ui, sans-serif";
const KEYS = "Arrow keys move the time, plus and minus zoom, 0 shows everything.";

export class Chart {
  private readonly figure = tag("figure", null);
  private readonly unit: HTMLElement;
  private readonly holder = tag("div", null, { class: "chart" });
  private readonly legend = tag("ul", null, { class: "legend" });
  private readonly note = tag("p", null, { class: "note" });
  private readonly zoom: Shared<Span | null>;
  private readonly timed: boolean;
  private readonly hidden = new Set<string>(); // names of series
  private picked: Set<number> | null = null;
  private offered: Series[] = []; // in the legend
  private values: HTMLElement[] = []; // there
  private shown: Drawing;
  private plot: uPlot | null = null;
  private now: HTMLElement | null = null;
  private seen = true;

  constructor(place: HTMLElement, private readonly given: ChartData, private readonly page: Page) {
    this.timed = given.timed && page.clock !== null;
    this.zoom = given.timed ? page.zoom : new Shared<Span | null>(null);
    this.shown = { spec: given, lines: [], times: page.times, phases: given.timed ? page.clock?.phases ?? [] : [], spans: [[0, 1], [0, 1]], ticks: [[], []] };
    const caption = tag("figcaption", null, {}, `${given.title} `), { figure } = this;
    this.unit = tag("span", caption, { class: "unit" });
    const files = tag("span", caption, { class: "files" });
    button(files, "SVG", () => this.saveSvg(), { "aria-label": `Save ${given.title} as SVG` });
    button(files, "CSV", () => this.saveCsv(), { "aria-label": `Save ${given.title} as CSV` });
    figure.append(caption, this.holder, this.legend, this.note);
    place.append(figure);
    this.make();
    new ResizeObserver(() => this.plot?.setSize({ width: this.width, height: HEIGHT })).observe(figure);
    new IntersectionObserver(([entry]) => { this.seen = entry.isIntersecting; this.mark(); }).observe(figure);
    if (hasAngle(given.unit)) page.radians.subscribe(() => this.make());
    page.paint.subscribe((paper) => this.repaint(paper));
    this.zoom.subscribe(() => { this.fitAxes(); this.plot?.setData(this.plot.data); });
    if (this.timed) for (const each of [page.clock!, page.clock!.playing]) each.subscribe(() => this.mark());
  }

  private get width(): number { return Math.max(160, Math.floor(this.figure.clientWidth)); }

  // A plot of the numbers, in the unit that is shown. picked: of these joints; null: of all.
  make(picked = this.picked): void {
    this.picked = picked;
    const { given, page, shown } = this, [unit, factor] = shownIn(given.unit, page.radians.value);
    const times = <T extends number | null>(x: T) => (x === null ? x : factor * x) as T;
    this.offered = given.series.filter(({ joint }) => picked?.has(joint) ?? true).map((line) => ({
      ...line, y: line.y.map(times), limits: line.limits?.map(times) as Series["limits"], band: line.band?.map((y) => y.map(times)) as Series["band"],
    }));
    shown.spec = { ...given, unit, most: given.most && factor * given.most, shows: given.shows?.map(times), marks: given.marks?.map((mark) => ({ ...mark, y: factor * mark.y })) };
    shown.lines = this.offered.filter((line) => !this.hidden.has(line.name)).sort((a, b) => Number(b.faint ?? false) - Number(a.faint ?? false));
    this.unit.textContent = unit ? `[${unit}]` : "";
    this.plot?.destroy();
    this.plot = null;
    this.figure.hidden = this.offered.length === 0;
    if (this.figure.hidden) return;
    this.drawLegend();
    this.fitAxes();
    const { data, ...looks } = this.curves(), scale = (k: 0 | 1, log?: boolean): uPlot.Scale => ({ time: false, distr: log ? 3 : 1, range: () => shown.spans[k] });
    this.plot = new uPlot({
      width: this.width, height: HEIGHT, pxAlign: 0, padding: [shown.phases.length > 1 ? 18 : 8, 12, 0, 0], legend: { show: false }, cursor: { show: false },
      ...looks, scales: { x: scale(0, given.logX), y: scale(1, given.log) }, axes: [this.axis(0, given.logX), this.axis(1, given.log)],
      hooks: { ready: [(plot) => this.listen(plot)], draw: [(plot) => this.adorn(plot)] },
    }, data, this.holder);
  }

  private axis(k: 0 | 1, log?: boolean): uPlot.Axis {
    const round: uPlot.Axis.Filter = (_, splits) => splits.map((place) => (!log || isRound(place, this.shown.spans[k]) ? place : null));
    return {
      font: FONT, stroke: () => resolved("var(--soft)"), ticks: { show: false }, gap: 6, space: k ? 34 : 64, filter: round,
      grid: { stroke: () => resolved("var(--grid)"), width: 1, filter: round },
      size: k ? (_, labels) => 16 + 6.6 * Math.max(3, ...(labels ?? []).map((label) => label.length)) : 24,
      ...(k === 0 && { label: this.given.xLabel, labelFont: FONT, labelSize: 15, labelGap: 0 }),
      values: (_, splits) => {
        const labels = splits.map((place) => tickLabel(place, log));
        this.shown.ticks[k] = splits.map((place, i) => ({ place, label: labels[i] })).filter(({ label }) => label);
        return labels;
      },
    };
  }

  // The curves as uPlot takes them: all values over one list of times; a band lies between two that are not drawn.
  private curves(): { series: uPlot.Series[]; bands: uPlot.Band[]; data: uPlot.AlignedData } {
    const series: uPlot.Series[] = [{}], bands: uPlot.Band[] = [];
    const tables = this.shown.lines.map((line) => {
      const paths = line.dots ? () => null : line.step ? uPlot.paths.stepped!({ align: 1 }) : uPlot.paths.linear!();
      if (line.band) {
        bands.push({ series: [series.length + 1, series.length], fill: () => `${resolved(colourOf(line.joint))}33` });
        for (const _ of line.band) series.push({ paths, points: { show: false }, width: 0 });
      }
      const stroke = () => resolved(strokeOf(line)), points = { show: Boolean(line.dots || this.given.points), size: 4, fill: stroke, stroke, width: 0, space: 0 };
      const dash = dashesOf(line).split(" ").filter(Boolean).map(Number), alpha = line.dots ? 0.6 : line.thin ? 0.45 : line.faint ? 0.75 : 1;
      series.push({ paths, stroke, points, dash, alpha, width: line.faint || line.thin ? 1.2 : 1.8 });
      const x = this.page.times[line.x], padded = (y: Series["y"]) => (y.length < x.length ? [...y, y[y.length - 1] ?? null] : y);
      return [x, ...[...(line.band ?? []), line.y].map(padded)] as uPlot.AlignedData;
    });
    return { series, bands, data: tables.length ? uPlot.join(tables) : [[]] };
  }

  private fitAxes(): void {
    const { spec, lines, times } = this.shown, some = lines.length ? lines : this.offered;
    const across = this.zoom.value ?? acrossSpan(spec, some, times), [high, words] = upSpan(spec, some, times, across);
    this.shown.spans = [across, high];
    this.note.textContent = [words, spec.note].filter(Boolean).join(" ");
  }

  // On paper there are vectors.
  private repaint(paper: boolean): void {
    this.holder.querySelector(".printed")?.remove();
    if (paper && this.plot) this.holder.append(drawChart(this.shown));
    this.holder.lastElementChild?.classList.toggle("printed", paper);
    if (!paper) this.plot?.redraw(false, true);
  }

  private adorn(plot: uPlot): void {
    const layers = [plot.under, plot.over].map((parent) => {
      parent.querySelector("svg")?.remove();
      return draw("svg", parent, { class: "layer", "aria-hidden": "true" });
    });
    const { clientWidth: width, clientHeight: height } = plot.over;
    adorn(layers[0], layers[1], this.shown, { width, height, x: (value) => plot.valToPos(value, "x"), y: (value) => plot.valToPos(value, "y") });
    this.mark();
  }

  // Press to seek, drag with shift or in zoom mode to zoom, double click to see all; keys for the same.
  private listen(plot: uPlot): void {
    const { page: { clock, zooming }, timed, zoom } = this, { over } = plot, seeks = timed ? clock : null;
    Object.assign(over, { tabIndex: 0, role: "application", ariaLabel: `${this.given.title}. ${seeks ? KEYS : ""}` });
    this.now = seeks && tag("div", over, { class: "now" });
    let from = 0, select: HTMLElement | null = null;
    const place = (event: PointerEvent) => Math.max(0, Math.min(over.clientWidth, event.clientX - over.getBoundingClientRect().left));
    const unselect = () => { select?.remove(); select = null; };
    const move = (event: PointerEvent) => {
      if (!(event.buttons & 1)) return;
      const to = place(event);
      if (!select) seeks?.seek(plot.posToVal(to, "x"));
      else Object.assign(select.style, { left: `${Math.min(from, to)}px`, width: `${Math.abs(to - from)}px` });
    };
    over.addEventListener("pointerdown", (event) => {
      from = place(event);
      select = event.shiftKey || zooming.value || !seeks ? tag("div", over, { class: "select" }) : null;
      over.setPointerCapture(event.pointerId);
      move(event);
    });
    over.addEventListener("pointermove", move);
    over.addEventListener("pointerup", (event) => {
      const ends = [from, place(event)].sort((a, b) => a - b);
      if (select && ends[1] - ends[0] > 4) this.zoomTo(ends.map((pixel) => plot.posToVal(pixel, "x")) as Span);
      unselect();
    });
    over.addEventListener("pointercancel", unselect); // the gesture became a scroll
    over.addEventListener("dblclick", () => zoom.set(null));
    over.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own
      const step = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key], factor = { "+": 0.5, "-": 2 }[event.key];
      if (seeks && step) seeks.seek(seeks.value + step * seeks.duration);
      else if (factor) {
        const [low, high] = this.shown.spans[0], about = seeks ? seeks.value : (low + high) / 2;
        this.zoomTo([about + factor * (low - about), about + factor * (high - about)]);
      } else if (event.key === "0") zoom.set(null);
      else return;
      event.preventDefault();
    });
  }

  // Not so far that ticks could no longer be told apart.
  private zoomTo([low, high]: Span): void {
    const size = ([a, b]: Span) => (this.given.logX ? Math.log(b / a) : b - a), whole = acrossSpan(this.given, this.offered, this.page.times);
    const span: Span = [Math.max(whole[0], low), Math.min(whole[1], high)];
    if (size(span) > 1e-6 * size(whole)) this.zoom.set(low <= whole[0] && high >= whole[1] ? null : span);
  }

  // The cursor and the values in the legend follow the clock.
  private mark(): void {
    const { page: { clock, times }, plot, now } = this;
    if (!clock || !plot || !now || (clock.playing.value && !this.seen)) return;
    const place = plot.valToPos(clock.value, "x");
    now.hidden = !(place >= -1 && place <= plot.over.clientWidth + 1);
    now.style.left = `${place}px`;
    this.offered.forEach((line, k) => {
      const at = (y: Series["y"]) => valueAt(times[line.x], y, clock.value, line.step);
      const reach = line.band && !line.joined ? (at(line.band[1])! - at(line.band[0])!) / 2 : 0;
      if (!line.dots) this.values[k].textContent = readable(at(line.y)) + (reach > 0 ? ` ± ${readable(reach, 2)}` : "");
    });
  }

  private drawLegend(): void {
    const { given, offered, hidden, legend } = this;
    legend.replaceChildren();
    if (!this.timed && !given.legend) return;
    this.values = offered.filter(({ thin }) => !thin).map((line) => {
      const entry = button(tag("li", legend), "", () => {
        if (!hidden.delete(line.name)) hidden.add(line.name);
        this.make();
        legend.querySelectorAll("button")[offered.indexOf(line)].focus();
      }, { "aria-pressed": String(!hidden.has(line.name)), title: "Hide or show" });
      swatch(entry, { stroke: strokeOf(line), "stroke-dasharray": line.dots ? "3 6" : dashesOf(line) });
      entry.append(line.name);
      return tag("b", line.dots || !this.timed ? null : entry);
    });
    const explain = (look: Attributes, name: string, shape = "path") => {
      const item = tag("li", legend);
      swatch(item, look, shape);
      item.append(name);
    };
    const band = offered.find((line) => line.band), limited = offered.some((line) => line.limits?.some((bound) => bound !== null));
    if (band) explain({ width: 24, height: 10, fill: colourOf(band.joint), "fill-opacity": 0.2 }, given.bandName ?? "95 % band", "rect");
    if (limited) explain({ stroke: "var(--soft)", "stroke-width": 2, "stroke-dasharray": "2 3" }, given.limitName ?? "limit");
  }

  private saveSvg(): void {
    setLight(true); // files are for paper
    const text = resolved(new XMLSerializer().serializeToString(drawChart(this.shown))).replace(/[\0-\x08\v\f\x0e-\x1f\ufffe\uffff]/g, "\ufffd"); // XML has no such signs
    setLight(false);
    save(`${this.given.title}.svg`, text, "image/svg+xml");
  }

  private saveCsv(): void {
    const { spec, lines } = this.shown, quoted = (text: string) => `"${text.replace(/"/g, '""')}"`;
    const names = lines.flatMap(({ name, band }) => (band ? [`${name}, lower end`, `${name}, upper end`, name] : [name]));
    const head = [spec.xLabel, ...names.map((name) => (spec.unit ? `${name} [${spec.unit}]` : name))].map(quoted);
    const data = this.plot!.data, rows = Array.from(data[0], (_, i) => data.map((column) => (column[i] == null ? "" : Number(column[i]!.toPrecision(8)))));
    save(`${this.given.title}.csv`, [head, ...rows].map((row) => `${row.join(",")}\r\n`).join(""), "text/csv");
  }
}
