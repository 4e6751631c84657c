// Plots, axes and keys in the one look of the page.

const axisWidth = 70;  // so that plots above each other line up

// Charts by the id of their section; each takes the section's figure.
const charts = {};

function niceBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [5, 2, 1].find((step) => step * power <= value * 1.0001);
}

function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((step) => step * power >= value * 0.9999);
}

// An axis over `values`. what: {title, log, isX, percent, max, ticks}.
function axis(what, values) {
  const numbers = values.filter((value) => Number.isFinite(value) && value > 0);
  const base = {
    type: what.log ? 'logarithmic' : 'linear',
    title: {display: Boolean(what.title), text: what.title,
      color: color('text'), padding: {top: 6, bottom: 2}},
    grid: {color: color('grid'), borderColor: color('line'), drawTicks: false},
    ticks: {
      color: color('quiet'), padding: 6, maxRotation: 0, autoSkipPadding: 14,
      maxTicksLimit: what.ticks || 9,
      callback: (value) => what.percent ? percent(value) : short(value),
    },
  };
  if (!what.log) {
    base.beginAtZero = true;
    base.suggestedMax = what.max;
    return base;
  }
  if (numbers.length === 0) return base;
  base.min = niceBelow(Math.min(...numbers));
  base.max = niceAbove(Math.max(...numbers));
  if (base.min === base.max) base.max *= 10;
  const decades = Math.log10(base.max / base.min);
  // Numbers beside each other take more room than above each other.
  const steps = decades < (what.isX ? 2 : 3.2) ? [1, 2, 5] : [1];
  base.ticks.autoSkip = false;
  base.afterBuildTicks = (scale) => {
    scale.ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(base.min));
      power <= base.max; power *= 10) {
      for (const step of steps) {
        const value = step * power;
        if (value >= base.min * 0.999 && value <= base.max * 1.001) {
          scale.ticks.push({value});
        }
      }
    }
  };
  return base;
}

// An axis of names.
function categories(title) {
  return {
    title: {display: true, text: title, color: color('text'),
      padding: {top: 6, bottom: 2}},
    grid: {display: false, borderColor: color('line')},
    ticks: {color: color('quiet'), padding: 4, maxRotation: 0,
      autoSkipPadding: 8},
  };
}

// A line of dots. look: {color, marker, dash, radius, width}; dash null leaves
// the dots unjoined.
function line(label, data, look) {
  return {
    label, data, showLine: look.dash !== null, borderWidth: look.width || 1.75,
    borderColor: look.color, borderDash: look.dash || [],
    backgroundColor: look.color, pointStyle: look.marker.style,
    pointRotation: look.marker.rotation || 0,
    pointRadius: look.radius ?? 4, pointHoverRadius: (look.radius ?? 4) + 2,
    pointHitRadius: 8, pointBorderColor: look.color, pointBorderWidth: 1.5,
    pointBackgroundColor: data.map((one) =>
      one.hollow ? color('card') : look.color),
  };
}

function bars(label, data, fill) {
  return {
    type: 'bar', label, data, backgroundColor: fill, maxBarThickness: 46,
  };
}

// Draws a plot below what the figure has. options: those of Chart.js, with
// `label` for who cannot see it and `tooltip` of an item.
function plot(figure, height, data, options) {
  const canvas = make('canvas', {role: 'img', 'aria-label':
    options.label + '; the numbers are in the table below'});
  figure.append(make('div', {class: 'plot', style: 'flex: ' + height + ' 0 ' + height + 'px'},
      canvas));
  const scales = options.scales;
  scales.y.afterFit = (scale) => {
    scale.width = Math.max(scale.width, axisWidth);
  };
  return new Chart(canvas, {
    type: options.type || 'scatter', data,
    options: {
      animation: false, maintainAspectRatio: false, scales,
      layout: {padding: {right: 10, top: 4}},
      interaction: {mode: options.mode || 'nearest',
        intersect: !options.mode, axis: options.mode ? 'x' : undefined},
      plugins: {
        legend: {display: false},
        tooltip: {callbacks: {title: options.title || (() => ''),
          label: options.tooltip}, boxPadding: 4, usePointStyle: true},
        bands: options.bands ? {all: options.bands} : {},
        bound: options.bound || {},
      },
    },
  });
}

const svgNames = 'http:' + '//www.w3.org/2000/svg';  // a name, not an address

function swatch(item) {
  const svg = document.createElementNS(svgNames, 'svg');
  const add = (tag, attributes) => {
    const part = document.createElementNS(svgNames, tag);
    for (const [name, value] of Object.entries(attributes)) {
      part.setAttribute(name, value);
    }
    svg.append(part);
  };
  const hasLine = item.dash !== undefined && item.dash !== null;
  const width = hasLine ? 28 : 14;
  svg.setAttribute('viewBox', -width / 2 + ' -7 ' + width + ' 14');
  svg.setAttribute('width', width);
  svg.setAttribute('height', 14);
  svg.setAttribute('aria-hidden', 'true');
  if (hasLine) {
    add('path', {d: 'M-14 0H14', stroke: item.color, 'stroke-width':
      item.width || 2, 'stroke-dasharray': item.dash.join(' ')});
  }
  if (item.marker) {
    add('path', {d: item.marker.path, stroke: item.color, 'stroke-width': 1.5,
      fill: item.hollow ? color('card') : item.color});
  } else if (!hasLine) {
    add('path', {d: 'M-5.5-5.5h11v11h-11z', fill: item.color});
  }
  return svg;
}

// What the lines and marks of a figure mean. items: {label, color, marker,
// dash}; without marker and dash a box.
function key(figure, items) {
  const list = make('ul', {class: 'key'});
  for (const item of items) {
    list.append(make('li', {}, swatch(item), item.label));
  }
  figure.append(list);
}

// Says what a figure cannot show for the view that is chosen.
function nothing(figure, text) {
  figure.append(make('p', {class: 'nothing'}, text));
}
