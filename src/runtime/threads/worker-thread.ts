/**
 * The code of a thread: it loads the author's modules, and calls their functions, one at a time. What they report goes to the server as it comes.
 * Nothing of an SDK or a store is loaded here.
 */

import { existsSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { parentPort } from "node:worker_threads";
import { plainData, textOf } from "../plain-data.ts";
import { decodeError, decodeValue, encodeError, encodeValue } from "../stored-values.ts";
import { thrownStack } from "../tool/tool-errors.ts";
import type { FromThread, ReportMethod, ThreadEnd, ThreadJob, ToThread } from "./worker-options.ts";
import type { WorkerStepContext } from "./worker-context.ts";

/** The shortest time between two reports of progress: those in between are left out, but not the last. */
const pauseMs = 50;

/** More of the data of a line than the server keeps. */
const mostDataBytes = 64 * 1024;

/** How much more willing to wait for a processor a thread is than the server. */
const niceness = 5;

// Elsewhere this would be the priority of the whole process.
if (process.platform === "linux") setPriority(Math.min(getPriority() + niceness, 19));

/** The function that runs now. */
let current: Call | undefined;

function send(message: FromThread): void {
  parentPort?.postMessage(message);
}

class Call {
  readonly aborted = new AbortController();
  readonly #answers = new Map<number, PromiseWithResolvers<void>>();
  #calls = 0;
  #progress: readonly unknown[] | undefined;
  #progressAt = -Infinity;

  answer(call: number, error?: string): void {
    const answered = this.#answers.get(call);
    this.#answers.delete(call);
    if (error === undefined) answered?.resolve();
    else answered?.reject(decodeError(error));
  }

  report(method: ReportMethod, args: readonly unknown[]): Promise<void> {
    this.flush();
    const answered = Promise.withResolvers<void>();
    answered.promise.catch(() => undefined); // nobody has to wait for it
    const call = ++this.#calls;
    this.#answers.set(call, answered);
    send({ type: "call", call, method, args });
    return answered.promise;
  }

  progress(args: readonly unknown[]): void {
    const isFirst = this.#progress === undefined;
    this.#progress = args;
    if (performance.now() - this.#progressAt >= pauseMs) this.flush();
    else if (isFirst) setTimeout(() => this.flush(), pauseMs).unref();
  }

  /** Sends what was reported last of progress. */
  flush(): void {
    const args = this.#progress;
    if (args === undefined) return;
    this.#progress = undefined;
    this.#progressAt = performance.now();
    void this.report("progress", args);
  }
}

/** Reports take any value, and a message does not. */
function contextOf(call: Call, { idempotencyKey }: ThreadJob): WorkerStepContext {
  return {
    idempotencyKey,
    signal: call.aborted.signal,
    log: (level, text, data) => {
      const line = [textOf(level), textOf(text)];
      return call.report("log", data === undefined ? line : [...line, plainData(data, mostDataBytes)]);
    },
    output: (content) => {
      const isData = typeof content === "object" && !((content as unknown) instanceof Error);
      return call.report("output", [isData ? plainData(content, Infinity) : textOf(content)]);
    },
    status: (text) => call.report("status", [textOf(text)]),
    progress: (progress, total, message) => {
      const numbers = [progress, total].map((each) => (typeof each === "number" ? each : Number(each)));
      call.progress(message === undefined ? numbers : [...numbers, textOf(message)]);
    },
  };
}

type Exported = (...args: unknown[]) => unknown;

/** The function, or why there is none. Rejects with what the module throws when it is loaded. */
async function exported({ module, export: name }: ThreadJob): Promise<Exported | string> {
  if (module.startsWith("file:") && !existsSync(fileURLToPath(module)))
    return `there is no module ${module}.`;
  const exports = (await import(module)) as Readonly<Record<string, unknown>>;
  const found = Object.hasOwn(exports, name) ? exports[name] : undefined;
  if (typeof found === "function") return found as Exported;
  const names = Object.keys(exports).filter((each) => typeof exports[each] === "function");
  const has = names.length === 0 ? "It exports no function" : `It exports ${names.join(", ")}`;
  return `the module ${module} exports no function ${JSON.stringify(name)}. ${has}.`;
}

async function endOf(call: Call, job: ThreadJob): Promise<ThreadEnd> {
  const { maxBytes } = job.result;
  const threw = (thrown: unknown): ThreadEnd => {
    const stack = thrownStack(thrown);
    return { how: "threw", error: encodeError(thrown, maxBytes), ...(stack !== undefined && { stack }) };
  };
  let found: Exported | string;
  try {
    found = await exported(job);
  } catch (thrown) {
    return { ...threw(thrown), isSpent: true }; // a module that has failed once is not loaded again
  }
  if (typeof found === "string") return { how: "missing", problem: found, isSpent: true };
  let returned: unknown;
  try {
    returned = await found(decodeValue(job.input), contextOf(call, job));
  } catch (thrown) {
    return threw(thrown);
  }
  if (returned === undefined) return { how: "returned", value: null };
  let instance: readonly [string, string] | undefined;
  try {
    const onInstance = (...where: [string, string]): void => void (instance = where);
    const value = encodeValue(returned, { ...job.result, onInstance });
    return { how: "returned", value, ...(instance && { instance }) };
  } catch (refusal) {
    return { how: "refused", error: encodeError(refusal, maxBytes) };
  }
}

async function run(job: ThreadJob): Promise<void> {
  const call = new Call();
  current = call;
  const end = await endOf(call, job);
  call.flush();
  current = undefined;
  send({ type: "ended", end });
}

parentPort?.on("message", (message: ToThread) => {
  if (message.type === "run") void run(message.job);
  else if (message.type === "abort") current?.aborted.abort(decodeError(message.reason));
  else current?.answer(message.call, message.error);
});
