// Throughput against p99 with its frontier, and rows of a batch against rate.

// A line for each run and loop: open loops joined on demand, closed ones not.
// `percentile`: the name of that which an axis is of, if any.
function pointLines(x, y, joins, percentile) {
  return shownRuns().flatMap(({run, index}) => ['open', 'closed'].map((loop) => {
    const dots = run.points.filter((point) => point.ok > 0 &&
        point.loop === loop && !isTry(point))
        .map((point) => dot(point, x(point), y(point), null, percentile))
        .filter(isDrawable)
        .sort((a, b) => a.point.offered_rate - b.point.offered_rate);
    return line(run.label, dots, {color: runColor(index),
      marker: loop === 'open' ? runMarker(index) : closedMarker,
      dash: joins && loop === 'open' ? [] : null, radius: 5});
  })).filter((one) => one.data.length > 0);
}

function loopKey(lines) {
  const items = [];
  if (lines.some((one) => one.pointStyle !== 'crossRot')) {
    items.push({label: 'open loop', color: color('text'),
      marker: view.shown.size === 1 ? runMarker([...view.shown][0]) : markers[0]});
  }
  if (lines.some((one) => one.pointStyle === 'crossRot')) {
    items.push({label: 'closed loop', color: color('text'),
      marker: closedMarker});
  }
  return items;
}

function frontierLines() {
  const dots = marks.frontier.map(pointAt).map((point) =>
      dot(point, point.latency.p99_us / 1000, point.achieved_rate));
  const none = {style: 'circle'};
  const lines = [{...line('frontier', dots, {color: faded(color('text'), 0.3),
    marker: none, dash: [], radius: 0, width: 5}), order: 2, pointHitRadius: 0,
  borderJoinStyle: 'round', borderCapStyle: 'round'}];
  if (marks.chosen) {
    const point = pointAt(marks.chosen);
    lines.push({...line('chosen', [dot(point, point.latency.p99_us / 1000,
        point.achieved_rate)], {color: color('bound'), marker: none,
      dash: null, radius: 11}), order: 1, pointBackgroundColor: 'transparent',
    pointBorderWidth: 2.5, pointHitRadius: 0});
  }
  return lines;
}

charts.throughput = (figure) => {
  const lines = pointLines((point) => point.latency.p99_us / 1000,
      (point) => point.achieved_rate, false, 'p99');
  const front = frontierLines();
  const all = [...lines, ...front].flatMap((one) => one.data);
  const items = [...loopKey(lines), {label: 'frontier',
    color: faded(color('text'), 0.3), dash: [], width: 5}];
  if (marks.chosen) {
    items.push({label: 'chosen', color: color('bound'), marker: markers[0],
      hollow: true});
  }
  key(figure, items);
  addAsides(figure, lines.flatMap((one) => one.data));
  const bound = latencyBound('x');
  plot(figure, 340, {datasets: [...lines, ...front]}, {
    label: 'Achieved rate against p99 latency', bound,
    scales: {
      x: axis({title: 'p99 latency, ms', log: true, isX: true},
          [...all.map((one) => one.x), marks.slo_ms || NaN]),
      y: axis({title: 'achieved, requests/s'}, []),
    },
    tooltip: (item) => item.dataset.label + ': ' + short(item.raw.y) +
        '/s at p99 ' + short(item.raw.x) + ' ms (' + describe(item.raw.point) +
        ')' + aside(item.raw),
  });
};

charts.rows = (figure) => {
  const lines = pointLines((point) => point.achieved_rate,
      (point) => point.mean_rows, true);
  if (lines.length === 0) {
    nothing(figure, 'The servers of the runs that are drawn told none.');
    return;
  }
  key(figure, loopKey(lines));
  addAsides(figure, lines.flatMap((one) => one.data));
  plot(figure, 340, {datasets: lines}, {
    label: 'Mean rows of a batch against the achieved rate',
    scales: {
      x: axis({title: 'achieved, requests/s', ticks: 7}, []),
      y: axis({title: 'mean rows of a batch'}, []),
    },
    tooltip: (item) => item.dataset.label + ': ' + short(item.raw.y) +
        ' rows at ' + short(item.raw.x) + '/s (' + describe(item.raw.point) + ')' +
        aside(item.raw),
  });
};
