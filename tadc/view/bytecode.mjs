// Runs bytecode.py in the Python of a site: node bytecode.mjs FOLDER

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
// without the columns of tracebacks, bytecode is a quarter smaller
const python = await loadPyodide({ env: { PYTHONNODEBUGRANGES: "1" } });
python.mountNodeFS("/site", folder);
python.runPython(readFileSync(new URL("bytecode.py", import.meta.url), "utf8"));
python.runPython("main(Path('/site'))");
