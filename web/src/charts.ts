// Charts: uPlot draws the curves; what lies on them is SVG of our own.
import uPlot from "uplot";
import { acrossSpan, isRound, upSpan } from "./axes";
import { Shared, hasAngle, shownIn, type Page } from "./clock";
import type { ChartData, Phase, Series, Span } from "./data";
import { dashesOf, drawChart, drawLimits, drawMarks, drawPhases, limitTexts, strokeOf, type Plane, type Tick } from "./drawing";
import { button, colourOf, draw, readable, resolved, save, swatch, tag, tickLabel, valueAt } from "./nodes";

const HEIGHT = 240;
const FONT = "11px system-ui, sans-serif";
const KEYS = "Arrow keys move the time, plus and minus zoom, 0 shows everything.";

interface Line extends Series {
  hidden: boolean;
  value?: HTMLElement; // in the legend
}

export class Chart {
  private readonly figure: HTMLElement;
  private readonly unit: HTMLElement;
  private readonly holder: HTMLElement;
  private readonly legend: HTMLElement;
  private readonly note: HTMLElement;
  private readonly zoom: Shared<Span | null>;
  private lines: Line[] = [];
  private spec: ChartData; // in the units that are shown
  private picked: Set<number> | null = null;
  private plot: uPlot | null = null;
  private now: HTMLElement | null = null;
  private spans: [Span, Span] = [[0, 1], [0, 1]];
  private readonly ticks: [Tick[], Tick[]] = [[], []];
  private seen = true;

  constructor(place: HTMLElement, private readonly given: ChartData, private readonly page: Page) {
    this.spec = given;
    this.zoom = given.timed ? page.zoom : new Shared<Span | null>(null);
    this.figure = tag("figure", place);
    const caption = tag("figcaption", this.figure, {}, `${given.title} `);
    this.unit = tag("span", caption, { class: "unit" });
    const tools = tag("span", caption, { class: "files" });
    button(tools, "SVG", () => this.saveSvg(), { "aria-label": `Save ${given.title} as SVG` });
    button(tools, "CSV", () => this.saveCsv(), { "aria-label": `Save ${given.title} as CSV` });
    this.holder = tag("div", this.figure, { class: "chart" });
    this.legend = tag("ul", this.figure, { class: "legend" });
    this.note = tag("p", this.figure, { class: "note" });
    this.convert();
    new ResizeObserver(() => this.fit()).observe(this.figure);
    new IntersectionObserver(([entry]) => { this.seen = entry.isIntersecting; this.mark(); }).observe(this.figure);
    if (hasAngle(given.unit)) page.radians.tell(() => this.convert());
    page.paint.tell((paper) => (paper ? this.print() : this.repaint()));
    this.zoom.tell(() => this.refresh());
    if (given.timed) {
      page.clock?.tell(() => this.mark());
      page.clock?.playing.tell((on) => { if (!on) this.mark(); });
    }
  }

  // Which series are shown, by their `joint`.
  show(joints: Set<number>): void {
    this.picked = joints;
    this.figure.hidden = this.offered.length === 0;
    this.drawLegend();
    this.refresh();
  }

  private get phases(): Phase[] { return this.spec.timed ? this.page.clock?.phases ?? [] : []; }

  private get offered(): Line[] { return this.lines.filter((line) => this.picked?.has(line.joint) ?? true); }

  private get shown(): Line[] { return this.offered.filter((line) => !line.hidden); }

  // Numbers in the unit that is shown; the plot is made anew.
  private convert(): void {
    const [unit, factor] = shownIn(this.given.unit, this.page.radians.value);
    const times = <T extends number | null>(x: T) => (x === null ? x : factor * x) as T;
    const hidden = this.lines.filter((line) => line.hidden).map((line) => line.name);
    const lines = this.given.series.map((line) => ({
      ...line, hidden: hidden.includes(line.name), y: line.y.map(times),
      ...(line.limits && { limits: line.limits.map(times) as Series["limits"] }),
      ...(line.band && { band: line.band.map((y) => y.map(times)) as Series["band"] }),
    }));
    this.lines = lines.sort((a, b) => Number(b.faint ?? false) - Number(a.faint ?? false));
    this.spec = { ...this.given, unit, shows: this.given.shows?.map(times), marks: this.given.marks?.map((mark) => ({ ...mark, y: factor * mark.y })) };
    this.unit.textContent = unit ? `[${unit}]` : "";
    this.plot?.destroy();
    this.plot = null;
    this.drawLegend();
    this.fit();
  }

  private fit(): void {
    if (this.figure.hidden) return;
    const width = Math.max(240, Math.floor(this.figure.clientWidth));
    if (!this.plot) this.make(width);
    else if (this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT });
  }

  private make(width: number): void {
    const { series, bands, data } = this.plotted();
    const axis = (k: 0 | 1, log?: boolean): uPlot.Axis => ({
      ...(log && { filter: (_, splits) => splits.map((place) => (isRound(place, this.spans[k]) ? place : null)) }),
      font: FONT, stroke: () => resolved("var(--soft)"), ticks: { show: false }, gap: 6,
      grid: { stroke: () => resolved("var(--grid)"), width: 1, ...(log && { filter: (_, splits) => splits.map((place) => (isRound(place, this.spans[k]) ? place : null)) }) }, space: k ? 34 : 64,
      size: k ? (_, labels) => 16 + 6.6 * Math.max(3, ...(labels ?? []).map((label) => label.length)) : 24,
      ...(k ? {} : { label: this.spec.xLabel, labelFont: FONT, labelSize: 15, labelGap: 0 }),
      values: (_, splits) => {
        const labels = splits.map((place) => tickLabel(place, log ?? false));
        this.ticks[k] = splits.flatMap((place, i) => (labels[i] ? [{ place, label: labels[i] }] : []));
        return labels;
      },
    });
    const scale = (k: 0 | 1, log?: boolean): uPlot.Scale => ({ time: false, distr: log ? 3 : 1, range: () => this.spans[k] });
    this.reach();
    this.plot = new uPlot({
      width, height: HEIGHT, series, bands, pxAlign: 0, padding: [this.phases.length > 1 ? 18 : 8, 12, 0, 0], legend: { show: false }, cursor: { show: false },
      scales: { x: scale(0, this.spec.logX), y: scale(1, this.spec.log) }, axes: [axis(0, this.spec.logX), axis(1, this.spec.log)],
      hooks: { ready: [(plot) => this.listen(plot)], draw: [(plot) => this.adorn(plot)] },
    }, data, this.holder);
    this.mark();
  }

  // The curves as uPlot takes them: all values over one list of times.
  private plotted(): { series: uPlot.Series[]; bands: uPlot.Band[]; data: uPlot.AlignedData } {
    const series: uPlot.Series[] = [{}], bands: uPlot.Band[] = [], tables: uPlot.AlignedData[] = [];
    for (const line of this.lines) {
      const x = this.page.times[line.x];
      const padded = (y: Series["y"]) => (y.length < x.length ? [...y, y[y.length - 1] ?? null] : y);
      const paths = line.dots ? () => null : line.step ? uPlot.paths.stepped!({ align: 1 }) : uPlot.paths.linear!();
      const stroke = () => resolved(strokeOf(line)), show = this.shown.includes(line);
      if (line.band) {
        bands.push({ series: [series.length + 1, series.length], fill: () => `${resolved(colourOf(line.joint))}33` });
        for (const _ of line.band) series.push({ paths, show, points: { show: false }, width: 0 });
      }
      const points = { show: Boolean(line.dots || this.spec.points), size: 4, fill: stroke, stroke, width: 0, space: 0 };
      series.push({ paths, show, stroke, points, width: line.faint ? 1.2 : 1.8, alpha: line.dots ? 0.6 : line.faint ? 0.75 : 1, dash: dashesOf(line).split(" ").filter(Boolean).map(Number) });
      tables.push([x, ...(line.band ?? []).map(padded), padded(line.y)] as uPlot.AlignedData);
    }
    return { series, bands, data: tables.length ? uPlot.join(tables) : [[]] };
  }

  private reach(): void {
    const lines = this.shown.length ? this.shown : this.offered, { times } = this.page;
    const across = this.zoom.value ?? acrossSpan(this.spec, lines, times);
    const { span, far, beyond } = upSpan(this.spec, lines, times, across);
    this.spans = [across, span];
    this.note.textContent = [
      far.length ? `Limits beyond the axis: ${limitTexts(far)}` : "",
      beyond.length ? `Parts of ${beyond.join(", ")} lie beyond the axis.` : "", this.spec.note ?? "",
    ].filter(Boolean).join(" ");
  }

  private refresh(): void {
    if (this.figure.hidden) return;
    this.fit();
    const plot = this.plot!, shown = this.shown;
    this.reach();
    plot.batch(() => {
      let k = 1;
      for (const line of this.lines) for (const end = k + (line.band ? 3 : 1); k < end; k++) {
        if (plot.series[k].show !== shown.includes(line)) plot.setSeries(k, { show: shown.includes(line) });
      }
      plot.setData(plot.data);
    });
    this.mark();
  }

  private repaint(): void {
    this.holder.querySelector(".printed")?.remove();
    this.plot?.redraw(false, true);
  }

  // Phases under the curves; limits and marks on them.
  private adorn(plot: uPlot): void {
    const { width, height } = plot.over.getBoundingClientRect();
    const plane: Plane = { width, height, high: this.spans[1], x: (value) => plot.valToPos(value, "x"), y: (value) => plot.valToPos(value, "y") };
    const layer = (parent: Element) => {
      parent.querySelector("svg")?.remove();
      return draw("svg", parent, { class: "layer", "aria-hidden": "true" });
    };
    const over = layer(plot.over);
    drawPhases(layer(plot.under), over, this.phases, plane);
    drawLimits(over, this.shown, this.spec, plane);
    drawMarks(over, this.spec, plane);
    this.mark();
  }

  // Press to seek, drag with shift or in zoom mode to zoom, double click to see all; keys for the same.
  private listen(plot: uPlot): void {
    const { clock, zooming } = this.page, { over } = plot;
    const seeks = clock && this.spec.timed ? clock : null;
    for (const [key, value] of Object.entries({ tabindex: "0", role: "application", "aria-label": `${this.spec.title}. ${seeks ? KEYS : ""}` })) over.setAttribute(key, value);
    over.classList.toggle("timed", seeks !== null);
    this.now = seeks && tag("div", over, { class: "now" });
    const place = (event: PointerEvent) => Math.max(0, Math.min(over.clientWidth, event.clientX - over.getBoundingClientRect().left));
    let from: number | null = null, select: HTMLElement | null = null;
    const move = (event: PointerEvent) => {
      if (!(event.buttons & 1)) return;
      const to = place(event);
      if (select && from !== null) {
        select.style.left = `${Math.min(from, to)}px`;
        select.style.width = `${Math.abs(to - from)}px`;
      } else seeks?.seek(plot.posToVal(to, "x"));
    };
    over.addEventListener("pointerdown", (event) => {
      if (event.shiftKey || zooming.value || !seeks) {
        from = place(event);
        select = tag("div", over, { class: "select" });
      }
      over.setPointerCapture(event.pointerId);
      move(event);
    });
    over.addEventListener("pointermove", move);
    over.addEventListener("pointerup", (event) => {
      select?.remove();
      if (from !== null && Math.abs(place(event) - from) > 4) {
        const [a, b] = [from, place(event)].sort((x, y) => x - y).map((pixel) => plot.posToVal(pixel, "x"));
        this.zoom.set([a, b]);
      }
      from = select = null;
    });
    over.addEventListener("dblclick", () => this.zoom.set(null));
    over.addEventListener("keydown", (event) => {
      const steps: { [key: string]: number } = { ArrowLeft: -0.01, ArrowRight: 0.01 };
      if (seeks && event.key in steps) seeks.seek(seeks.value + steps[event.key] * seeks.duration);
      else if ("+-".includes(event.key)) this.zoomBy(event.key === "+" ? 0.5 : 2);
      else if (event.key === "0") this.zoom.set(null);
      else return;
      event.preventDefault();
    });
  }

  // About the time now, or the middle.
  private zoomBy(factor: number): void {
    const whole = acrossSpan(this.spec, this.offered, this.page.times), [low, high] = this.spans[0];
    const about = this.now ? this.page.clock!.value : (low + high) / 2;
    const span: Span = [Math.max(whole[0], about + factor * (low - about)), Math.min(whole[1], about + factor * (high - about))];
    this.zoom.set(factor > 1 && span[0] === whole[0] && span[1] === whole[1] ? null : span);
  }

  // The cursor and the values in the legend follow the clock.
  private mark(): void {
    const { clock, times } = this.page;
    if (!clock || !this.plot || !this.now || this.figure.hidden || (clock.playing.value && !this.seen)) return;
    const time = clock.value;
    const place = this.plot.valToPos(time, "x");
    this.now.hidden = !(place >= -1 && place <= this.plot.over.clientWidth + 1);
    this.now.style.left = `${place}px`;
    for (const line of this.offered) {
      if (!line.value) continue;
      const at = (y: Series["y"]) => valueAt(times[line.x], y, time, line.step);
      const reach = line.band && !line.joined ? (at(line.band[1])! - at(line.band[0])!) / 2 : 0;
      line.value.textContent = readable(at(line.y)) + (reach > 0 ? ` ± ${readable(reach, 2)}` : "");
    }
  }

  private drawLegend(): void {
    const { spec, page } = this, timed = spec.timed && page.clock !== null;
    this.legend.replaceChildren();
    if (!timed && !spec.legend) return;
    for (const line of this.offered) {
      const entry = button(tag("li", this.legend), "", () => {
        line.hidden = !line.hidden;
        entry.setAttribute("aria-pressed", String(!line.hidden));
        this.refresh();
      }, { "aria-pressed": String(!line.hidden), title: "Hide or show" });
      swatch(entry, line.joint, line.dots ? "3 6" : dashesOf(line)).classList.toggle("faint", line.faint ?? false);
      entry.append(line.name);
      line.value = timed && !line.dots ? tag("b", entry) : undefined;
    }
    const entry = (name: string, shape: string, attributes: { [name: string]: string | number }) => {
      const item = tag("li", this.legend);
      draw(shape, draw("svg", item, { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" }), attributes);
      item.append(name);
    };
    const band = this.offered.find((line) => line.band);
    if (band) entry("95 % band", "rect", { width: 24, height: 10, fill: colourOf(band.joint), "fill-opacity": 0.2 });
    const limited = this.offered.some((line) => line.limits?.some((bound) => bound !== null));
    if (limited) entry(spec.limitName ?? "limit", "path", { d: "M0 5H24", stroke: "var(--soft)", "stroke-width": 2, "stroke-dasharray": "2 3" });
  }

  private picture(titled: boolean): SVGElement {
    return drawChart({ spec: this.spec, lines: this.shown, times: this.page.times, phases: this.phases, spans: this.spans, ticks: this.ticks }, titled);
  }

  private print(): void {
    if (this.figure.hidden || !this.plot) return;
    const svg = this.picture(false);
    svg.setAttribute("class", "printed");
    this.holder.append(svg);
  }

  private get fileName(): string { return this.spec.title.toLowerCase().replace(/[^\p{L}\d]+/gu, "-"); }

  private saveSvg(): void {
    document.documentElement.dataset.light = ""; // files are for paper
    const text = resolved(new XMLSerializer().serializeToString(this.picture(true)));
    delete document.documentElement.dataset.light;
    save(`${this.fileName}.svg`, text, "image/svg+xml");
  }

  private saveCsv(): void {
    const shown = this.shown, quoted = (text: string) => `"${text.replace(/"/g, '""')}"`;
    const { data } = this.plot!, columns: [string, number][] = [];
    let k = 1;
    for (const line of this.lines) {
      const names = [...(line.band ? ["lower end of ", "upper end of "] : []), ""].map((part) => part + line.name);
      for (const name of names) columns.push([shown.includes(line) ? name : "", k++]);
    }
    const kept = columns.filter(([name]) => name);
    const head = [this.spec.xLabel, ...kept.map(([name]) => (this.spec.unit ? `${name} [${this.spec.unit}]` : name))];
    const short = (value: number | null | undefined) => (value === null || value === undefined ? "" : Number(value.toPrecision(8)));
    const rows = Array.from(data[0], (x, i) => [short(x), ...kept.map(([, c]) => short(data[c][i]))].join(","));
    save(`${this.fileName}.csv`, [head.map(quoted).join(","), ...rows, ""].join("\r\n"), "text/csv");
  }
}
