// The page: one clock that the animation, the slider, the table of joints and the charts follow.

(function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { motion, history } = data;
  const find = (id) => document.getElementById(id);
  const many = motion && motion.joints.length > 8;
  const following = []; // called with the time

  function seriesOf(chart) {
    return chart.joints.map((joint, k) => ({ joint, name: motion.joints[joint], y: chart.values[k], limits: chart.limits[k] }));
  }

  const clock = {
    time: 0, playing: false, last: 0, speed: 1,
    seek(time) {
      this.time = Math.max(0, Math.min(motion.duration, time));
      for (const follow of following) follow(this.time);
    },
    toggle() {
      this.playing = !this.playing;
      if (this.playing && this.time >= motion.duration) this.seek(0);
      find("play").textContent = this.playing ? "❚❚ Pause" : "▶ Play";
      this.last = 0;
      if (this.playing) requestAnimationFrame((now) => this.step(now));
    },
    step(now) {
      if (!this.playing) return;
      const passed = this.last ? Math.min(0.2, (now - this.last) / 1000) : 0;
      this.last = now;
      const time = this.time + passed * this.speed;
      if (time >= motion.duration && !find("loop").checked) {
        this.seek(motion.duration);
        this.toggle();
        return;
      }
      this.seek(motion.duration > 0 ? time % motion.duration : 0);
      requestAnimationFrame((next) => this.step(next));
    },
  };

  function motionCharts() {
    find("curves").hidden = false;
    const charts = motion.charts.map((chart) => new Chart(find("charts"), {
      title: chart.title, unit: chart.unit, x: motion.t, xLabel: "time [s]", phases: motion.phases, series: seriesOf(chart),
    }, (time) => clock.seek(time)));
    picker(charts);
    following.push((time) => charts.forEach((chart) => chart.mark(time)));
  }

  function verificationCharts() {
    const charts = data.verification.map((chart) => new Chart(find("checks"), {
      ...chart, xLabel: "time [s]", phases: motion.phases,
    }, (time) => clock.seek(time)));
    following.push((time) => charts.forEach((chart) => chart.mark(time)));
  }

  function solverCharts() {
    for (const { title, x, y, log } of history) {
      new Chart(find("history"), { title, x, log, xLabel: "iteration", points: x.length < 60, series: [{ joint: 0, name: title, y }] });
    }
  }

  // Of many joints, first those whose effort varies most, relative to the limit where there is one.
  function firstShown() {
    if (!many) return motion.joints.keys();
    const weight = new Map();
    for (const chart of motion.charts.filter((chart) => /Joint (torque|force)/.test(chart.title))) {
      chart.joints.forEach((joint, k) => {
        const sizes = chart.values[k].filter((y) => y !== null);
        weight.set(joint, (Math.max(...sizes) - Math.min(...sizes)) / (chart.limits[k][1] || 1));
      });
    }
    return [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a)).slice(0, 6);
  }

  function picker(charts) {
    const shown = new Set(firstShown());
    const buttons = motion.joints.map((name, joint) => {
      const button = tag("button", "", find("picker"));
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
    for (const [text, joints] of many ? [["None", []], ["All", [...motion.joints.keys()]]] : []) {
      const button = tag("button", "", null, text);
      button.type = "button";
      button.addEventListener("click", () => {
        shown.clear();
        joints.forEach((joint) => shown.add(joint));
        update();
      });
      find("picker").prepend(button);
    }
    find("picker").hidden = motion.joints.length === 1;
    update();
  }

  // Current position and effort of every joint, with a bar of effort against its limit.
  function stateTable() {
    const rows = motion.joints.map((name, joint) => {
      const pick = (test) => motion.charts.find((chart) => test.test(chart.title) && chart.joints.includes(joint));
      const position = pick(/^Joint (angle|position)/), effort = pick(/^Joint (torque|force)/);
      const row = tag("tr", "", find("state").tBodies[0]);
      const head = tag("th", "", row);
      head.scope = "row";
      swatch(joint, head);
      head.append(name);
      const cells = [[position, position.joints.indexOf(joint), tag("td", "n", row)]];
      if (!effort) {
        tag("td", "n", row, "no motor");
        return { cells, bar: null };
      }
      cells.push([effort, effort.joints.indexOf(joint), tag("td", "n", row)]);
      const svg = element("svg", { viewBox: "-50 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, tag("td", "meter", row));
      const bar = element("rect", { height: 10 }, svg);
      element("path", { d: "M0 0V10", stroke: "var(--soft)" }, svg);
      const k = effort.joints.indexOf(joint);
      const limit = Math.max(...effort.limits[k].map((bound) => (bound === null ? 0 : Math.abs(bound))));
      const most = limit || effort.values[k].reduce((size, y) => Math.max(size, Math.abs(y)), 0) || 1;
      return { cells, bar, effort: effort.values[k], most };
    });
    following.push((time) => {
      for (const { cells, bar, effort, most } of rows) {
        for (const [chart, k, cell] of cells) cell.textContent = `${readable(valueAt(motion.t, chart.values[k], time), 4)} ${chart.unit}`;
        if (!bar) continue;
        const share = 50 * Math.max(-1, Math.min(1, (valueAt(motion.t, effort, time) || 0) / most));
        bar.setAttribute("x", Math.min(0, share));
        bar.setAttribute("width", Math.abs(share));
      }
    });
  }

  function player() {
    find("player").hidden = false;
    const scene = new Scene(find("scene"), data.scene);
    const slider = find("slider"), output = find("clock"), speed = find("speed");
    const digits = Math.max(2, 3 - Math.floor(Math.log10(motion.duration || 1)));
    following.push((time) => {
      scene.setTime(time);
      slider.value = Math.round(1000 * time / motion.duration);
      slider.setAttribute("aria-valuetext", `${time.toFixed(digits)} seconds`);
      const phase = motion.phases.length > 1 ? motion.phases.find(({ end }) => time <= end) : null;
      output.textContent = `${time.toFixed(digits)} of ${motion.duration.toFixed(digits)} s${phase ? ` · ${phase.name}` : ""}`;
    });
    slider.addEventListener("input", () => clock.seek(slider.value / 1000 * motion.duration));
    find("play").addEventListener("click", () => clock.toggle());
    find("reset").addEventListener("click", () => scene.reset());
    find("axes").addEventListener("change", (event) => { scene.showAxes = event.target.checked; scene.draw(); });
    find("scene").addEventListener("keydown", (event) => {
      if (event.key === " ") { event.preventDefault(); clock.toggle(); }
    });
    const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
    clock.speed = speeds.filter((factor) => factor <= 1 && motion.duration / factor >= 2).pop() || speeds[0];
    for (const factor of speeds) {
      const option = tag("option", "", speed, `${factor}×`);
      option.value = factor;
      option.selected = factor === clock.speed;
    }
    speed.addEventListener("change", () => { clock.speed = Number(speed.value); });
    find("hint").textContent = `Grid ${readable(data.scene.grid.step)} m. ${matchMedia("(pointer: coarse)").matches ? "Drag turns, pinch zooms." : "Drag turns, wheel zooms, shift-drag moves."}`;
    const repaint = () => { scene.readColours(); scene.draw(); };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    addEventListener("beforeprint", () => {
      document.documentElement.dataset.light = "";
      document.querySelectorAll("details").forEach((part) => { part.open = true; });
      repaint();
    });
    addEventListener("afterprint", () => { delete document.documentElement.dataset.light; repaint(); });
  }

  solverCharts();
  if (motion) {
    player();
    stateTable();
    motionCharts();
    verificationCharts();
    clock.seek(0);
  }
})();
