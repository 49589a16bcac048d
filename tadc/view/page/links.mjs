// What belongs together lights up together: a read, its sum, its lines in every stage, its picture.

import { drawing, element } from "./text.mjs";

/** Between a card and what it is about, in pixels. */
const GAP = 8;

const card = document.querySelector("#card");
let lit = null;
let records = [], pictures = [];

/** The parts of an answer that cards show from now on. */
export function explainBy(answer) {
  records = answer.explanation?.records ?? [];
  pictures = answer.pictures ?? [];
}

/** Light up all elements with a link, none for null. */
export function light(link) {
  if (link === lit) return;
  lit = link;
  relight();
}

/** Light up what has been drawn since. */
export function relight() {
  for (const old of document.querySelectorAll(".lit")) old.classList.remove("lit");
  if (!lit) return;
  for (const now of document.querySelectorAll(`[data-link="${CSS.escape(lit)}"]`)) {
    now.classList.add("lit");
  }
}

/** Why the sum of a read has its range: equations, solution, guards and bounds, as a list. */
export function reasons(record) {
  const found = element("dl", {});
  for (const part of ["equations", "solution", "guards"]) {
    const lines = record[part].map((line) => element("code", {}, line));
    if (lines.length) found.append(element("dt", {}, part), element("dd", {}, ...lines));
  }
  for (const { index, lower, upper } of record.bounds) {
    const bounds = [
      ...lower.map((bound) => row(index, "≥", bound)),
      ...upper.map((bound) => row(index, "<", bound)),
    ];
    found.append(element("dt", {}, "range of ", element("code", {}, index)));
    found.append(element("dd", {}, element("table", {}, ...bounds)));
  }
  return found;
}

function row(index, sign, { form, from }) {
  const bound = element("code", {}, `${index} ${sign} ${form}`);
  return element("tr", {}, element("td", {}, bound), element("td", {}, from ? `from ${from}` : ""));
}

export function heading(record) {
  return record.read ? `${record.of} from ${record.read}` : record.of;
}

// --- the card at the pointer ----------------------------------------------------------------------

/** Show the card of a link near an element. */
function showCard(link, near) {
  const found = records.filter((record) => record.link === link);
  if (!found.length) return hideCard();
  const seen = pictures.find((picture) => picture.link === link);
  card.replaceChildren(
    ...found.map((record) => element("div", {}, element("h3", {}, heading(record)), reasons(record))),
    ...(seen ? [element("div", {}, element("p", {}, seen.title), drawing(seen.svg))] : []),
  );
  card.hidden = false;
  const box = near.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  const below = box.bottom + GAP + height <= innerHeight || box.top < height + GAP;
  card.style.left = `${Math.max(GAP, Math.min(box.left, innerWidth - width - GAP))}px`;
  card.style.top = `${below ? box.bottom + GAP : box.top - GAP - height}px`;
}

function hideCard() {
  card.hidden = true;
}

/** The linked element under the pointer: also one that another, as the editor, lies above. */
function linkAt(event) {
  const direct = event.target.closest?.("[data-link]");
  if (direct) return direct;
  if (event.target.id !== "formula") return null;
  const under = document.elementsFromPoint(event.clientX, event.clientY);
  return under.map((each) => each.closest("#underlay [data-link]")).find(Boolean) ?? null;
}

function follow(found) {
  light(found?.dataset.link ?? null);
  if (found && !found.matches("#panel :is(article, figure, svg *)")) showCard(found.dataset.link, found);
  else hideCard();
}

document.addEventListener("pointermove", (event) => follow(linkAt(event)));
document.addEventListener("pointerdown", (event) => follow(linkAt(event)));
document.addEventListener("focusin", ({ target }) => target.matches("[data-link]") && follow(target));
document.addEventListener("focusout", ({ target }) => target.matches("[data-link]") && follow(null));
document.addEventListener("keydown", ({ key }) => key === "Escape" && hideCard());
document.addEventListener("input", hideCard);
addEventListener("scroll", hideCard, { passive: true });
