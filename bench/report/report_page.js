// Draws the charts of a ferry-bench page from the JSON that it carries.
'use strict';

const runs = JSON.parse(document.getElementById('results').textContent).runs;

// Percentiles differ by marker and dash, runs by colour.
const percentiles = [
  {key: 'p50_us', name: 'p50', marker: 'circle', dash: []},
  {key: 'p90_us', name: 'p90', marker: 'triangle', dash: [2, 3]},
  {key: 'p99_us', name: 'p99', marker: 'rect', dash: [7, 4]},
  {key: 'p999_us', name: 'p99.9', marker: 'rectRot', dash: [10, 3, 2, 3]},
];

function color(name) {
  return getComputedStyle(document.documentElement)
      .getPropertyValue(name).trim();
}

function runColor(index) {
  return color('--run' + index % 6);
}

// A series of a scatter chart; `dash` null leaves its points unjoined, which
// are otherwise joined in their order.
function series(label, index, marker, dash, points) {
  points = points.filter((p) => p.x !== null && p.y !== null && p.y > 0);
  const own = runColor(index);
  return {
    label: label, data: points, showLine: dash !== null, borderWidth: 1.5,
    borderColor: own, borderDash: dash || [], pointStyle: marker, pointRadius: 5,
    pointHoverRadius: 7, pointBorderColor: own, pointBorderWidth: 1.5,
    pointBackgroundColor: points.map((p) => p.hollow ? color('--page') : own),
  };
}

function describe(point) {
  if (point.loop === 'closed') {
    return 'closed, ' + point.outstanding + ' outstanding';
  }
  const isPoisson = [undefined, '', 'poisson'].includes(point.arrivals);
  return 'open, ' + Math.round(point.offered_rate) + '/s' +
      (isPoisson ? '' : ', ' + point.arrivals);
}

function latencySeries(loops, x) {
  const all = [];
  runs.forEach((run, index) => {
    for (const percentile of percentiles) {
      const points =
          run.points.filter((p) => loops.includes(p.loop) && p.ok > 0);
      points.sort((a, b) => a.offered_rate - b.offered_rate);
      all.push(series(
          run.label + ' ' + percentile.name, index, percentile.marker,
          percentile.dash, points.map((p) => ({
            x: x(p, run), y: p.latency[percentile.key] / 1000,
            hollow: p.void_reason !== '', what: describe(p),
          }))));
    }
  });
  return all;
}

// Every point of each run: open loops joined from the lowest rate to the
// highest, closed loops beside them.
function pointSeries(x, y) {
  return runs.flatMap((run, index) => ['open', 'closed'].map((loop) => {
    const points = run.points.filter((p) => p.ok > 0 && p.loop === loop);
    points.sort((a, b) => a.offered_rate - b.offered_rate);
    return series(
        run.label + ', ' + loop + ' loop', index,
        loop === 'open' ? percentiles[index % 4].marker : 'crossRot',
        loop === 'open' ? [] : null, points.map((p) => ({
          x: x(p), y: y(p), hollow: p.void_reason !== '', what: describe(p),
        })));
  }));
}

const charts = [
  {
    title: 'Latency against utilization of the server',
    note: 'Open loop. Busy ratio is what the server says of its lanes.',
    x: 'busy ratio', y: 'latency from the planned send, ms', log: true, max: 1,
    data: () => latencySeries(['open'], (p) => p.busy_ratio),
  },
  {
    title: 'Latency against load',
    note: 'Open loop. Load is offered rate / the saturation rate of that run.',
    x: 'offered rate / saturation rate',
    y: 'latency from the planned send, ms', log: true,
    data: () => latencySeries(['open'], (p, run) =>
        run.saturation_rate > 0 ? p.offered_rate / run.saturation_rate : null),
  },
  {
    title: 'Throughput against p99',
    note: 'All points, open and closed loop. Up and to the left is better.',
    x: 'p99 latency, ms', y: 'achieved, requests/s', logX: true,
    data: () => pointSeries((p) => p.latency.p99_us / 1000,
                            (p) => p.achieved_rate),
  },
  {
    title: 'Rows a batch against achieved rate',
    note: 'All points. How much the batcher gathers as the rate grows.',
    x: 'achieved, requests/s', y: 'mean rows a batch',
    data: () => pointSeries((p) => p.achieved_rate, (p) => p.mean_rows),
  },
];

function axis(title, log, max) {
  return {
    type: log ? 'logarithmic' : 'linear', beginAtZero: !log, suggestedMax: max,
    title: {display: true, text: title, color: color('--text')},
    grid: {color: color('--line')},
    ticks: {
      color: color('--quiet'), maxTicksLimit: 9,
      callback: (value) => Number(value.toPrecision(3)).toLocaleString('en'),
    },
  };
}

function tooltip(item) {
  const round = (value) => Number(value.toPrecision(4));
  return item.dataset.label + ': ' + round(item.raw.y) + ' at ' +
      round(item.raw.x) + ' (' + item.raw.what +
      (item.raw.hollow ? ', void' : '') + ')';
}

// As Chart.js makes them, but filled also where the first point is hollow.
function legendLabels(chart) {
  const labels = Chart.defaults.plugins.legend.labels.generateLabels(chart);
  for (const label of labels) {
    label.fillStyle = chart.data.datasets[label.datasetIndex].borderColor;
  }
  return labels;
}

function draw() {
  const place = document.getElementById('charts');
  place.replaceChildren();
  for (const chart of charts) {
    const datasets = chart.data().filter((set) => set.data.length > 0);
    if (datasets.length === 0) continue;
    const figure = document.createElement('figure');
    figure.innerHTML = '<h2></h2><div class="plot"><canvas role="img">' +
        '</canvas></div><figcaption></figcaption>';
    figure.querySelector('h2').textContent = chart.title;
    figure.querySelector('figcaption').textContent = chart.note;
    const canvas = figure.querySelector('canvas');
    canvas.setAttribute('aria-label',
        chart.title + '; its numbers are in the table below');
    place.append(figure);
    new Chart(canvas, {
      type: 'scatter', data: {datasets},
      options: {
        animation: false, maintainAspectRatio: false,
        scales: {
          x: axis(chart.x, chart.logX, chart.max),
          y: axis(chart.y, chart.log),
        },
        plugins: {
          legend: {labels: {
            usePointStyle: true, boxWidth: 7, boxHeight: 7,
            color: color('--text'), generateLabels: legendLabels,
          }},
          tooltip: {callbacks: {label: tooltip}},
        },
      },
    });
  }
}

draw();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
