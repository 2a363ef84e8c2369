// Charts in SVG: curves, steps, dots and bands. A chart redraws itself to the width it gets, so
// that text keeps its size.

const PRINTED = 380; // px of a chart on paper, two side by side
const HEIGHT = 230;

const dashesOf = (line) => (line.dashed ? "5 4" : line.step ? "" : dashOf(line.joint));

class Chart {
  // spec: title, unit, x, xLabel, log, logX, points, phases, note, limitName, legend,
  //   shows: values that the axis has room for, whatever is drawn,
  //   marks: [{x, y, label}], series: [{joint, name, y, and as needed:
  //   x: its own; limits: [low, high]; band: [low, high], a list each; step: y[k] holds from x[k] to
  //   x[k+1]; dots: no curve; faint: for comparison, may leave the chart; dashed;
  //   joined: the band is not that of one value}]
  // seek: called with x where the pointer presses, for charts over time
  constructor(parent, spec, seek = null) {
    this.spec = spec;
    this.timed = seek !== null;
    this.figure = tag("figure", "", parent);
    const caption = tag("figcaption", "", this.figure, spec.title + " ");
    if (spec.unit) tag("span", "unit", caption, `[${spec.unit}]`);
    this.svg = element("svg", { class: seek ? "chart timed" : "chart", role: "img", "aria-label": spec.title }, this.figure);
    this.legend = tag("ul", "legend", this.figure);
    this.note = tag("p", "note", this.figure);
    this.shown = spec.series;
    this.width = 0;
    if (seek) {
      const press = (event) => { if (event.buttons & 1) seek(this.placeAt(event)); };
      this.svg.addEventListener("pointerdown", press);
      this.svg.addEventListener("pointermove", press);
    }
    new ResizeObserver(() => this.fit()).observe(this.figure);
    addEventListener("beforeprint", () => { this.width = PRINTED; this.draw(); });
    addEventListener("afterprint", () => this.fit());
    this.fit();
  }

  fit() {
    const width = Math.max(260, Math.round(this.figure.clientWidth));
    if (width !== this.width) { this.width = width; this.draw(); }
  }

  show(joints) {
    this.shown = this.spec.series.filter((line) => joints.has(line.joint));
    this.figure.hidden = this.shown.length === 0;
    this.draw();
  }

  placeAt(event) {
    const box = this.svg.getBoundingClientRect();
    return this.across.value((event.clientX - box.left) / box.width * this.width);
  }

  xOf(line) { return line.x || this.spec.x; }

  // Lowest and highest of some values; only positive ones have a place on a logarithmic axis.
  extent(lists, log) {
    let low = Infinity, high = -Infinity;
    for (const list of lists) for (const value of list) {
      if (value === null || (log && value <= 0)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    return low > high ? null : [low, high];
  }

  acrossAxis() {
    const { spec, shown } = this;
    const [low, high] = this.extent(spec.x ? [spec.x] : shown.map((line) => line.x), spec.logX) || [0, 1];
    return spec.logX ? logAxis(low, high) : new Axis(low, high, false);
  }

  // The axis of the values; limits and faint curves join in unless they would squeeze the others.
  upAxis() {
    const { spec, shown } = this;
    const strong = shown.filter((line) => !line.faint);
    const lists = (lines) => lines.flatMap((line) => [line.y, ...(line.band || [])]);
    const found = this.extent([...lists(strong.length ? strong : shown), spec.shows || []], spec.log);
    this.far = [];
    this.beyond = [];
    if (!found) return new Axis(0, 1, false);
    if (spec.log) return logAxis(...found);
    let [low, high] = found;
    const span = high - low || Math.abs(high) || 1;
    const room = [low - span, high + span], near = [low - span / 2, high + span / 2];
    for (const line of shown) {
      const outside = (bound) => bound !== null && (bound < room[0] || bound > room[1]);
      const join = (bound) => { low = Math.min(low, bound); high = Math.max(high, bound); };
      for (const bound of line.limits || []) if (bound !== null && !outside(bound)) join(bound);
      const limits = (line.limits || []).map((bound) => (outside(bound) ? bound : null));
      if (limits.some((bound) => bound !== null)) this.far.push({ name: line.name, limits });
      const faint = line.faint && strong.length ? this.extent([line.y], false) : null;
      if (!faint) continue;
      for (const end of faint) join(Math.max(near[0], Math.min(near[1], end)));
      if (faint[0] < near[0] || faint[1] > near[1]) this.beyond.push(line.name);
    }
    const margin = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1;
    return new Axis(low - margin, high + margin, false);
  }

  draw() {
    const { spec, svg, width } = this;
    if (this.figure.hidden) return;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const up = this.upAxis(), across = this.acrossAxis();
    const ticks = up.ticks(5);
    const left = 14 + 6.6 * Math.max(3, ...ticks.map(({ label }) => label.length));
    const right = width - 12, top = 8, bottom = HEIGHT - 34;
    up.span(bottom, top);
    across.span(left, right);
    Object.assign(this, { up, across, left, right });
    for (const { place, label } of ticks) {
      element("path", { class: place === 0 && !up.log ? "zero" : "rule", d: `M${left} ${up.raw(place)}H${right}` }, svg);
      element("text", { class: "end", x: left - 6, y: up.raw(place) + 4 }, svg, label);
    }
    for (const { place, label } of across.ticks(Math.max(3, Math.min(8, width / 90)))) {
      element("path", { class: "rule", d: `M${across.raw(place)} ${top}V${bottom + 4}` }, svg);
      element("text", { class: "mid", x: across.raw(place), y: bottom + 16 }, svg, label);
    }
    element("text", { class: "end", x: right, y: HEIGHT - 4 }, svg, spec.xLabel);
    for (const phase of (spec.phases || []).slice(0, -1)) {
      const line = element("path", { class: "phase", d: `M${across.at(phase.end)} ${top}V${bottom}` }, svg);
      element("title", {}, line, `end of ${phase.name}`);
    }
    element("path", { class: "frame", d: `M${left} ${top}V${bottom}H${right}` }, svg);
    this.drawLimits();
    // an inner picture cuts off what lies beyond the axes
    const inner = element("svg", { x: left, y: top, width: right - left, height: bottom - top, viewBox: `${left} ${top} ${right - left} ${bottom - top}` }, svg);
    for (const line of this.shown) if (line.band) this.drawBand(line, inner);
    for (const line of [...this.shown].sort((a, b) => Boolean(b.faint) - Boolean(a.faint))) this.drawLine(line, inner);
    (spec.marks || []).forEach((mark, k) => this.drawMark(mark, k % 2 ? 17 : -8));
    this.cursor = this.timed ? element("line", { class: "cursor", y1: top, y2: bottom }, svg) : null;
    this.note.textContent = [
      this.far.length ? `Limits beyond the axis: ${limitTexts(this.far)}` : "",
      this.beyond.length ? `Parts of ${this.beyond.join(", ")} lie beyond the axis.` : "",
      spec.note || "",
    ].filter(Boolean).join(" ");
    this.drawLegend();
    if (this.time !== undefined) this.mark(this.time);
  }

  // Corners of a curve in pixels, in unbroken pieces; steps have two for each value.
  pieces(line, y) {
    const x = this.xOf(line), pieces = [[]];
    y.forEach((value, k) => {
      if (value === null) { pieces.push([]); return; }
      const piece = pieces[pieces.length - 1], height = this.up.at(value).toFixed(1);
      piece.push(`${this.across.at(x[k]).toFixed(1)} ${height}`);
      if (line.step) piece.push(`${this.across.at(x[k + 1]).toFixed(1)} ${height}`);
    });
    return pieces.filter((piece) => piece.length);
  }

  drawBand(line, parent) {
    const lower = this.pieces(line, line.band[0]), upper = this.pieces(line, line.band[1]);
    const path = lower.map((piece, k) => `M${[...piece, ...[...(upper[k] || [])].reverse()].join("L")}Z`).join("");
    element("path", { class: "band", d: path, fill: colourOf(line.joint) }, parent);
  }

  drawLine(line, parent) {
    const pieces = this.pieces(line, line.y);
    if (line.dots) {
      const path = pieces.flat().map((corner) => `M${corner}h0`).join("");
      element("path", { class: line.faint ? "cloud faint" : "cloud", d: path, stroke: colourOf(line.joint) }, parent);
      return;
    }
    const path = pieces.map((piece) => `M${piece.join("L")}`).join("");
    element("path", { class: line.faint ? "curve faint" : "curve", d: path, stroke: colourOf(line.joint), "stroke-dasharray": dashesOf(line) }, parent);
    if (this.spec.points) for (const corner of pieces.flat()) {
      const [cx, cy] = corner.split(" ");
      element("circle", { class: "dot", cx, cy, r: 2 }, parent);
    }
  }

  // A ring and its label, so many pixels below; neighbouring marks have theirs apart.
  drawMark({ x, y, label }, below) {
    const [cx, cy] = [this.across.at(x), this.up.at(y)];
    element("circle", { class: "ring", cx, cy, r: 5.5 }, this.svg);
    const toLeft = cx > (this.left + this.right) / 2;
    element("text", { class: toLeft ? "end named" : "named", x: cx + (toLeft ? -10 : 10), y: cy + below }, this.svg, label);
  }

  // One line per distinct limit: in the joint's colour, or in ink if several joints share it.
  drawLimits() {
    const { up, left, right } = this;
    const owners = new Map(), what = this.spec.limitName || "limit";
    for (const line of this.shown) for (const bound of line.limits || []) {
      if (bound === null || bound < up.low || bound > up.high) continue;
      if (!owners.has(bound)) owners.set(bound, new Set());
      owners.get(bound).add(line);
    }
    for (const [bound, lines] of owners) {
      const colour = lines.size > 1 ? "var(--soft)" : colourOf([...lines][0].joint);
      const path = element("path", { class: "limit", d: `M${left} ${up.raw(bound)}H${right}`, stroke: colour }, this.svg);
      element("title", {}, path, `${what} of ${[...lines].map((line) => line.name).join(", ")}: ${readable(bound, 6)}`);
    }
    this.limited = owners.size > 0;
  }

  drawLegend() {
    this.legend.replaceChildren();
    this.values = [];
    if (!this.timed && !this.spec.legend) return;
    const item = () => tag("li", "", this.legend);
    const sample = (parent) => element("svg", { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" }, parent);
    for (const line of this.shown) {
      const entry = item(), colour = colourOf(line.joint), faint = line.faint ? " faint" : "";
      if (line.dots) element("path", { class: `cloud${faint}`, d: "M5 5h0M12 3h0M19 6h0", stroke: colour }, sample(entry));
      else if (line.faint) element("path", { class: "curve faint", d: "M0 5H24", stroke: colour }, sample(entry));
      else element("path", { d: "M0 5H24", stroke: colour, "stroke-width": 3, "stroke-dasharray": dashesOf(line) }, sample(entry));
      entry.append(line.name + " ");
      this.values.push(this.timed && !line.dots ? tag("b", "", entry) : null);
    }
    if (this.shown.some((line) => line.band)) {
      const entry = item();
      element("rect", { class: "band", width: 24, height: 10, fill: colourOf(this.shown.find((line) => line.band).joint) }, sample(entry));
      entry.append("95 % band");
    }
    if (this.limited) {
      const entry = item();
      element("path", { d: "M0 5H24", stroke: "var(--soft)", "stroke-width": 2, "stroke-dasharray": "2 3" }, sample(entry));
      entry.append(this.spec.limitName || "limit");
    }
  }

  mark(time) {
    this.time = time;
    if (!this.cursor || this.figure.hidden) return;
    const x = this.across.at(time).toFixed(1);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.shown.forEach((line, k) => {
      if (!this.values[k]) return;
      const at = (y) => valueAt(this.xOf(line), y, time, line.step);
      const reach = line.band && !line.joined ? (at(line.band[1]) - at(line.band[0])) / 2 : 0;
      this.values[k].textContent = readable(at(line.y), 4) + (reach > 0 ? ` ± ${readable(reach, 2)}` : "");
    });
  }
}

// "j1, j2 ±170; j3 −10 to 40": joints with equal limits together.
function limitTexts(lines) {
  const groups = new Map();
  for (const { name, limits } of lines) {
    const text = limitText(limits);
    groups.set(text, [...(groups.get(text) || []), name]);
  }
  const texts = [...groups].map(([text, names]) => `${names.length === lines.length && lines.length > 1 ? "all" : names.join(", ")} ${text}`);
  return texts.slice(0, 5).join("; ") + (texts.length > 5 ? "; …" : "");
}

function limitText([low, high]) {
  if (low === null) return readable(high);
  if (high === null) return readable(low);
  return low === -high ? `±${readable(high)}` : `${readable(low)} and ${readable(high)}`;
}
