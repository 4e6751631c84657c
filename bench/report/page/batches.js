// How batches were composed at one point, and why they left at each.

charts.batches = (figure) => {
  const counts = view.point?.server?.batches || {};
  const sizes = Object.keys(counts).map(Number).filter((rows) => counts[rows] > 0)
      .sort((a, b) => a - b);
  if (sizes.length === 0) {
    nothing(figure, 'The server told none of this point.');
    return;
  }
  const all = sizes.reduce((sum, rows) => sum + counts[rows], 0);
  plot(figure, 300, {
    labels: sizes,
    datasets: [bars('batches', sizes.map((rows) => counts[rows] / all),
        color('run0'))],
  }, {
    type: 'bar', label: 'Share of the batches by their rows',
    scales: {x: categories('rows of a batch'),
      y: axis({title: 'of all batches', percent: true, ticks: 6}, [])},
    title: (items) => items[0].label + ' rows',
    tooltip: (item) => percent(item.raw) + ', ' +
        counts[sizes[item.dataIndex]].toLocaleString('en') + ' batches',
  });
};

charts.closes = (figure) => {
  const points = pointsOf(runs[view.run]).filter((point) =>
      Object.values(point.server?.close_reasons || {}).some((n) => n > 0));
  if (points.length === 0) {
    nothing(figure, 'The server told none of this run.');
    return;
  }
  const reasons = [...new Set(points.flatMap((point) =>
      Object.keys(point.server.close_reasons)))].filter((reason) =>
    points.some((point) => point.server.close_reasons[reason] > 0)).sort();
  const sum = (point) => Object.values(point.server.close_reasons)
      .reduce((all, one) => all + one, 0);
  key(figure, reasons.map((reason, at) =>
      ({label: reason.replaceAll('_', ' '), color: color('run' + at % 8)})));
  plot(figure, 300, {
    labels: points.map(describeShortly),
    datasets: reasons.map((reason, at) => bars(reason, points.map((point) =>
      (point.server.close_reasons[reason] || 0) / sum(point)),
    color('run' + at % 8))),
  }, {
    type: 'bar', mode: 'index', label: 'Share of the batches by close reason',
    scales: {x: {...categories('load'), stacked: true},
      y: {...axis({title: 'of all batches', percent: true, ticks: 6}, []),
        stacked: true, max: 1}},
    title: (items) => describe(points[items[0].dataIndex]),
    tooltip: (item) => item.dataset.label + ': ' + percent(item.raw),
  });
};
