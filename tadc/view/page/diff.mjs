// What changes between two texts: lines, and the words within lines that were replaced.

/** The largest table that is filled, in cells; larger differences count as wholly replaced. */
const LARGEST = 4_000_000;

/** Pairs `[i, j]` with `a[i] === b[j]`, ascending: a longest common subsequence. */
export function common(a, b) {
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first += 1;
  let last = 0;
  while (last < a.length - first && last < b.length - first && a.at(-1 - last) === b.at(-1 - last)) {
    last += 1;
  }
  const pairs = Array.from({ length: first }, (_, n) => [n, n]);
  pairs.push(...middle(a, b, first, a.length - last, b.length - last));
  for (let n = last; n > 0; n--) pairs.push([a.length - n, b.length - n]);
  return pairs;
}

/** The same for `a[first:m]` and `b[first:n]`, by the table of lengths of all their suffixes. */
function middle(a, b, first, m, n) {
  const rows = m - first, columns = n - first;
  if (!rows || !columns || rows * columns > LARGEST) return [];
  const width = columns + 1;
  const length = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      length[i * width + j] = a[first + i] === b[first + j]
        ? length[(i + 1) * width + j + 1] + 1
        : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (a[first + i] === b[first + j]) pairs.push([first + i++, first + j++]);
    else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return pairs;
}

/** Lines of a text as `{text, start}`, with the offset that each begins at. */
export function linesOf(text) {
  let start = 0;
  return text.replace(/\n$/, "").split("\n").map((line) => {
    const found = { text: line, start };
    start += line.length + 1;
    return found;
  });
}

/**
 * Rows `{kind, text, start, words}`: the lines of both texts in one order. `kind` is `same`,
 * `removed` (a line of `before`) or `added` (of `after`), `start` its offset in that text, `words`
 * the parts `[start, end]` of a replaced line that changed.
 */
export function lineDiff(before, after) {
  const old = linesOf(before), now = linesOf(after);
  const rows = [];
  let i = 0, j = 0;
  const pairs = common(old.map((l) => l.text), now.map((l) => l.text));
  for (const [nextOld, nextNow] of [...pairs, [old.length, now.length]]) {
    rows.push(...replaced(old.slice(i, nextOld), now.slice(j, nextNow)));
    if (nextNow < now.length) rows.push({ kind: "same", words: [], ...now[nextNow] });
    [i, j] = [nextOld + 1, nextNow + 1];
  }
  return rows;
}

function replaced(removed, added) {
  const words = removed.map((line, n) => (added[n] ? wordDiff(line.text, added[n].text) : [[], []]));
  return [
    ...removed.map((line, n) => ({ kind: "removed", words: words[n][0], ...line })),
    ...added.map((line, n) => ({ kind: "added", words: words[n]?.[1] ?? [], ...line })),
  ];
}

/** The changed parts `[start, end]` of two lines; none where hardly anything stays. */
function wordDiff(before, after) {
  const a = before.match(/\w+|\s+|[^\w\s]/g) ?? [], b = after.match(/\w+|\s+|[^\w\s]/g) ?? [];
  const pairs = common(a, b);
  const kept = pairs.reduce((sum, [i]) => sum + a[i].trim().length, 0);
  if (2 * kept < Math.min(before.trim().length, after.trim().length)) return [[], []];
  return [changed(a, new Set(pairs.map(([i]) => i))), changed(b, new Set(pairs.map(([, j]) => j)))];
}

function changed(words, kept) {
  const parts = [];
  let at = 0;
  words.forEach((word, n) => {
    if (!kept.has(n)) {
      if (parts.at(-1)?.[1] === at) parts.at(-1)[1] += word.length;
      else parts.push([at, at + word.length]);
    }
    at += word.length;
  });
  return parts;
}
