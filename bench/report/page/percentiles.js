// Latency against percentile, a line a point, on an axis of 1 / (1 - p).

const mostLines = 7;

// The middle of a bucket by its highest nanosecond, as Histogram::Quantile() has
// it: one wide below 2^(bits + 1), then 2^bits buckets for each power of two.
function middleOf(highest) {
  const width = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(highest, 1))) -
      marks.sub_bucket_bits);
  return highest + 1 - width + Math.floor(width / 2);
}

// The latency of the last request of a bucket, as the tables have it.
function bucketNs(histogram, highest, isLast) {
  return isLast ? histogram.max_ns : Math.max(histogram.min_ns || 0,
      Math.min(middleOf(highest), histogram.max_ns));
}

// Of the histogram where there is one; else the percentiles that are known.
function percentileDots(point) {
  const buckets = point.histogram?.buckets || [];
  if (buckets.length === 0) {
    return [[0.5, 'p50_us'], [0.9, 'p90_us'], [0.95, 'p95_us'],
      [0.99, 'p99_us'], [0.999, 'p999_us'], [0.9999, 'p9999_us']]
        .filter(([share, name]) => point.latency[name] > 0 &&
            point.ok * (1 - share) >= 1)
        .map(([share, name]) => ({x: 1 / (1 - share),
          y: point.latency[name] / 1000, point}));
  }
  const all = buckets.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  return buckets.filter(([, count]) => count > 0).map(([ns, count]) => {
    seen += count;
    return {x: all / Math.max(all - seen, 0.5), point,
      y: bucketNs(point.histogram, ns, seen === all) / 1e6};
  }).filter((one) => one.y > 0);
}

// Those to draw: all, or some evenly, with the one that is looked at.
function thinned(points) {
  if (points.length <= mostLines) return points;
  const step = (points.length - 1) / (mostLines - 1);
  return points.filter((point, at) => point === view.point ||
      Math.abs(at - Math.round(Math.round(at / step) * step)) < 0.5);
}

function percentileName(x) {
  const share = 1 - 1 / x;
  return Number((share * 100).toFixed(6)) + ' %';
}

charts.percentiles = (figure) => {
  const points = thinned(pointsOf(runs[view.run]));
  if (points.length === 0) {
    nothing(figure, 'No open or closed loop of this run had a success.');
    return;
  }
  const sets = points.map((point, at) => {
    const isLooked = point === view.point;
    const share = points.length === 1 ? 1 : at / (points.length - 1);
    const hasAll = (point.histogram?.buckets || []).length > 0;
    return {
      ...line(describe(point), percentileDots(point), {
        color: between(color('low'), color('high'), share),
        marker: markers[at % 5], dash: point.loop === 'closed' ? [5, 4] : [],
        radius: hasAll ? 0 : 3.5, width: isLooked ? 3.5 : 1.5}),
      order: isLooked ? 0 : 1,
    };
  });
  key(figure, sets.map((set, at) => ({
    label: set.label.replace('open, ', '') +
        (points[at] === view.point ? ' (looked at)' : ''),
    color: set.borderColor, dash: set.borderDash,
    width: set.borderWidth, marker: set.pointRadius ? markers[at % 5] : null})));
  const all = sets.flatMap((set) => set.data);
  const x = axis({title: 'percentile, %', log: true}, all.map((one) => one.x));
  x.min = all.some((one) => one.x < 2) ? 1 : 2;
  x.max = Math.max(100, ...all.map((one) => one.x));
  x.afterBuildTicks = (scale) => {
    scale.ticks = [2, 10, 100, 1e3, 1e4, 1e5, 1e6]
        .filter((value) => value >= x.min && value <= x.max)
        .map((value) => ({value}));
  };
  x.ticks.callback = (value) => percentileName(value).replace(' %', '');
  plot(figure, 300, {datasets: sets}, {
    label: 'Latency against percentile', bound: latencyBound('y'),
    scales: {x, y: axis({title: 'latency, ms', log: true},
        [...all.map((one) => one.y), marks.slo_ms || NaN])},
    tooltip: (item) => item.dataset.label + ': ' + short(item.raw.y) +
        ' ms at ' + percentileName(item.raw.x),
  });
};
