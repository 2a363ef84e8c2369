// The page of a solution.

(function start() {
  const data = JSON.parse(find("data").textContent);
  const { motion, history } = data;
  preparePrinting();

  function solverCharts() {
    for (const { title, x, y, log } of history) {
      new Chart(find("history"), { title, x, log, xLabel: "iteration", points: x.length < 60, series: [{ joint: 0, name: title, y }] });
    }
  }

  function timedCharts(clock, place, specs) {
    const charts = specs.map((spec) => new Chart(place, { ...spec, xLabel: "time [s]", phases: motion.phases }, (time) => clock.seek(time)));
    clock.tell((time) => charts.forEach((chart) => chart.mark(time)));
    return charts;
  }

  function motionSpecs() {
    return motion.charts.map((chart) => ({
      title: chart.title, unit: chart.unit, x: motion.t,
      series: chart.joints.map((joint, k) => ({ joint, name: motion.joints[joint], y: chart.values[k], limits: chart.limits[k] })),
    }));
  }

  // Of many joints, first those whose effort varies most, relative to the limit where there is one.
  function firstShown() {
    if (motion.joints.length <= 8) return motion.joints.keys();
    const weight = new Map();
    for (const chart of motion.charts.filter((chart) => /Joint (torque|force)/.test(chart.title))) {
      chart.joints.forEach((joint, k) => {
        const sizes = chart.values[k].filter((y) => y !== null);
        weight.set(joint, (Math.max(...sizes) - Math.min(...sizes)) / (chart.limits[k][1] || 1));
      });
    }
    return [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a)).slice(0, 6);
  }

  function stateRows() {
    const curve = (joint, test) => {
      const chart = motion.charts.find((chart) => test.test(chart.title) && chart.joints.includes(joint));
      if (!chart) return null;
      const k = chart.joints.indexOf(joint), y = chart.values[k];
      const limit = Math.max(...chart.limits[k].map((bound) => (bound === null ? 0 : Math.abs(bound))));
      return { x: motion.t, y, unit: chart.unit, most: limit || y.reduce((size, value) => Math.max(size, Math.abs(value)), 0) || 1 };
    };
    return motion.joints.map((name, joint) => ({
      name, joint, position: curve(joint, /^Joint (angle|position)/), effort: curve(joint, /^Joint (torque|force)/),
    }));
  }

  solverCharts();
  if (motion) {
    const clock = new Clock(0, motion.duration);
    showPlayer(clock, data.scene, motion.phases);
    showState(clock, stateRows());
    find("curves").hidden = false;
    const charts = timedCharts(clock, find("charts"), motionSpecs());
    showPicker(find("picker"), motion.joints, firstShown(), charts);
    find("signals").hidden = data.signals.length === 0;
    timedCharts(clock, find("signals"), data.signals);
    timedCharts(clock, find("checks"), data.verification);
    clock.seek(0);
  }
})();
