// What a million requests cost at each rate; hollow where a bound is missed or
// too many failed.

charts.money = (figure) => {
  const lines = shownRuns().map(({run, index}) => {
    const dots = marks.costs.filter(({at}) => at[0] === index).map((cost) => {
      const point = pointAt(cost.at);
      return {...dot(point, point.achieved_rate, cost.per_million),
        hollow: cost.hollow};
    }).sort((a, b) => a.x - b.x);
    return line(run.label, dots, {color: runColor(index),
      marker: runMarker(index), dash: [], radius: 5});
  }).filter((one) => one.data.length > 0);
  if (lines.length === 0) {
    nothing(figure, 'No point of the runs that are drawn stands.');
    return;
  }
  const all = lines.flatMap((one) => one.data);
  if (marks.slo_ms || all.some((one) => one.hollow)) {
    key(figure, [{label: marks.slo_ms ? 'within ' + short(marks.slo_ms) + ' ms' :
      'served', color: color('text'), marker: markers[0]},
    {label: (marks.slo_ms ? 'p99 beyond it, or ' : '') + 'over 1 % failed',
      color: color('text'), marker: markers[0], hollow: true}]);
  }
  plot(figure, 300, {datasets: lines}, {
    label: 'Cost of a million requests against the achieved rate',
    scales: {
      x: axis({title: 'achieved, requests/s'}, []),
      y: axis({title: marks.currency + ' a million', log: true},
          all.map((one) => one.y)),
    },
    tooltip: (item) => item.dataset.label + ': ' + short(item.raw.y) + ' ' +
        marks.currency + ' a million at ' + short(item.raw.x) + '/s (' +
        describe(item.raw.point) + ')' + aside(item.raw),
  });
};
