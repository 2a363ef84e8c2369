// A page of charts, with an animation if there is a motion.
// data: times: lists that the charts name by their number; charts: by the place where they go;
// pickers: [{place, charts, names, first}]; motion: null or {start, end, rows}; scene

(function start() {
  const data = JSON.parse(find("data").textContent);
  const { motion, scene } = data;
  const clock = motion ? new Clock(motion.start, motion.end) : null;
  const seek = clock ? (time) => clock.seek(time) : null;
  preparePrinting();

  const timesOf = (curve) => ({ ...curve, x: data.times[curve.x] });
  const made = {};
  for (const [place, specs] of Object.entries(data.charts)) {
    made[place] = specs.map((spec) => {
      const chart = new Chart(find(place), { ...spec, series: spec.series.map(timesOf) }, spec.timed ? seek : null);
      if (clock && spec.timed) clock.tell((time) => chart.mark(time));
      return chart;
    });
  }
  for (const { place, charts, names, first } of data.pickers) {
    showPicker(find(place), names, first, charts.flatMap((name) => made[name]));
  }
  if (clock) {
    showPlayer(clock, scene, []);
    const curve = (given) => given && timesOf(given);
    showState(clock, motion.rows.map((row) => ({ ...row, position: curve(row.position), effort: curve(row.effort) })));
    clock.seek(clock.start);
  }
})();
