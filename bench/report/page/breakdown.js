// Where the mean latency of each point of a run went.

const stages = [
  {key: 'queue_us', name: 'queue', color: 'run1'},
  {key: 'compute_input_us', name: 'input', color: 'run4'},
  {key: 'compute_infer_us', name: 'infer', color: 'run0'},
  {key: 'compute_output_us', name: 'output', color: 'run2'},
];
const restStage = {name: 'client and network', color: 'run5'};

function served(point) {
  return stages.reduce((sum, stage) => sum + (point.server[stage.key] || 0), 0);
}

charts.breakdown = (figure) => {
  const points = pointsOf(runs[view.run]).filter((point) =>
      point.server && stages.some((stage) => point.server[stage.key] > 0));
  if (points.length === 0) {
    nothing(figure, 'The server told no times of this run.');
    return;
  }
  const sets = stages.filter((stage) => points.some((point) =>
      point.server[stage.key] > 0)).map((stage) => bars(stage.name,
      points.map((point) => (point.server[stage.key] || 0) / 1000),
      color(stage.color)));
  sets.push(bars(restStage.name, points.map((point) =>
      Math.max(0, point.latency.mean_us - served(point)) / 1000),
  color(restStage.color)));
  key(figure, sets.map((set) => ({label: set.label, color: set.backgroundColor})));
  plot(figure, 300, {labels: points.map(describeShortly), datasets: sets}, {
    type: 'bar', mode: 'index', label: 'Mean latency by stage at each load',
    scales: {x: {...categories('load'), stacked: true},
      y: {...axis({title: 'mean, ms', ticks: 7}, []), stacked: true}},
    title: (items) => describe(points[items[0].dataIndex]) + ', mean ' +
        ms(points[items[0].dataIndex].latency.mean_us),
    tooltip: (item) => item.dataset.label + ': ' + short(item.raw) + ' ms',
  });
};
