// Which runs and which point are looked at, and points as charts take them.

// A mark has the place of a point: its run and its index there.
function pointAt([run, point]) {
  return runs[run].points[point];
}

// Tries of a search, which are no measurements to compare.
const tries = new Set(marks.tries.map(pointAt));

function isTry(point) {
  return tries.has(point);
}

// Points of loads that the server carries; and what speaks against others.
const carried = new Set(marks.carried.map(pointAt));
const doubts = new Map(marks.doubts.map(({at, why}) => [pointAt(at), why]));

// The order in which runs get colours and are drawn while there are too many:
// the chosen, the first, then those that served the most.
const mostRuns = 6;

function bestRate(run) {
  return run.points.filter(isCarried)
      .reduce((best, point) => Math.max(best, point.achieved_rate), 0);
}

function rankRuns() {
  const order = runs.map((_, index) => index);
  if (runs.length <= mostRuns) return order;
  const first = (index) =>
      (marks.chosen && index === marks.chosen[0]) ? 2 : index === 0 ? 1 : 0;
  return order.sort((a, b) =>
      first(b) - first(a) || bestRate(runs[b]) - bestRate(runs[a]));
}

// The run to begin with: the chosen one, or that which served the most.
function mainRun() {
  if (marks.chosen) return marks.chosen[0];
  return runs.reduce((best, run, index) =>
    bestRate(run) > bestRate(runs[best]) ? index : best, 0);
}

const ranked = rankRuns();
const view = {
  // Indices of runs. Where there are too many, those without a point that
  // stands are not among them.
  shown: new Set(ranked.slice(0, mostRuns).filter((index, place) => place === 0 ||
      runs.length <= mostRuns || bestRate(runs[index]) > 0)),
  run: mainRun(),  // of the charts of one run
  share: 'utilization',  // what the first chart is over, where the runs have it
  point: null,     // one of its points; set below
};

function runColor(index) {
  return color('run' + ranked.indexOf(index) % 8);
}

function runMarker(index) {
  return markers[ranked.indexOf(index) % markers.length];
}

// Whether it counts: on the frontier, as chosen, to begin with.
function isCarried(point) {
  return carried.has(point);
}

function isHollow(point) {
  return doubts.has(point);
}

// Why a point is hollow, for who points at it.
function whyHollow(point) {
  return doubts.get(point) || '';
}

// Whether a percentile, by its name, has ten latencies beyond it.
function isBacked(point, name) {
  return point.ok >= (marks.backed_by[name] || 0);
}

function describe(point) {
  if (point.loop === 'closed') {
    return 'closed, ' + point.outstanding + ' outstanding';
  }
  if (point.loop === 'offline') return 'offline, ' + point.query_rows + ' rows';
  const load = point.load === null || point.load === undefined ?
      Math.round(point.target_rate).toLocaleString('en') + '/s' :
      Math.round(point.load * 100) + ' % load';
  const isPoisson = [undefined, '', 'poisson'].includes(point.arrivals);
  return 'open, ' + load + (isPoisson ? '' : ', ' + point.arrivals);
}

// The same, as short as a tick of an axis, in one line or two.
function describeShortly(point) {
  return point.loop === 'closed' ? ['closed', String(point.outstanding)] :
      describe(point).replace(/^open, /, '').replace(' load', '');
}

function shownRuns() {
  return runs.map((run, index) => ({run, index}))
      .filter(({index}) => view.shown.has(index));
}

// The points of a run that are drawn, in order: open loops by rate, then closed
// ones. Without the tries of a search, where it has others.
function pointsOf(run) {
  const all = run.points.filter((point) =>
      point.ok > 0 && point.loop !== 'offline');
  const some = all.filter((point) => !isTry(point));
  const points = some.length > 0 ? some : all;
  const key = (point) => point.loop === 'closed' ?
      [1, point.outstanding] : [0, point.offered_rate];
  return [...points].sort((a, b) =>
      key(a)[0] - key(b)[0] || key(a)[1] - key(b)[1]);
}

// The offered rate as a share of the run's saturation; NaN where there is none.
function utilization(point, index) {
  return marks.saturation[index] ?
      point.offered_rate / marks.saturation[index] : NaN;
}

// The point to begin with: the chosen one, or the highest load within 80 %.
function firstPoint(index) {
  const run = runs[index];
  if (marks.chosen && marks.chosen[0] === index) {
    return run.points[marks.chosen[1]];
  }
  const points = pointsOf(run);
  const open = points.filter((point) => point.loop === 'open' && isCarried(point));
  const within = open.filter((point) => {
    const share = utilization(point, index);
    return (point.load ?? (Number.isFinite(share) ? share :
        point.busy_ratio ?? 0)) <= 0.8;
  });
  return within.pop() || open[0] || points[0] || null;
}

view.point = firstPoint(view.run);

// A point of a scatter chart; `name` is of the percentile that is drawn, if any.
function dot(point, x, y, interval, name) {
  return {
    x, y, point, hollow: isHollow(point), weak: Boolean(name) && !isBacked(point, name),
    low: interval ? interval[0] / 1000 : null,
    high: interval ? interval[1] / 1000 : null,
  };
}

function isDrawable(one) {
  return Number.isFinite(one.x) && Number.isFinite(one.y) && one.y > 0;
}
