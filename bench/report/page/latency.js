// Latency against utilization (or the busy ratio) and against offered load, with
// what failed.

const percentiles = [
  {key: 'p50_us', interval: 'p50_95_us', name: 'p50', color: 'run2', dash: []},
  {key: 'p90_us', name: 'p90', color: 'run0', dash: [2, 3]},
  {key: 'p99_us', interval: 'p99_95_us', name: 'p99', color: 'run1', dash: [8, 4]},
  {key: 'p999_us', name: 'p99.9', color: 'run3', dash: [10, 3, 2, 3]},
];

const utilizationBands = [
  {from: 0, to: 0.4, color: 'run0', alpha: 0.09, label: 'mostly idle'},
  {from: 0.4, to: 0.6, color: 'run0', alpha: 0.03, label: '40 to 60 %'},
  {from: 0.6, to: 0.8, color: 'run1', alpha: 0.04, label: '60 to 80 %'},
  {from: 0.8, to: 0.85, color: 'run1', alpha: 0.10, label: ''},
  {from: 0.85, to: 1e9, color: 'run1', alpha: 0.18, label: 'over 85 %'},
];

// One run: a colour for each percentile. Several: a colour for each run, p99
// full and p50 dashed.
function latencyLines(x) {
  const shown = shownRuns();
  const isOne = shown.length === 1;
  const drawn = isOne ? percentiles :
      [percentiles[0], percentiles[2]];
  const lines = [];
  for (const {run, index} of shown) {
    drawn.forEach((percentile, at) => {
      const look = isOne ?
          {color: color(percentile.color), marker: markers[at],
            dash: percentile.dash} :
          {color: runColor(index), marker: runMarker(index),
            dash: percentile.name === 'p50' ? [4, 4] : [],
            radius: percentile.name === 'p50' ? 3 : 4.5};
      const dots = (points) => points.map((point) => dot(
          point, x(point, index), point.latency[percentile.key] / 1000,
          percentile.interval && point[percentile.interval],
          percentile.name))
          .filter(isDrawable).sort((a, b) => a.x - b.x);
      const open = run.points.filter((point) =>
          point.loop === 'open' && point.ok > 0);
      const whole = dots(open.filter((point) => !isTry(point)));
      const tries = !isOne && percentile.name === 'p50' ? [] :
        dots(open.filter(isTry)).map((one) => ({...one, low: null}));
      const label = run.label + ', ' + percentile.name;
      if (whole.length > 0) lines.push(line(label, whole, look));
      if (tries.length > 0) {
        lines.push(line(label + ', a try', tries, {...look, dash: null,
          radius: 2, color: faded(look.color, 0.55)}));
      }
    });
  }
  return lines;
}

// What marks of dots mean that are beside their colour and shape.
function asides(dots) {
  const more = [];
  if (dots.some((one) => one.hollow)) {
    more.push('hollow: void, cut short, unsteady or over 1 % failed');
  }
  if (dots.some((one) => one.weak)) {
    more.push('?: too few requests for that percentile');
  }
  return more;
}

// What is said of a dot that one points at, behind its numbers.
function aside(raw) {
  const why = whyHollow(raw.point);
  return (raw.weak ? ', too few requests' : '') + (why ? '; ' + why : '');
}

function addAsides(figure, dots) {
  const list = figure.querySelector('.key:last-of-type');
  for (const text of asides(dots)) {
    list.append(make('li', {class: 'aside'}, text));
  }
}

function latencyKey(figure, lines) {
  if (view.shown.size === 1) {
    key(figure, percentiles.map((percentile, at) => ({
      label: percentile.name, color: color(percentile.color),
      marker: markers[at], dash: percentile.dash})));
  } else {
    key(figure, [
      {label: 'p99', color: color('text'), dash: []},
      {label: 'p50', color: color('text'), dash: [4, 4]}]);
  }
  const all = lines.flatMap((one) => one.data);
  const more = [];
  if (all.some((one) => one.low)) more.push('whiskers: 95 % intervals');
  more.push(...asides(all));
  if (lines.some((one) => !one.showLine)) more.push('small: tries of a search');
  const list = figure.querySelector('.key:last-of-type');
  for (const text of more) list.append(make('li', {class: 'aside'}, text));
}

function latencyBound(axisName) {
  return marks.slo_ms ? {axis: axisName, value: marks.slo_ms,
    label: 'bound ' + short(marks.slo_ms) + ' ms'} : {};
}

function latencyPlot(figure, height, lines, options) {
  const all = lines.flatMap((one) => one.data);
  const ys = all.flatMap((one) => [one.y, one.low, one.high]);
  if (marks.slo_ms) ys.push(marks.slo_ms);
  plot(figure, height, {datasets: lines}, {
    ...options, bound: latencyBound('y'),
    scales: {
      x: axis(options.x, all.map((one) => one.x)),
      y: axis({title: 'latency, ms', log: true}, ys),
    },
    tooltip: (item) => {
      const {point, x, y} = item.raw;
      return item.dataset.label + ': ' + short(y) + ' ms at ' +
          options.at(x) + ' (' + describe(point) + ')' + aside(item.raw);
    },
  });
}

// What the first chart may be over; bands are of utilization only.
const shares = [
  {name: 'utilization', of: utilization,
    label: 'Latency percentiles against utilization', bands: utilizationBands,
    axis: 'utilization: offered rate / saturation',
    none: 'no saturation was measured', at: (x) => percent(x) + ' utilization'},
  {name: 'busy ratio', of: (point) => point.busy_ratio ?? NaN,
    label: 'Latency percentiles against the busy ratio', bands: null,
    axis: 'busy ratio of the device: share of the time in which it had work',
    none: 'the server told no busy ratio', at: (x) => percent(x) + ' busy'},
];

function hasShare(share, {run, index}) {
  return run.points.some((point) => point.loop === 'open' && point.ok > 0 &&
      Number.isFinite(share.of(point, index)));
}

// A switch between those that the runs have.
function drawShareSwitch(figure, some, chosen) {
  if (some.length < 2) return;
  const place = make('div', {class: 'switch', role: 'group',
    'aria-label': 'What the chart is over'});
  for (const share of some) {
    const button = make('button', {type: 'button',
      'aria-pressed': share === chosen}, share.name);
    button.onclick = () => {
      view.share = share.name;
      draw();
    };
    place.append(button);
  }
  figure.append(place);
}

charts.utilization = (figure) => {
  const all = runs.map((run, index) => ({run, index}));
  const some = shares.filter((share) => all.some((one) => hasShare(share, one)));
  const share = some.find(({name}) => name === view.share) || some[0];
  drawShareSwitch(figure, some, share);
  const lines = latencyLines(share.of);
  const missing = shownRuns().filter((one) => !hasShare(share, one) &&
      one.run.points.some((point) => point.loop === 'open' && point.ok > 0));
  if (missing.length > 0) {
    nothing(figure, 'Not drawn, as ' + share.none + ': ' +
        missing.map(({run}) => run.label).join(', ') + '.');
  }
  if (lines.length === 0) return;
  latencyKey(figure, lines);
  latencyPlot(figure, 400, lines, {
    label: share.label, bands: share.bands, at: share.at,
    x: {title: share.axis, percent: true, max: 1, ticks: 11},
  });
};

// Failed requests by code, a bar a point.
function failurePlot(figure, lines, isFar) {
  const points = shownRuns().flatMap(({run, index}) => run.points
      .filter((point) => point.loop === 'open' && point.planned > 0 &&
              !isTry(point)).map((point) => ({point, index})));
  const codes = [...new Set(points.flatMap(({point}) =>
      Object.keys(point.errors)))].sort();
  if (codes.length === 0) {
    nothing(figure, 'No request failed.');
    return;
  }
  const rates = [...points.map(({point}) => point.offered_rate),
    ...lines.flatMap((one) => one.data.map((at) => at.x))];
  const sets = codes.map((code, at) => ({
    ...bars(code, points.map(({point, index}) => ({
      x: point.offered_rate, point, run: runs[index].label,
      y: (point.errors[code] || 0) / point.planned})), color('run' + (at + 3) % 8)),
    grouped: false, barThickness: 10,
  }));
  key(figure, codes.map((code, at) =>
      ({label: code, color: color('run' + (at + 3) % 8)})));
  plot(figure, 130, {datasets: sets}, {
    type: 'bar', label: 'Failed requests against offered load',
    scales: {
      x: {...axis({title: 'offered, requests/s', log: isFar, isX: true,
        max: Math.max(...rates)}, rates),
        offset: false, stacked: true},
      y: {...axis({title: 'failed', percent: true, ticks: 4}, []), stacked: true},
    },
    tooltip: (item) => item.dataset.label + ': ' + percent(item.raw.y) +
        ' (' + item.raw.run + ', ' + describe(item.raw.point) + ')',
  });
}

// Rates far apart are drawn by their ratio.
function ratesFarApart(rates) {
  const some = rates.filter((rate) => rate > 0);
  return Math.max(...some) > 30 * Math.min(...some);
}

charts.offered = (figure) => {
  const lines = latencyLines((point) => point.offered_rate);
  if (lines.length === 0) {
    nothing(figure, 'No open loop in the runs that are drawn.');
    return;
  }
  const isFar = ratesFarApart(lines.flatMap((one) =>
    one.data.map((at) => at.x)));
  latencyKey(figure, lines);
  latencyPlot(figure, 300, lines, {
    label: 'Latency percentiles against the offered rate',
    x: {title: 'offered, requests/s', log: isFar, isX: true}, at: (x) => short(x) + '/s',
  });
  failurePlot(figure, lines, isFar);
};
