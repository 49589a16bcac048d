// The page: a formula goes to the compiler, its answer to the places where it is read.

import { hashOf, textOf } from "./address.mjs";
import { Backend, server, worker } from "./backend.mjs";
import { explainBy, light, relight } from "./links.mjs";
import { TABS, TABS_OF_SERVER } from "./panes.mjs";
import { element, painted, spanOfError, spansOfLinks } from "./text.mjs";
import { followTheme } from "./theme.mjs";

/** How long the keys must rest before a formula is derived, in milliseconds. */
const REST = 250;

/** Instead of an error, of a part that an answer does not have. */
const NOTHING = { message: "There is nothing to show of this formula." };

const find = (selector) => document.querySelector(selector);
const formula = find("#formula");
const derivative = find("#derivative");
const status = find("#status");
const panel = find("#panel");
const local = find('meta[name="answers"]').content === "server";
const tabs = local ? [...TABS, ...TABS_OF_SERVER] : TABS;

let examples = [];
/** The last answer without error: its parts, and the text that they are about. */
let good = { text: null };
/** The last error with the text that it is about; null where the last answer had none. */
let wrong = null;
let tab = tabs[0];
/** The tab whose part the panel shows, if only that of the answer before; null if there is none. */
let shown = null;
let chosen = { sizes: {}, element: {}, stage: null };
let timer = null;
let asked = 0;
let deepening = false;

const backend = new Backend(local ? server : worker, (state, why) => {
  const says = {
    loading: "loading the compiler, 6.5 MB the first time",
    replaced: "loading the compiler again",
    failed: `the compiler cannot be loaded: ${why}`,
    busy: "…",
    ready: `derived ${local ? "on this machine" : "in this browser"}`,
  };
  document.documentElement.dataset.compiler = state;
  status.textContent = says[state];
  if (state === "ready" && !local) keepOffline();
});

// --- from the formula to its answer ---------------------------------------------------------------

function edit() {
  drawFormula();
  derivative.ariaBusy = "true";
  clearTimeout(timer);
  timer = setTimeout(() => {
    derive();
    keepAddress();
  }, REST);
}

/** Show the derivative of the formula, then why it is so and what the open tab shows. */
async function derive() {
  clearTimeout(timer);
  const text = formula.value;
  const number = ++asked;
  derivative.ariaBusy = "true";
  if (!backend.ready) await showStored(text, number);
  const begun = performance.now();
  const answer = await backend.ask("derivative", { source: text, parts: ["derivative"] });
  if (!answer || number !== asked) return;
  derivative.dataset.milliseconds = Math.round(performance.now() - begun);
  accept(text, answer);
  await deepen();
}

/** The answer that the site holds of an example, shown while the compiler is loading. */
async function showStored(text, number) {
  const example = examples.find((each) => each.source === text && each.answer);
  if (!example) return;
  const stored = await (await fetch(example.answer)).json();
  if (number === asked && !backend.ready) accept(text, stored);
}

function accept(text, answer) {
  wrong = answer.error && { ...answer.error, text };
  if (!wrong) {
    const kept = good.text === text ? good : {};
    if (good.text !== text) chosen = { sizes: {}, element: {}, stage: chosen.stage };
    good = { ...kept, ...answer, text };
    explainBy(good);
  }
  drawFormula();
  drawDerivative();
  drawPanel();
  derivative.ariaBusy = String(text !== formula.value);
}

/** Ask for what the answer lacks, one request at a time, for as long as it is about the formula. */
async function deepen() {
  if (deepening) return;
  deepening = true;
  for (let parts = missing(); parts.length; parts = missing()) await add("parts", parts);
  deepening = false;
}

/** The parts to ask for next: what is shown first, then the pictures of cards. */
function missing() {
  if (wrong || good.text !== formula.value) return [];
  const lacks = (part) => !good[part] && !good.refused?.[part];
  const seen = [...new Set(["explanation", tab.part])].filter(lacks);
  return seen.length ? seen : ["pictures"].filter(lacks);
}

/** Add parts to the answer, for the sizes and the element that are chosen. */
async function add(channel, parts) {
  const text = good.text;
  const { sizes, element } = chosen;
  const answer = await backend.ask(channel, { source: text, parts, sizes, element });
  if (!answer || good.text !== text) return;
  const refused = { ...good.refused };
  for (const part of parts) if (!answer[part]) refused[part] = answer.error ?? NOTHING;
  good = answer.error ? { ...good, refused } : { ...good, ...answer, text, refused };
  explainBy(good);
  drawPanel();
}

// --- drawing --------------------------------------------------------------------------------------

function drawFormula() {
  const text = formula.value;
  const links = text === good.text ? spansOfLinks(text, good.formula?.links) : [];
  const marks = wrong?.text === text ? spanOfError(text, wrong) : [];
  // a last line that is empty takes a character to have a height
  find("#underlay").replaceChildren(painted(text, "tad", [...links, ...marks]), " ");
  relight();
}

function drawDerivative() {
  const [error, program] = derivative.children;
  error.hidden = !wrong;
  error.textContent = wrong ? wrong.message : "";
  derivative.classList.toggle("stale", Boolean(wrong));
  if (!good.derivative) return;
  const { text, links } = good.derivative;
  program.replaceChildren(painted(text, "tad", spansOfLinks(text, links)));
  for (const each of program.querySelectorAll("[data-link]")) each.tabIndex = 0;
  relight();
}

function drawPanel() {
  const part = good[tab.part], refused = good.refused?.[tab.part];
  panel.setAttribute("aria-labelledby", `tab-${tab.name}`);
  panel.classList.toggle("stale", Boolean(wrong));
  panel.setAttribute("aria-busy", String(!part && !refused));
  if (refused) {
    panel.replaceChildren(element("pre", { class: "error paper" }, refused.message));
    shown = null;
  } else if (part) {
    const context = { sizes: good.sizes, stage: chosen.stage, choose, look };
    const updated = shown === tab && tab.update?.(panel, part, context);
    if (!updated) panel.replaceChildren(...tab.show(part, context));
    shown = tab;
  } else if (shown !== tab) {
    panel.replaceChildren(element("p", { class: "says" }, "…"));
    shown = null;
  }
  relight();
}

// --- tabs and sliders -----------------------------------------------------------------------------

function choose(kind, name, value) {
  chosen = { ...chosen, [kind]: { ...chosen[kind], [name]: value } };
  add("sliders", [tab.part]);
}

function look(stage) {
  chosen = { ...chosen, stage };
  drawPanel();
}

function open(next) {
  tab = next;
  for (const button of find('[role="tablist"]').children) {
    const here = button.id === `tab-${tab.name}`;
    button.setAttribute("aria-selected", String(here));
    button.tabIndex = here ? 0 : -1;
  }
  drawPanel();
  deepen();
}

function makeTabs() {
  const list = find('[role="tablist"]');
  for (const each of tabs) {
    const attributes = { type: "button", role: "tab", id: `tab-${each.name}`, "aria-controls": "panel" };
    const button = element("button", attributes, each.title);
    button.addEventListener("click", () => open(each));
    list.append(button);
  }
  list.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    open(tabs.at((tabs.indexOf(tab) + step) % tabs.length));
    find(`#tab-${tab.name}`).focus();
  });
  open(tab);
}

// --- formulas from elsewhere ----------------------------------------------------------------------

/** Name the example that the formula is, in the menu. */
function nameExample() {
  const example = examples.find((each) => each.source === formula.value);
  find("#examples").value = example?.name ?? "";
}

/** Show a formula that was not typed here: of an example, or of an address. */
async function load(text) {
  formula.value = text;
  drawFormula();
  nameExample();
  await derive();
}

async function loadExample(name) {
  const { source } = examples.find((each) => each.name === name);
  await keepAddress();
  history.pushState(null, "", await hashOf(source));
  await load(source);
}

/** Let the address stand for the formula as it is now, so that going back comes to it again. */
async function keepAddress() {
  const text = formula.value;
  const hash = await hashOf(text);
  if (formula.value === text) history.replaceState(null, "", hash);
}

async function loadAddress() {
  let text = null;
  try {
    text = await textOf(location.hash);
  } catch {
    status.textContent = "the formula in this address is damaged";
  }
  await load(text ?? examples[0].source);
}

async function start() {
  makeTabs();
  examples = await (await fetch("examples.json")).json();
  const options = examples.map(({ name, title }) => element("option", { value: name }, title));
  find("#examples").append(element("option", { value: "", disabled: true }, "your own"), ...options);
  await loadAddress();
}

function keepOffline() {
  navigator.serviceWorker?.register("offline.js").catch(() => {}); // a page without it works too
}

// --- buttons --------------------------------------------------------------------------------------

/** A program of Python that does something with the formula as `f`. */
function python(then) {
  const source = formula.value.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"');
  return `import tadc\n\nf = tadc.compile("""\n${source.trimEnd()}\n""")\n${then}\n`;
}

async function copy(button, text) {
  const title = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser refuses";
  }
  setTimeout(() => (button.textContent = title), 1500);
}

formula.addEventListener("input", edit);
formula.addEventListener("input", nameExample);
find("#examples").addEventListener("change", ({ target }) => loadExample(target.value));
find("#share").addEventListener("click", async ({ target }) => {
  await keepAddress();
  copy(target, location.href);
});
find("#python").addEventListener("click", ({ target }) => copy(target, python("print(f.derivative())")));
find("#part-python").addEventListener("click", ({ target }) => copy(target, python(tab.python)));
find("#part-text").addEventListener("click", ({ target }) => {
  if (good[tab.part]) copy(target, tab.text(good[tab.part]));
});
addEventListener("popstate", loadAddress);
document.addEventListener("selectionchange", () => {
  if (document.activeElement !== formula || formula.value !== good.text) return;
  const spans = spansOfLinks(good.text, good.formula?.links);
  const here = spans.filter((s) => s.start <= formula.selectionStart && formula.selectionStart <= s.end);
  light(here.at(-1)?.link ?? null);
});
followTheme(find("#theme"));
start();
