// What Chart.js does not draw by itself: shaded bands, a bound, whiskers, a ?
// beside weak dots, a ring, and the word that a device was simulated. Each is on where the options
// of a chart name it.

function alongX(chart, from, to) {
  const {left, right} = chart.chartArea;
  const at = (value) => Math.min(right, Math.max(left,
      chart.scales.x.getPixelForValue(value)));
  return [at(from), at(to)];
}

// options: [{from, to, alpha, label}], of the x axis.
const bandPlugin = {
  id: 'bands',
  beforeDraw(chart, _, bands) {
    const {ctx, chartArea: {top, bottom}} = chart;
    ctx.save();
    ctx.font = '11px ' + Chart.defaults.font.family;
    ctx.textAlign = 'center';
    for (const band of bands.all || []) {
      const [left, right] = alongX(chart, band.from, band.to);
      ctx.fillStyle = faded(color(band.color), band.alpha);
      ctx.fillRect(left, top, right - left, bottom - top);
      if (ctx.measureText(band.label).width < right - left - 8) {
        ctx.fillStyle = color('quiet');
        ctx.fillText(band.label, (left + right) / 2, top + 15);
      }
    }
    ctx.restore();
  },
};

// What a label is not to cover: dots, their whiskers, and the lines between.
function drawnPlaces(chart) {
  return chart.data.datasets.flatMap((set, index) => {
    const dots = chart.getDatasetMeta(index).data;
    return dots.flatMap((dot, at) => {
      const raw = set.data[at];
      const ends = raw?.low && raw?.high ? [raw.high, raw.low].map((value) =>
        chart.scales.y.getPixelForValue(value)) : [dot.y, dot.y];
      const places = [{x: dot.x, top: ends[0], bottom: ends[1],
        isDot: set.pointRadius > 0}];
      const next = set.showLine && dots[at + 1];
      for (let step = 1; next && step < 16; ++step) {
        const y = dot.y + (next.y - dot.y) * step / 16;
        places.push({x: dot.x + (next.x - dot.x) * step / 16, top: y, bottom: y});
      }
      return places;
    });
  });
}

function covers(box, place) {
  const margin = 7;  // of a dot, and the ? beside it
  return place.x > box.x - margin && place.x < box.x + box.width + margin &&
      place.bottom > box.y - margin && place.top < box.y + box.height + margin;
}

// The place beside the bound's line that covers the least, dots first.
function boxOfLabel(chart, bound, place, width) {
  const {left, right, top, bottom} = chart.chartArea;
  const height = 16;
  const boxes = [];
  for (let share = 0; share <= 1; share += 0.05) {
    for (const side of [-1, 1]) {
      const box = bound.axis === 'y' ? {
        x: left + 6 + share * (right - left - 12 - width),
        y: place + side * 11 - height / 2} : {
        x: side > 0 ? place + 6 : place - 6 - width,
        y: bottom - 20 - share * (bottom - top - 24)};
      boxes.push({...box, width, height});
    }
  }
  const drawn = drawnPlaces(chart);
  const cost = (box) => drawn.filter((one) => covers(box, one))
      .reduce((sum, one) => sum + (one.isDot ? 100 : 1), 0);
  return boxes.filter((box) => box.x >= left && box.x + width <= right &&
      box.y >= top && box.y + height <= bottom)
      .map((box) => ({box, cost: cost(box)}))
      .reduce((best, one) => one.cost < best.cost ? one : best,
          {box: null, cost: Infinity}).box;
}

// options: {axis: 'x' or 'y', value, label}.
const boundPlugin = {
  id: 'bound',
  beforeDatasetsDraw(chart, _, bound) {
    if (!bound.value) return;
    const {ctx, chartArea: {left, right, top, bottom}} = chart;
    const place = chart.scales[bound.axis].getPixelForValue(bound.value);
    const isInside = bound.axis === 'y' ? place >= top && place <= bottom :
        place >= left && place <= right;
    if (!isInside) return;
    ctx.save();
    ctx.strokeStyle = color('bound');
    ctx.lineWidth = 1.5;
    ctx.setLineDash([6, 4]);
    ctx.beginPath();
    if (bound.axis === 'y') {
      ctx.moveTo(left, place);
      ctx.lineTo(right, place);
    } else {
      ctx.moveTo(place, top);
      ctx.lineTo(place, bottom);
    }
    ctx.stroke();
    ctx.restore();
  },
  // Above the lines, on a ground of its own.
  afterDatasetsDraw(chart, _, bound) {
    if (!bound.value) return;
    const {ctx, chartArea: {left, right, top, bottom}} = chart;
    const place = chart.scales[bound.axis].getPixelForValue(bound.value);
    if (bound.axis === 'y' ? place < top || place > bottom :
        place < left || place > right) return;
    ctx.save();
    ctx.font = '600 11px ' + Chart.defaults.font.family;
    ctx.textBaseline = 'middle';
    const box = boxOfLabel(chart, bound, place,
        ctx.measureText(bound.label).width + 8);
    chart.boundLabel = box;  // for those that look at the page
    if (box) {
      ctx.fillStyle = faded(color('card'), 0.85);
      ctx.fillRect(box.x, box.y, box.width, box.height);
      ctx.fillStyle = color('bound');
      ctx.fillText(bound.label, box.x + 4, box.y + box.height / 2);
    }
    ctx.restore();
  },
};

// Intervals of dots that have `low` and `high`, along y.
const whiskerPlugin = {
  id: 'whiskers',
  beforeDatasetsDraw(chart) {
    const {ctx, chartArea: {top, bottom}} = chart;
    ctx.save();
    ctx.lineWidth = 1.25;
    chart.data.datasets.forEach((set, index) => {
      chart.getDatasetMeta(index).data.forEach((element, at) => {
        const raw = set.data[at];
        if (!raw || !raw.low || !raw.high) return;
        const y = (value) => Math.min(bottom, Math.max(top,
            chart.scales.y.getPixelForValue(value)));
        ctx.strokeStyle = faded(set.borderColor, 0.75);
        ctx.beginPath();
        for (const end of [y(raw.low), y(raw.high)]) {
          ctx.moveTo(element.x - 4, end);
          ctx.lineTo(element.x + 4, end);
        }
        ctx.moveTo(element.x, y(raw.low));
        ctx.lineTo(element.x, y(raw.high));
        ctx.stroke();
      });
    });
    ctx.restore();
  },
};

// A ? beside dots that are `weak`: too few requests are behind them.
const weakPlugin = {
  id: 'weak',
  afterDatasetsDraw(chart) {
    const {ctx} = chart;
    ctx.save();
    ctx.font = '700 12px ' + Chart.defaults.font.family;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'bottom';
    chart.data.datasets.forEach((set, index) => {
      chart.getDatasetMeta(index).data.forEach((element, at) => {
        if (!set.data[at]?.weak) return;
        ctx.fillStyle = set.borderColor;
        ctx.fillText('?', element.x + 4, element.y - 2);
      });
    });
    ctx.restore();
  },
};

const simulatedPlugin = {
  id: 'simulated',
  beforeDatasetsDraw(chart) {
    if (!marks.simulated) return;
    const {ctx, chartArea: {left, right, top, bottom}} = chart;
    const size = Math.min(44, (right - left) / 9, (bottom - top) / 3);
    ctx.save();
    ctx.translate((left + right) / 2, (top + bottom) / 2);
    ctx.rotate(-0.18);
    ctx.font = '700 ' + size + 'px ' + Chart.defaults.font.family;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = faded(color('text'), 0.1);
    ctx.fillText('simulated device', 0, 0);
    ctx.restore();
  },
};

Chart.register(bandPlugin, boundPlugin, whiskerPlugin, weakPlugin, simulatedPlugin);
