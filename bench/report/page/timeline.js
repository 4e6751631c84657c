// One point over its window: latency above, rates below.

function slices(point) {
  let begin = 0;
  return point.series.map((slice) => {
    const seconds = slice.end_s - begin;
    begin = slice.end_s;
    return {...slice, middle: slice.end_s - seconds / 2, seconds};
  }).filter((slice) => slice.seconds > 0);
}

function timeAxis(title, all) {
  const x = axis({title, ticks: 11}, []);
  x.min = 0;
  x.max = all[all.length - 1].end_s;
  return x;
}

function rateLine(name, all, count, look) {
  return line(name, all.map((slice) => ({x: slice.middle,
    y: count(slice) / slice.seconds})), {...look, marker: markers[0],
    dash: look.dash || []});
}

charts.timeline = (figure) => {
  const all = slices({series: view.point?.series || []});
  if (all.length === 0) {
    nothing(figure, 'This point has no slices.');
    return;
  }
  const latency = [percentiles[0], percentiles[2]].map((percentile, at) => line(
      percentile.name, all.map((slice) => ({x: slice.middle,
        y: slice[percentile.key] / 1000})).filter((one) => one.y > 0),
      {color: color(percentile.color), marker: markers[at * 2],
        dash: percentile.dash, radius: 3}));
  const rates = [rateLine('planned/s', all, (slice) => slice.planned,
      {color: color('run0'), radius: 2})];
  if (all.some((slice) => slice.failed > 0)) {
    rates.push(rateLine('failed/s', all, (slice) => slice.failed,
        {color: color('run3'), radius: 2, dash: [4, 3]}));
  }
  key(figure, [...latency.map((set, at) => ({label: set.label,
    color: set.borderColor, dash: set.borderDash, marker: markers[at * 2]})),
  ...rates.map((set) => ({label: set.label, color: set.borderColor,
    dash: set.borderDash, marker: markers[0]}))]);
  const at = (item) => item.dataset.label + ': ' + short(item.raw.y) +
      ' at ' + short(item.raw.x) + ' s';
  plot(figure, 230, {datasets: latency}, {
    label: 'p50 and p99 over the window', bound: latencyBound('y'), tooltip: at,
    scales: {x: timeAxis('', all), y: axis({title: 'latency, ms', log: true},
        latency.flatMap((set) => set.data.map((one) => one.y)))},
  });
  plot(figure, 150, {datasets: rates}, {
    label: 'Requests planned and failed a second over the window', tooltip: at,
    scales: {x: timeAxis('seconds into the window', all),
      y: axis({title: 'requests/s', ticks: 5}, [])},
  });
};
