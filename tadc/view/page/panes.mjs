// The tabs: each shows one or two parts of an answer.

import { lineDiff } from "./diff.mjs";
import { heading, reasons } from "./links.mjs";
import { drawing, element, painted, painter, spansOfLinks } from "./text.mjs";

/** What is said above reasons and pictures. */
const ABOUT_REASONS = "Each read of the formula adds a sum to the derivative: over the points at which it reads the element. "
  + "Equations between indices say which these are; each end of a range comes from a condition.";
const ABOUT_PICTURES = "Each dot is a point, a value for each index. Red ones read the element of the gradient that the sliders "
  + "choose: its sum is over these. Where an element has an index k, that of a point is k'.";

/** The lines around a change that are shown. */
const AROUND = 2;

/**
 * `show` makes the elements of a part, and `update` puts a new one into them where that is possible;
 * `text` is the part as text, and `python` prints the same, of a function `f`.
 */
export const TABS = [
  {
    name: "pictures", title: "Pictures", part: "pictures", show: showPictures, update: updatePictures,
    text: (part) => part.map((picture) => picture.svg).join("\n"),
    python: "from tadc.view import view\n\n"
      + 'for picture in view(str(f), parts=["pictures"])["pictures"]:\n'
      + '    print(picture["of"], picture["title"], picture["svg"], sep="\\n")',
  },
  {
    name: "why", title: "Why", part: "explanation", show: showReasons,
    text: (part) => part.text,
    python: "from tadc.explain.gradients import explain\n\nprint(explain(f))",
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
    python: "from tadc.view.machine import run\n\nprint(run(f))",
  },
];

function textTab(part, title, language, kind) {
  const show = (found) => [paper(painted(found.text, language))];
  const python = `print(f.derivative().emit("${kind}"))`;
  return { name: part, title, part, show, text: (found) => found.text, python };
}

function paper(...children) {
  return element("pre", { class: "paper" }, ...children);
}

// --- why ------------------------------------------------------------------------------------------

function showReasons({ records, text }) {
  if (!records.length) return [paper(text)];
  const cards = records.map((record) =>
    element("article", { "data-link": record.link }, element("h3", {}, heading(record)), reasons(record)),
  );
  return [element("p", { class: "says" }, ABOUT_REASONS), element("div", { class: "cards" }, ...cards)];
}

// --- pictures -------------------------------------------------------------------------------------

function showPictures(pictures, { sizes, choose }) {
  if (!pictures.length) return [element("p", { class: "says" }, "There is nothing to draw of this formula.")];
  const groups = groupsOf(pictures).map(([of, group]) =>
    element(
      "div", { class: "gradient" },
      element("div", { class: "sliders" }, element("h3", {}, of), ...sliders(group[0].elements, "element", choose)),
      element("div", { class: "figures" }, ...group.map(figure)),
    ),
  );
  const about = element("p", { class: "says" }, ABOUT_PICTURES);
  return [about, element("div", { class: "sliders" }, ...sliders(sizes, "sizes", choose)), ...groups];
}

/** Draw other sizes or another element; false where the sliders are not those for them. */
function updatePictures(panel, pictures, { sizes }) {
  const groups = groupsOf(pictures);
  const all = [...sizes, ...groups.flatMap(([, group]) => group[0].elements)];
  const inputs = [...panel.querySelectorAll("input")];
  const fits = inputs.map((input) => input.name).join() === all.map((each) => each.name).join();
  if (!fits || !inputs.length) return false;
  inputs.forEach((input, n) => setSlider(input, all[n]));
  panel.querySelectorAll(".figures").forEach((each, n) => each.replaceChildren(...groups[n][1].map(figure)));
  return true;
}

function groupsOf(pictures) {
  const groups = new Map();
  for (const each of pictures) groups.set(each.of, [...(groups.get(each.of) ?? []), each]);
  return [...groups];
}

function figure({ link, title, svg }) {
  return element("figure", { "data-link": link }, element("figcaption", {}, title), drawing(svg));
}

function sliders(values, kind, choose) {
  return values.map((each) => {
    const input = element("input", { type: "range", name: each.name });
    const label = element("label", {}, element("code", {}, each.name), input, element("output", {}));
    setSlider(input, each);
    input.addEventListener("input", () => {
      input.nextSibling.textContent = input.value;
      choose(kind, each.name, Number(input.value));
    });
    return label;
  });
}

/** Set a slider, but not the value of one that is being moved. */
function setSlider(input, { value, least, most }) {
  Object.assign(input, { min: least, max: most });
  if (input !== document.activeElement) input.value = value;
  input.nextSibling.textContent = input.value;
}

// --- stages ---------------------------------------------------------------------------------------

function showStages(stages, { stage, look }) {
  const known = stages.findIndex((each) => each.name === stage);
  const chosen = known < 0 ? Math.min(1, stages.length - 1) : known;
  const now = stages[chosen], before = stages[chosen - 1];
  const says = element("p", { class: "says" }, now.same ? `${now.says} It changed nothing here.` : now.says);
  const steps = element("ol", { class: "steps" }, ...stages.map((each) => step(each, each === now, look)));
  if (now.same) return [steps, says, folded("The text, as before", () => whole(now))];
  if (!before) return [steps, says, whole(now)];
  return [steps, says, difference(before, now), folded("The whole text", () => whole(now))];
}

function step({ name, same }, pressed, look) {
  const attributes = { type: "button", class: same ? "same" : "", "aria-pressed": String(pressed) };
  const button = element("button", attributes, name);
  button.addEventListener("click", () => look(name));
  return element("li", {}, button);
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
  const found = element("div", { class: "rows" });
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
  return paper(found);
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

function showRun({ says, head, rows }) {
  const cells = (kind, row) => row.map((cell) => element(kind, {}, String(cell)));
  const table = element(
    "table", { class: "numbers" },
    element("tr", {}, ...cells("th", head)),
    ...rows.map((row) => element("tr", {}, ...cells("td", row))),
  );
  return [element("p", { class: "says" }, says), table];
}
