// The compiler in a thread of the browser: Python, and of its packages what `view` needs.
//
// It takes `{number, request}`, the arguments of `view` as JSON, and says `{ready}` once, then
// `{number, answer}` with its result as JSON, or `{broken}` where Python itself has stopped.

import { loadPyodide } from "./pyodide.mjs";

const PACKAGES = "/packages";

const archive = fetch("modules.zip").then((response) => response.arrayBuffer());
const python = await loadPyodide({ indexURL: "./" });
python.unpackArchive(new Uint8Array(await archive), "zip", { extractDir: PACKAGES });
const answer = python.runPython(`
import json, os, sys
os.environ["TADC_CACHE"] = "off"  # there is no disk
sys.path.insert(0, "${PACKAGES}")
from tadc.view import view

def answer(request):
    return json.dumps(view(**json.loads(request)))

view("y[i] = x[i]")  # so that the first answer does not wait for modules either
answer
`);

onmessage = ({ data: { number, request } }) => {
  try {
    postMessage({ number, answer: answer(request) });
  } catch (error) {
    // an exception of Python leaves it as it was; after any other one, it answers nothing
    if (error instanceof python.ffi.PythonError) {
      postMessage({ number, failure: lastLine(error) });
    } else {
      postMessage({ broken: lastLine(error) });
    }
  }
};
postMessage({ ready: true });

function lastLine(error) {
  return String(error.message).trim().split("\n").at(-1);
}
