// Text as elements: colours of its words, and spans that are linked with others on the page.

import { tokens } from "./highlight.mjs";

/** The most characters that are coloured; longer texts are shown plain. */
const COLOURED = 300_000;

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A picture, from its text as SVG. */
export function drawing(svg) {
  const drawn = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  return document.importNode(drawn, true);
}

/** Links `[start, end, id]`, which count code points, as spans in the units of JavaScript's strings. */
export function spansOfLinks(text, links = []) {
  const at = positions(text);
  return links.map(([start, end, link]) => ({ start: at(start), end: at(end), link }));
}

function positions(text) {
  const points = [...text];
  if (points.length === text.length) return (n) => n;
  const starts = [0];
  for (const point of points) starts.push(starts.at(-1) + point.length);
  return (n) => starts[n] ?? text.length;
}

/**
 * A function `(start, end) -> DocumentFragment` that paints parts of a text, to be called in
 * ascending order. `spans` are `{start, end, link}` or `{start, end, kind}`; a span that ends
 * behind the one around it is cut there.
 */
export function painter(text, language, spans = []) {
  const words = text.length > COLOURED ? [] : tokens(text, language);
  const sorted = [...spans].sort((a, b) => a.start - b.start || b.end - a.end);
  let word = 0;

  function leaves(parent, start, end) {
    let at = start;
    while (word < words.length && words[word].start < end) {
      const { start: first, end: last, kind } = words[word];
      const from = Math.max(first, at), to = Math.min(last, end);
      if (from < to) {
        parent.append(text.slice(at, from), element("span", { class: kind }, text.slice(from, to)));
        at = to;
      }
      if (last > end) break;
      word += 1;
    }
    parent.append(text.slice(at, end));
  }

  function fill(parent, start, end, inside) {
    let at = start;
    while (inside.length && inside[0].start < end) {
      const span = inside.shift();
      const from = Math.max(span.start, at), to = Math.min(span.end, end);
      if (from >= to) continue;
      leaves(parent, at, from);
      const made = span.link
        ? element("span", { class: "link", "data-link": span.link })
        : element("span", { class: span.kind });
      parent.append(made);
      fill(made, from, to, inside);
      at = to;
    }
    leaves(parent, at, end);
  }

  return (start, end) => {
    const fragment = document.createDocumentFragment();
    fill(fragment, start, end, sorted.filter((s) => s.start < end && s.end > start));
    return fragment;
  };
}

export function painted(text, language, spans) {
  return painter(text, language, spans)(0, text.length);
}

/** The span of an error in the text that it is about: lines and columns count from 1. */
export function spanOfError(text, error) {
  if (!error?.line) return [];
  const lines = text.split("\n");
  const offset = (line, column) => {
    const before = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0);
    return before + positions(lines[line - 1] ?? "")(column - 1);
  };
  const start = offset(error.line, error.column ?? 1);
  const end = offset(error.end_line ?? error.line, error.end_column ?? (error.column ?? 1) + 1);
  return [{ start, end: Math.max(end, start + 1), kind: "wrong" }];
}
