// The words of a text by their kinds, for colours alone: nothing is understood here.

const LANGUAGES = {
  tad: [
    ["comment", /#.*/],
    ["number", /\b\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\b/],
    ["keyword", /\b(?:sum|prod|max|min|range|return|if|else|and|or|not|in|pad)\b/],
    ["type", /\b(?:f32|f64|real)\b/],
    ["call", /\b[A-Za-z_]\w*(?=\()/],
  ],
  ir: [
    ["comment", /\/\/.*/],
    ["string", /"[^"\n]*"/],
    ["value", /%[\w$.-]+/],
    ["call", /[@#^][\w$.-]+/],
    ["keyword", /\b[a-z_]+\.[a-z_][\w.]*/],
    ["type", /!?[a-z]+(?:\.[a-z]+)*<|\b(?:i\d+|f\d+|index)\b/],
    ["number", /\b-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\b/],
  ],
  llvm: [
    ["comment", /;.*/],
    ["string", /c?"[^"\n]*"/],
    ["value", /%[\w$.-]+/],
    ["call", /[@#!][\w$.-]+/],
    ["type", /\b(?:i\d+|float|double|ptr|void|label|metadata)\b|<\d+ x|\[\d+ x/],
    ["number", /\b0x[0-9A-Fa-f]+\b|-?\b\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\b/],
    ["keyword", /^ *(?:define|declare|target|attributes|ret|br|switch|store)\b|(?<== )\w+/m],
  ],
  cuda: [
    ["comment", /\/\/.*|\/\*[^]*?\*\//],
    ["string", /"[^"\n]*"/],
    ["keyword", /^#\w+|\b(?:if|else|for|while|do|return|const|static|struct|extern|__\w+__)\b/m],
    ["type", /\b(?:void|bool|int|long|unsigned|float|double|size_t|u?int\d+_t)\b/],
    ["number", /\b0x[0-9A-Fa-f]+\b|\b\d+(?:\.\d*)?(?:[eE][+-]?\d+)?[fFuUlL]*\b/],
    ["call", /\b[A-Za-z_]\w*(?=\()/],
  ],
  assembly: [
    ["comment", /#.*/],
    ["keyword", /^\s+[a-z]\w*/m],
    ["call", /^[.\w$]+:/m],
    ["value", /%\w+/],
    ["number", /\$?-?\b(?:0x[0-9a-f]+|\d+)\b/],
  ],
  plain: [],
};

/** The words of `text` that have a colour, in order, as `{start, end, kind}`. */
export function tokens(text, language) {
  const kinds = LANGUAGES[language];
  if (!kinds.length) return [];
  const source = kinds.map(([kind, pattern]) => `(?<${kind}>${pattern.source})`).join("|");
  return [...text.matchAll(new RegExp(source, "gm"))].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    kind: kinds.find(([kind]) => match.groups[kind] !== undefined)[0],
  }));
}
