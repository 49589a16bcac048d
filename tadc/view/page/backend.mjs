// Who answers: the worker of this page, or the server that it came from. Requests wait here.

/** How long the worker may take for an answer, in milliseconds. */
const PATIENCE = 5_000;

/**
 * Sends one request at a time. Of those that wait, each channel keeps the last; who asked before
 * gets null. What does not answer is replaced, and the request that it stopped at gets an error.
 */
export class Backend {
  #open;
  #report;
  #connection;
  #waiting = new Map();
  #current = null;
  #number = 0;

  /** `open(hear)` gives a connection, which says `ready`; `report(state, why)` hears of changes. */
  constructor(open, report) {
    this.#open = open;
    this.#report = report;
    this.#connect("loading");
  }

  /** The answer of `view` to a request; null where a later one of this channel has taken its place. */
  ask(channel, request) {
    this.#waiting.get(channel)?.answer(null);
    return new Promise((answer) => {
      this.#waiting.delete(channel);
      this.#waiting.set(channel, { channel, request, answer });
      this.#next();
    });
  }

  #connect(state, why) {
    this.ready = false;
    this.#report(state, why);
    const connection = this.#open((message) => {
      if (connection === this.#connection) this.#hear(message);
    });
    this.#connection = connection;
  }

  #hear({ ready, broken, number, answer, failure }) {
    if (ready) {
      this.ready = true;
      this.#report("ready");
      this.#next();
    } else if (broken && !this.ready) {
      this.#report("failed", broken);
    } else if (broken) {
      this.#replace("Stopped", "this formula is too deep or too large for the browser");
    } else if (number === this.#current?.number) {
      this.#finish(failure ? mishap("InternalError", `a fault of tadc: ${failure}`) : JSON.parse(answer));
    }
  }

  #next() {
    if (!this.ready || this.#current || !this.#waiting.size) return;
    const [[channel, asked]] = this.#waiting;
    this.#waiting.delete(channel);
    const number = ++this.#number;
    const slow = () => this.#replace("TimeLimit", "this formula takes more than 5 seconds here");
    const timer = this.#connection.patient ? null : setTimeout(slow, PATIENCE);
    this.#current = { ...asked, number, timer };
    this.#report("busy");
    this.#connection.send({ number, request: JSON.stringify(asked.request) });
  }

  #finish(found) {
    const { channel, timer, answer } = this.#current;
    clearTimeout(timer);
    this.#current = null;
    answer(this.#waiting.has(channel) ? null : found);
    if (this.ready) {
      this.#report("ready");
      this.#next();
    }
  }

  #replace(kind, says) {
    this.#connection.close();
    this.#connect("replaced", says);
    if (this.#current) this.#finish(mishap(kind, `${says}; tadc derive takes it on your machine`));
  }
}

function mishap(kind, says) {
  return { error: { kind, says, message: says, line: null } };
}

/** The compiler in a worker of this page. */
export function worker(hear) {
  const made = new Worker("worker.mjs", { type: "module" });
  made.onmessage = ({ data }) => hear(data);
  made.onerror = (event) => hear({ broken: event.message || "the compiler could not be loaded" });
  return { send: (message) => made.postMessage(message), close: () => made.terminate() };
}

/** The compiler behind the server of this page, which limits the time itself. */
export function server(hear) {
  queueMicrotask(() => hear({ ready: true }));
  const send = async ({ number, request }) => {
    try {
      const headers = { "Content-Type": "application/json" };
      const response = await fetch("view", { method: "POST", headers, body: request });
      const text = await response.text();
      hear(response.ok ? { number, answer: text } : { number, failure: text });
    } catch {
      hear({ number, failure: "the server has gone; start tadc explore again" });
    }
  };
  return { send, close() {}, patient: true };
}
