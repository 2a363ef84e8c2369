// The animation: a camera that turns about the mechanism, and everything that it sees.

const FAR = 5; // distance of the eye over the radius of the scene
const FINE = 2; // pixels of the solids per pixel of the page, along each axis
const LIGHT = [-0.35, 0.6, 0.72]; // in screen axes: right, up, toward the eye

class Scene {
  constructor(canvas, data) {
    this.canvas = canvas;
    this.data = data;
    this.context = canvas.getContext("2d");
    this.raster = new Raster();
    const sides = data.solids.length > 40 ? 10 : 24;
    this.meshes = data.solids.map((solid) => meshOf(solid, sides));
    this.showAxes = false;
    this.time = 0;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.readColours();
    this.reset();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    this.colours = { ink: read("--ink"), soft: read("--soft"), grid: read("--line"), paths: [1, 0, 2, 3, 4, 6].map((k) => read(`--c${k}`)), force: read("--bad") };
    const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
    this.tones = [...Array(8).keys()].map((k) => rgb(read(`--c${k}`)));
    this.hub = rgb(read("--hub"));
    this.base = rgb(read("--base"));
  }

  reset() {
    const camera = this.data.camera;
    this.azimuth = camera.azimuth;
    this.elevation = camera.elevation;
    this.zoom = 1;
    this.pan = [0, 0];
    this.resize();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.width = Math.max(50, box.width);
    this.height = Math.max(50, box.height);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.raster.resize(Math.round(FINE * this.width), Math.round(FINE * this.height));
    this.draw();
  }

  turn(right, up) {
    this.azimuth -= right;
    this.elevation = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, this.elevation + up));
    this.draw();
  }

  magnify(factor) {
    this.zoom = Math.max(0.2, Math.min(20, this.zoom * factor));
    this.draw();
  }

  listen() {
    const canvas = this.canvas, pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.setPointerCapture(event.pointerId);
    });
    const release = (event) => pointers.delete(event.pointerId);
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const now = [event.clientX, event.clientY];
      pointers.set(event.pointerId, now);
      const dx = now[0] - before[0], dy = now[1] - before[1];
      if (pointers.size === 2) {
        const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const apart = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
        this.magnify(apart(now) / Math.max(1, apart(before)));
      } else if (event.shiftKey) {
        this.pan = [this.pan[0] + dx, this.pan[1] + dy];
        this.draw();
      } else this.turn(0.008 * dx, 0.008 * dy);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.magnify(Math.exp(-0.0015 * Math.max(-200, Math.min(200, event.deltaY))));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const act = {
        ArrowLeft: () => this.turn(-0.1, 0), ArrowRight: () => this.turn(0.1, 0),
        ArrowUp: () => this.turn(0, -0.1), ArrowDown: () => this.turn(0, 0.1),
        "+": () => this.magnify(1.15), "=": () => this.magnify(1.15), "-": () => this.magnify(1 / 1.15), 0: () => this.reset(),
      }[event.key];
      if (act && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act(); }
    });
  }

  setTime(time) {
    this.time = time;
    this.draw();
  }

  // Position and rotation matrix of each link now; the last entry (index -1 + n + 1) is the world.
  poses() {
    const [k, share] = locate(this.data.times, this.time);
    const poses = this.data.poses.map((flat) => {
      const at = 7 * k, next = Math.min(at + 7, flat.length - 7);
      const mixed = [];
      for (let i = 0; i < 7; i++) mixed.push(flat[at + i] + share * (flat[next + i] - flat[at + i]));
      return { p: mixed.slice(0, 3), R: rotation(mixed.slice(3)) };
    });
    poses[-1] = { p: [0, 0, 0], R: [1, 0, 0, 0, 1, 0, 0, 0, 1] };
    return poses;
  }

  aim() {
    const { up, east, north, half, radius } = this.data.camera;
    const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth);
    const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    const toward = plus(times(plus(times(east, ca), times(north, sa)), ce), times(up, se));
    const right = plus(times(east, -sa), times(north, ca));
    this.rows = [...right, ...cross(toward, right), ...toward];
    this.scale = this.zoom * 0.82 * Math.min(this.width / (2 * half[0]), this.height / (2 * half[1]));
    this.distance = FAR * radius;
  }

  // Screen x, y and depth toward the eye (m).
  project(x) {
    const seen = apply(this.rows, plus(x, times(this.data.camera.centre, -1)));
    const nearer = this.scale * this.distance / Math.max(0.05 * this.distance, this.distance - seen[2]);
    return [this.width / 2 + this.pan[0] + nearer * seen[0], this.height / 2 + this.pan[1] - nearer * seen[1], seen[2]];
  }

  draw() {
    this.context.clearRect(0, 0, this.width, this.height);
    this.aim();
    const poses = this.poses();
    const place = (link, x) => plus(apply(poses[link].R, x), poses[link].p);
    this.drawGrid();
    this.drawPaths();
    this.drawSolids(place, poses);
    if (this.showAxes) this.drawAxes(place, poses);
    this.drawForces(place, poses);
    this.drawMeasured();
    this.drawTriad();
  }

  line(points, colour, width, dash = []) {
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], k) => (k ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.stroke();
    c.setLineDash([]);
  }

  drawGrid() {
    const { origin, a, b, step, lines } = this.data.grid;
    const reach = lines * step;
    for (let k = -lines; k <= lines; k++) for (const [along, across] of [[a, b], [b, a]]) {
      const foot = plus(origin, times(across, k * step));
      const ends = [-reach, 0, reach].map((d) => this.project(plus(foot, times(along, d))));
      this.line(ends, this.colours.grid, 0.7);
    }
  }

  drawPaths() {
    for (const [number, path] of this.data.paths.entries()) {
      const points = path.points.map((x) => this.project(x)), colour = this.colours.paths[number];
      this.line(points, colour, 1, [3, 3]);
      const [k] = locate(this.data.times, this.time);
      if (this.time > 0) this.line(points.slice(0, k + 1), colour, 2.4);
    }
  }

  drawSolids(place, poses) {
    const raster = this.raster;
    raster.clear();
    for (const mesh of this.meshes) {
      const tone = mesh.role === "hub" ? this.hub : mesh.link < 0 ? this.base : this.tones[mesh.link % 8];
      const points = mesh.points.map((x) => {
        const [px, py, depth] = this.project(place(mesh.link, x));
        return [px * FINE, py * FINE, 1 / Math.max(0.05 * this.distance, this.distance - depth)];
      });
      const bright = mesh.normals.map((normal) => {
        const seen = apply(this.rows, apply(poses[mesh.link].R, normal));
        return 0.6 + 0.5 * Math.max(-0.3, dot(seen, LIGHT));
      });
      const corner = ([point, normal]) => [...points[point], bright[normal]];
      for (const [a, b, c] of mesh.triangles) raster.triangle(corner(a), corner(b), corner(c), tone);
    }
    this.context.drawImage(raster.picture(), 0, 0, this.width, this.height);
  }

  drawAxes(place, poses) {
    const reach = 0.09 * this.data.camera.radius;
    for (const { link, p, axis } of this.data.axes) {
      const middle = place(link, p), along = times(apply(poses[link].R, axis), reach);
      const ends = [plus(middle, times(along, -1)), plus(middle, along)].map((x) => this.project(x));
      this.line(ends, this.colours.ink, 1.4);
    }
  }

  drawForces(place, poses) {
    for (const { link, p, vector, world, label } of this.data.forces) {
      const foot = place(link, p);
      this.arrow(foot, plus(foot, world ? vector : apply(poses[link].R, vector)), label);
    }
  }

  arrow(foot, tip, label) {
    const c = this.context;
    const [a, b] = [this.project(foot), this.project(tip)];
    this.line([a, b], this.colours.force, 2.6);
    const angle = Math.atan2(b[1] - a[1], b[0] - a[0]);
    c.beginPath();
    for (const side of [0, 2.7, -2.7]) c.lineTo(b[0] + 9 * Math.cos(angle + side) , b[1] + 9 * Math.sin(angle + side));
    c.fillStyle = this.colours.force;
    c.fill();
    c.font = "12px system-ui, sans-serif";
    c.textAlign = "left";
    c.fillText(label, b[0] + 10, b[1] + 4);
  }

  // Markers as rings, and forces that change as arrows, of the frame that is nearest in time.
  drawMeasured() {
    const { markers = [], loads = [], times: instants } = this.data;
    const [before, share] = locate(instants, this.time);
    const k = before + (share > 0.5 ? 1 : 0), c = this.context;
    for (const { points } of markers) {
      if (points[k] === null) continue;
      const [x, y] = this.project(points[k]);
      c.beginPath();
      c.arc(x, y, 4, 0, 2 * Math.PI);
      c.strokeStyle = this.colours.ink;
      c.lineWidth = 1.8;
      c.stroke();
    }
    for (const { feet, tips, labels } of loads) if (feet[k] !== null) this.arrow(feet[k], tips[k], labels[k]);
  }

  drawTriad() {
    const c = this.context, middle = [this.width - 42, this.height - 40];
    c.font = "600 12px system-ui, sans-serif";
    c.textAlign = "center";
    "xyz".split("").forEach((name, k) => {
      const unit = [0, 0, 0];
      unit[k] = 1;
      const [x, y] = apply(this.rows, unit);
      if (Math.hypot(x, y) < 0.08) return;
      const tip = [middle[0] + 24 * x, middle[1] - 24 * y];
      this.line([middle, tip], this.colours.soft, 1.6);
      c.fillStyle = this.colours.soft;
      c.fillText(name, middle[0] + 33 * x, middle[1] - 33 * y + 4);
    });
  }
}
