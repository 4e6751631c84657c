// What all charts share: the results, colours, markers, numbers as text.
'use strict';

function parse(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

const runs = parse('results').runs;
const marks = parse('marks');  // what the page says beside the results

function color(name) {
  return getComputedStyle(document.documentElement)
      .getPropertyValue('--' + name).trim();
}

// Returns a colour of the form #rrggbb with an alpha of 0 to 1.
function faded(hex, alpha) {
  return hex + Math.round(alpha * 255).toString(16).padStart(2, '0');
}

// Returns the colour at `share` of the way between two of the form #rrggbb.
function between(from, to, share) {
  const part = (hex, at) => parseInt(hex.slice(at, at + 2), 16);
  return '#' + [1, 3, 5].map((at) => Math.round(
      part(from, at) + (part(to, at) - part(from, at)) * share)
      .toString(16).padStart(2, '0')).join('');
}

// As Chart.js names them, with the path of each in a box of -5 to 5 for keys.
const markers = [
  {style: 'circle', path: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0'},
  {style: 'rect', path: 'M-3.5-3.5h7v7h-7z'},
  {style: 'triangle', path: 'M0-4.4L4.4 3.2H-4.4z'},
  {style: 'rectRot', path: 'M0-4.8L4.8 0L0 4.8L-4.8 0z'},
  {style: 'triangle', rotation: 180, path: 'M0 4.4L4.4-3.2H-4.4z'},
  {style: 'star', path: 'M-4.5 0h9M0-4.5v9M-3.2-3.2l6.4 6.4M-3.2 3.2l6.4-6.4'},
  {style: 'cross', path: 'M-4.5 0h9M0-4.5v9'},
];
const closedMarker = {style: 'crossRot', path: 'M-3.5-3.5l7 7M-3.5 3.5l7-7'};

// Returns a number with three figures that count: "3,870", "12.3", "0.045".
function short(value) {
  return Number(value.toPrecision(3)).toLocaleString(
      'en', {maximumFractionDigits: 6});
}

function ms(us) {
  return short(us / 1000) + ' ms';
}

function percent(share) {
  return short(share * 100) + ' %';
}

// Makes an element with text or children, and attributes.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
