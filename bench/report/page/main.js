// Puts everything on the page, and again when the view changes.

let isRestOpen = false;

// The runs: which colour is whose, and which are drawn.
function drawRuns() {
  const place = document.getElementById('runs');
  place.replaceChildren();
  place.hidden = runs.length < 2;
  // Many runs are folded, but for those that are drawn.
  const rest = make('div', {class: 'runs'});
  for (const index of ranked) {
    const isShown = view.shown.has(index);
    const button = make('button', {type: 'button', 'aria-pressed': isShown},
        swatch({color: isShown ? runColor(index) : color('quiet'),
          marker: runMarker(index), hollow: !isShown}), runs[index].label);
    button.onclick = () => {
      if (isShown && view.shown.size > 1) {
        view.shown.delete(index);
      } else {
        view.shown.add(index);
      }
      draw();
    };
    (isShown || runs.length <= mostRuns ? place : rest).append(button);
  }
  if (rest.children.length > 0) {
    const fold = make('details', isRestOpen ? {open: ''} : {},
        make('summary', {}, rest.children.length + ' more runs'), rest);
    fold.ontoggle = () => { isRestOpen = fold.open; };
    place.append(fold);
  }
}

function select(label, names, chosen, onPick) {
  const list = make('select', {});
  names.forEach((name, at) => list.append(make('option', {value: at}, name)));
  list.value = chosen;
  list.onchange = () => onPick(Number(list.value));
  return make('label', {}, label, list);
}

// The run and the point of the charts below.
function drawPicker() {
  const place = document.getElementById('picker');
  place.replaceChildren();
  const points = pointsOf(runs[view.run]);
  if (runs.length > 1) {
    place.append(select('Run', ranked.map((index) => runs[index].label),
        ranked.indexOf(view.run), (at) => {
          view.run = ranked[at];
          view.point = firstPoint(view.run);
          draw();
        }));
  }
  if (points.length > 1) {
    place.append(select('Point', points.map((point) => describe(point) +
        (isTry(point) || point.purpose ? ', ' + point.purpose : '')),
    points.indexOf(view.point), (at) => {
      view.point = points[at];
      draw();
    }));
  }
}

function draw() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  drawRuns();
  drawPicker();
  for (const section of document.querySelectorAll('section.card')) {
    const figure = section.querySelector('.figure');
    if (!figure || !charts[section.id]) continue;
    for (const canvas of figure.querySelectorAll('canvas')) {
      Chart.getChart(canvas)?.destroy();
    }
    figure.replaceChildren();
    charts[section.id](figure);
  }
}

if (runs.length > 0) {
  draw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}
