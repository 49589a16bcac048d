// The tabs: each shows one or two parts of an answer.

import { lineDiff } from "./diff.mjs";
import { heading, reasons } from "./links.mjs";
import { element, painted, painter, spansOfLinks } from "./text.mjs";

/** The lines around a change that are shown. */
const AROUND = 2;

/** `show` puts parts into the panel; `python` prints the same, of a function `f`. */
export const TABS = [
  {
    name: "why", title: "Why", part: "explanation", show: showReasons,
    text: (part) => part.text,
    python: "from tadc.explain.gradients import explain\n\nprint(explain(f))",
  },
  {
    name: "pictures", title: "Pictures", part: "pictures", show: showPictures,
    text: (part) => part.map((picture) => picture.svg).join("\n"),
    python: "print(f.derivative())",
  },
  {
    name: "stages", title: "Stages", part: "stages", show: showStages,
    text: (part) => part.map((stage) => `// ${stage.name}: ${stage.says}\n${stage.text}`).join("\n"),
    python: 'for stage in ("tensor-index", "derivative", "solved", "bounded", "simplified"):\n'
      + "    print(f.ir(stage))",
  },
  textTab("loops", "Loops", "ir", "scheduled"),
  textTab("plan", "Plan", "plain", "plan"),
  textTab("llvm", "LLVM IR", "llvm", "llvm"),
  textTab("cuda", "CUDA C", "cuda", "cuda"),
];

/** The tabs that take the machine of a server. */
export const TABS_OF_SERVER = [
  textTab("assembly", "Assembly", "assembly", "assembly"),
  {
    name: "run", title: "Run", part: "run", show: showRun,
    text: (part) => part.rows.map((row) => row.join("\t")).join("\n"),
    python: "print(f.derivative())",
  },
];

function textTab(part, title, language, kind) {
  const show = (panel, found) => panel.append(paper(painted(found.text, language)));
  const python = `print(f.derivative().emit("${kind}"))`;
  return { name: part, title, part, show, text: (found) => found.text, python };
}

function paper(...children) {
  return element("pre", { class: "paper" }, ...children);
}

// --- why ------------------------------------------------------------------------------------------

function showReasons(panel, { records, text }) {
  if (!records.length) return panel.append(paper(text));
  const cards = records.map((record) =>
    element("article", { "data-link": record.link }, element("h3", {}, heading(record)), reasons(record)),
  );
  panel.append(element("div", { class: "cards" }, ...cards));
}

// --- pictures -------------------------------------------------------------------------------------

function showPictures(panel, pictures, { sizes, choose }) {
  const ofSizes = (sizes ?? []).map((size) => slider(size, (value) => choose("sizes", size.name, value)));
  panel.append(element("div", { class: "sliders" }, ...ofSizes));
  const figures = pictures.map((picture) => {
    const sliders = (picture.elements ?? []).map((each) =>
      slider(each, (value) => choose("element", each.name, value)),
    );
    return element(
      "figure", { "data-link": picture.link },
      element("figcaption", {}, picture.title),
      drawn(picture.svg),
      element("div", { class: "sliders" }, ...sliders),
    );
  });
  panel.append(element("div", { class: "figures" }, ...figures));
  if (!figures.length) panel.append(element("p", {}, "There is nothing to draw of this formula."));
}

function slider({ name, value, least, most }, choose) {
  const input = element("input", { type: "range", min: least, max: most, value, "data-slider": name });
  const output = element("output", {}, String(value));
  input.addEventListener("input", () => {
    output.textContent = input.value;
    choose(Number(input.value));
  });
  return element("label", {}, element("code", {}, name), input, output);
}

/** A picture as an element. Its own style joins those of the page, which allows no others. */
function drawn(svg) {
  const bare = svg.replace(/<style>([^]*?)<\/style>/g, (_, rules) => adopt(rules));
  const picture = new DOMParser().parseFromString(bare, "image/svg+xml").documentElement;
  return document.importNode(picture, true);
}

const adopted = new Set();

function adopt(rules) {
  if (adopted.has(rules)) return "";
  adopted.add(rules);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return "";
}

// --- stages ---------------------------------------------------------------------------------------

function showStages(panel, stages, { stage, look }) {
  const known = stages.findIndex((each) => each.name === stage);
  const chosen = known < 0 ? Math.min(1, stages.length - 1) : known;
  const steps = stages.map((each, n) => {
    const button = element(
      "button",
      { type: "button", class: each.same ? "same" : "", "aria-pressed": String(n === chosen) },
      each.name,
    );
    button.addEventListener("click", () => look(each.name));
    return element("li", {}, button);
  });
  panel.append(element("ol", { class: "steps" }, ...steps));
  const now = stages[chosen];
  const before = stages.slice(0, chosen).findLast((each) => !each.same) ?? stages[chosen - 1];
  panel.append(element("p", { class: "says" }, now.same ? `${now.says} Nothing changed here.` : now.says));
  if (now.same) panel.append(folded("The text, as it was before", () => whole(now)));
  else if (!before || chosen === 0) panel.append(whole(now));
  else {
    panel.append(difference(before, now));
    panel.append(folded("The whole text", () => whole(now)));
  }
}

function whole(stage) {
  return paper(painted(stage.text, "ir", spansOfLinks(stage.text, stage.links)));
}

function folded(title, make) {
  const details = element("details", {}, element("summary", {}, title));
  details.addEventListener("toggle", () => details.open && details.append(make()), { once: true });
  return details;
}

function difference(before, now) {
  const rows = lineDiff(before.text, now.text);
  const paints = { removed: rowPainter(before, rows, "removed"), added: rowPainter(now, rows) };
  const shown = rows.map((_, n) =>
    rows.slice(Math.max(0, n - AROUND), n + AROUND + 1).some((row) => row.kind !== "same"),
  );
  const found = paper();
  for (let n = 0; n < rows.length;) {
    let end = n;
    while (end < rows.length && shown[end] === shown[n]) end += 1;
    const lines = rows.slice(n, end).map((row) => line(row, paints));
    if (shown[n]) found.append(...lines);
    else {
      const count = `${end - n} equal line${end - n > 1 ? "s" : ""}`;
      found.append(element("details", {}, element("summary", {}, count), ...lines));
    }
    n = end;
  }
  return found;
}

/** The painter of the lines of one stage, with the words that changed in lines of a kind. */
function rowPainter(stage, rows, kind = "added") {
  const words = rows.filter((row) => row.kind === kind).flatMap((row) =>
    row.words.map(([start, end]) => ({ start: row.start + start, end: row.start + end, kind: "changed" })),
  );
  return painter(stage.text, "ir", [...spansOfLinks(stage.text, stage.links), ...words]);
}

function line(row, paints) {
  const paint = row.kind === "removed" ? paints.removed : paints.added;
  const sign = { same: "  ", removed: "- ", added: "+ " }[row.kind];
  const text = paint(row.start, row.start + row.text.length);
  return element("span", { class: `row ${row.kind}` }, element("span", { class: "sign" }, sign), text, "\n");
}

// --- run ------------------------------------------------------------------------------------------

function showRun(panel, { says, head, rows }) {
  const cells = (kind, row) => row.map((cell) => element(kind, {}, String(cell)));
  panel.append(
    element("p", { class: "says" }, says),
    element(
      "table", { class: "numbers" },
      element("tr", {}, ...cells("th", head)),
      ...rows.map((row) => element("tr", {}, ...cells("td", row))),
    ),
  );
}

