// One clock that the animation, the slider, the table of joints and the charts follow.

const find = (id) => document.getElementById(id);

class Clock {
  constructor(start, end) {
    Object.assign(this, { start, end, time: start, playing: false, last: 0, speed: 1, following: [] });
  }

  get duration() { return this.end - this.start; }

  // follow: called with every new time.
  tell(follow) { this.following.push(follow); }

  seek(time) {
    this.time = Math.max(this.start, Math.min(this.end, time));
    for (const follow of this.following) follow(this.time);
  }

  toggle() {
    this.playing = !this.playing;
    if (this.playing && this.time >= this.end) this.seek(this.start);
    find("play").textContent = this.playing ? "❚❚ Pause" : "▶ Play";
    this.last = 0;
    if (this.playing) requestAnimationFrame((now) => this.step(now));
  }

  step(now) {
    if (!this.playing) return;
    const passed = this.last ? Math.min(0.2, (now - this.last) / 1000) : 0;
    this.last = now;
    const time = this.time + passed * this.speed;
    if (time >= this.end && !find("loop").checked) {
      this.seek(this.end);
      this.toggle();
      return;
    }
    this.seek(this.duration > 0 ? this.start + (time - this.start) % this.duration : this.start);
    requestAnimationFrame((next) => this.step(next));
  }
}

// The animation with its controls. phases: [{name, end}]
function showPlayer(clock, sceneData, phases) {
  find("player").hidden = false;
  const scene = new Scene(find("scene"), sceneData);
  const slider = find("slider"), output = find("clock"), speed = find("speed");
  const digits = Math.max(2, 3 - Math.floor(Math.log10(clock.duration || 1)));
  clock.tell((time) => {
    scene.setTime(time);
    slider.value = Math.round(1000 * (time - clock.start) / clock.duration);
    slider.setAttribute("aria-valuetext", `${time.toFixed(digits)} seconds`);
    const phase = phases.length > 1 ? phases.find(({ end }) => time <= end) : null;
    output.textContent = `${time.toFixed(digits)} of ${clock.end.toFixed(digits)} s${phase ? ` · ${phase.name}` : ""}`;
  });
  slider.addEventListener("input", () => clock.seek(clock.start + slider.value / 1000 * clock.duration));
  find("play").addEventListener("click", () => clock.toggle());
  find("reset").addEventListener("click", () => scene.reset());
  find("axes").addEventListener("change", (event) => { scene.showAxes = event.target.checked; scene.draw(); });
  find("scene").addEventListener("keydown", (event) => {
    if (event.key === " ") { event.preventDefault(); clock.toggle(); }
  });
  const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
  clock.speed = speeds.filter((factor) => factor <= 1 && clock.duration / factor >= 2).pop() || speeds[0];
  for (const factor of speeds) {
    const option = tag("option", "", speed, `${factor}×`);
    option.value = factor;
    option.selected = factor === clock.speed;
  }
  speed.addEventListener("change", () => { clock.speed = Number(speed.value); });
  find("hint").textContent = `Grid ${readable(sceneData.grid.step)} m. ${matchMedia("(pointer: coarse)").matches ? "Drag to rotate, pinch to zoom." : "Drag to rotate, scroll to zoom, shift-drag to pan."}`;
  const repaint = () => { scene.readColours(); scene.draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", repaint);
  addEventListener("afterprint", repaint);
}

// Paper is white, and everything is on it. To be called before what repaints itself is made.
function preparePrinting() {
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.light = "";
    document.querySelectorAll("details").forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.light; });
}

// Current position and effort of every joint, with a bar of effort against the most there can be.
// rows: [{name, joint, position, effort: null or}, both {x, y, step, unit}; effort also most]
function showState(clock, rows) {
  const lines = rows.map(({ name, joint, position, effort }) => {
    const row = tag("tr", "", find("state").tBodies[0]);
    const head = tag("th", "", row);
    head.scope = "row";
    swatch(joint, head);
    head.append(name);
    const cells = [[position, tag("td", "n", row)]];
    if (!effort) {
      tag("td", "n", row, "no motor");
      return { cells, bar: null };
    }
    cells.push([effort, tag("td", "n", row)]);
    const svg = element("svg", { viewBox: "-50 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, tag("td", "meter", row));
    const bar = element("rect", { height: 10 }, svg);
    element("path", { d: "M0 0V10", stroke: "var(--soft)" }, svg);
    return { cells, bar, effort };
  });
  const at = (curve, time) => valueAt(curve.x, curve.y, time, curve.step);
  clock.tell((time) => {
    for (const { cells, bar, effort } of lines) {
      for (const [curve, cell] of cells) cell.textContent = `${readable(at(curve, time), 4)} ${curve.unit}`;
      if (!bar) continue;
      const share = 50 * Math.max(-1, Math.min(1, (at(effort, time) || 0) / effort.most));
      bar.setAttribute("x", Math.min(0, share));
      bar.setAttribute("width", Math.abs(share));
    }
  });
}

// Buttons that choose what the charts show, by the number that the series carry as `joint`.
function showPicker(place, names, first, charts) {
  const shown = new Set(first), many = names.length > 8;
  const buttons = names.map((name, joint) => {
    const button = tag("button", "", place);
    button.type = "button";
    swatch(joint, button);
    button.append(name);
    button.addEventListener("click", () => {
      if (!shown.delete(joint)) shown.add(joint);
      update();
    });
    return button;
  });
  function update() {
    buttons.forEach((button, joint) => button.setAttribute("aria-pressed", shown.has(joint)));
    charts.forEach((chart) => chart.show(shown));
  }
  for (const [text, joints] of many ? [["None", []], ["All", [...names.keys()]]] : []) {
    const button = tag("button", "", null, text);
    button.type = "button";
    button.addEventListener("click", () => {
      shown.clear();
      joints.forEach((joint) => shown.add(joint));
      update();
    });
    place.prepend(button);
  }
  place.hidden = names.length === 1;
  update();
}
