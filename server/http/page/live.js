'use strict';
// Draws /status.json: the numbers of now, and charts of the last 15 minutes.

const COLOURS = ['#1b6ca8', '#c1662f', '#3f8f4f', '#8e5ea2', '#b8860b', '#c0392b'];
// Where the alerts of deploy/prometheus/rules.yaml begin.
const BANDS = [
  {from: 0, to: 0.4, colour: '#1b6ca822'},
  {from: 0.85, to: 0.95, colour: '#b8860b22'},
  {from: 0.95, to: 10, colour: '#c0392b22'},
];
const TOKEN = 'ferry token';  // its name in the tab's storage
const LONGEST_MS = 10_000;  // that an answer is waited for
const byId = (id) => document.getElementById(id);
const isKnown = (value) => value !== null && value !== undefined;
const last = (column) => (column.length > 0 ? column[column.length - 1] : null);

function number(value, digits = 3) {
  return isKnown(value) ? Number(value.toPrecision(digits)).toLocaleString('en')
                        : 'unknown';
}

function share(value) {
  return isKnown(value) ? `${(100 * value).toFixed(1)} %` : 'unknown';
}

function unit(value, name, digits = 3) {
  return isKnown(value) ? `${number(value, digits)} ${name}` : 'unknown';
}

// The columns of a chart: [name, column] of a model and the device.
const CHARTS = [
  {
    title: 'Load, busy ratio and multiprocessors', max: 1, format: share,
    lines: (m, d) => [['load', m.load], ['busy ratio: no load', m.busy_ratio],
      ...(d ? [['multiprocessors busy', d.sm_ratio]] : [])],
  },
  {
    title: 'Rows a second that arrive, requests answered', format: number,
    lines: (m) => [['rows', m.arrived_rows_per_second],
      ['requests', m.requests_per_second]],
  },
  {
    title: 'Request time, ms', format: number,
    lines: (m) => [['p50', m.p50_ms], ['p99', m.p99_ms]],
  },
  {title: 'Request time against load, ms', scatter: true, format: number},
  {
    title: 'Rows of a batch', format: number,
    lines: (m) => [['rows', m.rows_per_batch]],
  },
  {
    title: 'Why batches leave, a second', format: number, stacked: true,
    lines: (m) => Object.entries(m.closed_per_second),
  },
  {
    title: 'Queued requests', format: number,
    lines: (m) => [['queued', m.queued_requests]],
  },
  {
    title: 'Refused and failed, a second', format: number,
    lines: (m) => [['refused', m.refused_per_second],
      ['failed', m.errors_per_second]],
  },
  {
    title: 'Memory of the device, GiB', ofDevice: true, format: number,
    lines: (m, d) => [['used', d.memory_used_bytes.map(
        (bytes) => (isKnown(bytes) ? bytes / 2 ** 30 : null))]],
  },
  {
    title: 'Power of the whole GPU, W', ofDevice: true, format: number,
    lines: (m, d) => [['power', d.power_watts]],
  },
  {
    title: 'Temperature of the GPU, C', ofDevice: true, format: number,
    lines: (m, d) => [['temperature', d.temperature_celsius]],
  },
];

const bands = {
  id: 'bands',
  beforeDatasetsDraw(chart) {
    if (!chart.options.ferryBands) {
      return;
    }
    const {ctx, chartArea: area, scales: {x}} = chart;
    for (const band of BANDS) {
      const left = Math.max(x.getPixelForValue(band.from), area.left);
      const right = Math.min(x.getPixelForValue(band.to), area.right);
      if (right > left) {
        ctx.save();
        ctx.fillStyle = band.colour;
        ctx.fillRect(left, area.top, right - left, area.height);
        ctx.restore();
      }
    }
  },
};

let status = null;
let timer = null;  // until it is read again
const drawn = new Map();  // title: chart

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(chart) {
  const ink = style('--faint');
  const grid = {color: style('--line')};
  const ticks = {color: ink, maxRotation: 0, maxTicksLimit: 6};
  const x = {grid, ticks: {...ticks}, type: 'linear'};
  if (chart.scatter) {
    x.title = {display: true, text: 'load', color: ink};
    x.min = 0;
  } else {
    x.min = -15;
    x.max = 0;
    x.title = {display: true, text: 'minutes', color: ink};
  }
  return {
    animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
    ferryBands: Boolean(chart.scatter),
    interaction: {mode: 'nearest', axis: 'x', intersect: false},
    scales: {
      x,
      y: {grid, ticks, min: 0, suggestedMax: chart.max,
        stacked: Boolean(chart.stacked)},
    },
    plugins: {
      legend: {labels: {color: ink, boxWidth: 14, boxHeight: 2}},
      tooltip: {callbacks: {
        label: (item) => `${item.dataset.label}: ${chart.format(item.parsed.y)}`,
      }},
    },
  };
}

function points(chart, model) {
  if (chart.scatter) {
    return [['p50', model.samples.p50_ms], ['p99', model.samples.p99_ms]].map(
        ([name, column]) => [name, column.map((ms, i) => (
          {x: model.samples.load[i], y: ms})).filter(
            (point) => isKnown(point.x) && isKnown(point.y))
        // The library takes the first and the last for the ends of the axis.
            .sort((a, b) => a.x - b.x)]);
  }
  const device = status.device && status.device.samples;
  return chart.lines(model.samples, device).map(([name, column]) => [
    name, column.map((y, i) => ({x: -status.seconds_ago[i] / 60,
      y: isKnown(y) ? y : NaN}))]);
}

// What a reader hears of a chart: its last values.
function words(chart, model) {
  const columns = chart.scatter ?
    [['p50', model.samples.p50_ms], ['p99', model.samples.p99_ms]] :
    chart.lines(model.samples, status.device && status.device.samples);
  return `${chart.title}. ` + columns.map(([name, column]) => (
    `${name}: ${chart.format(last(column))}`)).join(', ');
}

function figureOf(chart) {
  const figure = document.createElement('figure');
  const caption = document.createElement('figcaption');
  caption.textContent = chart.title;
  const box = document.createElement('div');
  box.className = 'canvas';
  const canvas = document.createElement('canvas');
  canvas.setAttribute('role', 'img');
  box.append(canvas);
  figure.append(caption, box);
  byId('charts').append(figure);
  return canvas;
}

function draw(chart, model) {
  const lines = points(chart, model);
  const datasets = lines.map(([label, data], i) => ({
    label, data, borderColor: COLOURS[i % COLOURS.length],
    backgroundColor: COLOURS[i % COLOURS.length] + (chart.stacked ? '66' : ''),
    borderWidth: 2, fill: Boolean(chart.stacked), showLine: !chart.scatter,
    pointRadius: chart.scatter ? 2.5 : 0, pointHitRadius: 8, spanGaps: false,
  }));
  let made = drawn.get(chart.title);
  if (!made) {
    made = new Chart(figureOf(chart), {
      type: chart.scatter ? 'scatter' : 'line', data: {datasets},
      options: options(chart), plugins: [bands]});
    drawn.set(chart.title, made);
  } else {
    made.data.datasets.forEach((dataset, i) => Object.assign(dataset, datasets[i]));
    made.update('none');
  }
  made.canvas.setAttribute('aria-label', words(chart, model));
}

function facts(model) {
  const samples = model.samples;
  const told = [
    ['Load, last minute', share(model.load_last_minute)],
    ['Load, last 5 s', share(last(samples.load))],
    ['Busy ratio: no load', share(last(samples.busy_ratio))],
    ['Rows a second that arrive', number(last(samples.arrived_rows_per_second))],
    ['Rows a second it carries', number(model.capacity_rows_per_second)],
    ['p50 and p99', `${unit(last(samples.p50_ms), 'ms')}, ${
      unit(last(samples.p99_ms), 'ms')}`],
    ['Rows of a batch', `${number(last(samples.rows_per_batch))} of ${
      model.max_batch_size}`],
    ['Queued requests', number(last(samples.queued_requests))],
    ['Refused, failed a second', `${number(last(samples.refused_per_second))}, ${
      number(last(samples.errors_per_second))}`],
    ['Policy, instances', `${model.policy}, ${model.instances}`],
  ];
  const device = status.device;
  if (device) {
    const of = device.samples;
    told.push(
        ['Device', device.name + (device.profile ? `, ${device.profile}` : '')],
        ['Multiprocessors busy', share(last(of.sm_ratio))],
        ['Memory', `${unit(last(of.memory_used_bytes) && last(
            of.memory_used_bytes) / 2 ** 30, 'GiB')} of ${unit(
            device.memory_total_bytes && device.memory_total_bytes / 2 ** 30,
            'GiB')}`],
        ['Power of the whole GPU', `${unit(last(of.power_watts), 'W')} of ${
          unit(device.power_limit_watts, 'W')}`],
        ['Temperature', unit(last(of.temperature_celsius), 'C')]);
  }
  const price = Number(byId('price').value);
  if (price > 0) {
    const loads = status.models.map((one) => one.load_last_minute);
    const load = loads.every(isKnown) ?
      loads.reduce((sum, one) => sum + one, 0) : null;
    told.push(
        ['An hour costs', number(price)],
        ['for waiting, of it',
          isKnown(load) ? number(price * Math.max(0, 1 - load)) : 'unknown']);
  }
  return told;
}

function showFacts(model) {
  byId('now').replaceChildren(...facts(model).map(([term, value]) => {
    const box = document.createElement('div');
    const dt = document.createElement('dt');
    dt.textContent = term;
    const dd = document.createElement('dd');
    dd.textContent = value;
    box.append(dt, dd);
    return box;
  }));
}

const keyOf = (model) => `${model.name} ${model.version}`;

function showModels() {
  const select = byId('model');
  const keys = status.models.map(keyOf);
  if (keys.join('\n') === [...select.options].map((one) => one.value).join('\n')) {
    return;
  }
  const chosen = select.value;
  select.replaceChildren(...status.models.map((model) => {
    const option = document.createElement('option');
    option.value = keyOf(model);
    option.textContent = `${model.name}, version ${model.version}`;
    return option;
  }));
  const rows = (model) => model.samples.arrived_rows_per_second.reduce(
      (sum, rate) => sum + (rate || 0), 0);
  const busiest = status.models.reduce((most, model) => (
    most && rows(most) >= rows(model) ? most : model), null);
  if (keys.includes(chosen)) {
    select.value = chosen;
  } else if (busiest) {
    select.value = keyOf(busiest);
  }
}

function say(text, isBad) {
  const state = byId('state');
  if (state.textContent !== text) {
    state.textContent = text;
  }
  state.classList.toggle('bad', isBad);
}

function show() {
  if (!status) {
    return;
  }
  byId('version').textContent = status.server_version;
  showModels();
  const model = status.models.find((one) => keyOf(one) === byId('model').value);
  byId('history').hidden = byId('current').hidden = !model;
  const state = status.ready ? 'ready' : `${status.state}, not ready`;
  say(model ? state : `${state}; no sample of a model yet`, !status.ready);
  byId('simulated').hidden = !model || !model.simulated;
  if (!model) {
    return;
  }
  showFacts(model);
  for (const chart of CHARTS) {
    if (!chart.ofDevice || status.device) {
      draw(chart, model);
    }
  }
}

async function read() {
  clearTimeout(timer);
  try {
    const token = sessionStorage.getItem(TOKEN);
    const reply = await fetch('status.json', {
      cache: 'no-store', signal: AbortSignal.timeout(LONGEST_MS),
      headers: token === null ? {} : {Authorization: `Bearer ${token}`},
    });
    byId('ask').hidden = ![401, 403].includes(reply.status);
    if (!byId('ask').hidden) {
      say(await reply.text(), true);
      return;
    }
    if (!reply.ok) {
      throw new Error(`code ${reply.status}`);
    }
    status = await reply.json();
    show();
  } catch (error) {
    say(`the server does not answer: ${error.message}`, true);
  }
  timer = setTimeout(read, 1000 * (status ? status.period_seconds : 5));
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, byId('token').value);
  read();
});

byId('choices').addEventListener('submit', (event) => event.preventDefault());
byId('model').addEventListener('change', show);
byId('price').addEventListener('input', show);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const chart of CHARTS) {
    const made = drawn.get(chart.title);
    if (made) {
      made.options = options(chart);
    }
  }
  show();
});
read();
