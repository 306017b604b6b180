// The thread that sees when the event loop of the process does not answer: then nothing else of the process can say so.

import { writeSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { Session, type Debugger, type InspectorNotification } from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";
import {
  place,
  runningCodeName,
  textAt,
  type RunningCode,
  type BlockedBy,
  type FromWatcher,
  type ToWatcher,
  type Watch,
} from "./running-code.ts";

const memory = workerData as SharedArrayBuffer;
const numbers = new Int32Array(memory, 0, 4);
const text = new Uint8Array(memory, textAt);
const decoder = new TextDecoder();

/** Looks per time in which the loop has to answer. */
const looks = 5;
/** How long the debugger may take to stop a thread that runs JavaScript (ms). It first reads what scripts there are. */
const debuggerMs = 10_000;
const inspectEveryMs = 60_000;
const mostFrames = 20;

/** A process that has used less of a processor was held up by its machine, or waits for it. */
const workingShare = 0.5;

interface Watched {
  readonly watch: Watch;
  readonly server: Server | undefined;
  isReported: boolean;
}

const watched = new Map<number, Watched>();
let beats = 0;
/** How long the loop has not answered (ms), as far as this thread could run meanwhile: a suspended process is not blocked. */
let blockedMs = 0;
let lookedAt = performance.now();
let by: BlockedBy | undefined;
/** Whether stderr has a line about it. */
let isSaid = false;
/** What the process had used of processors when the loop answered last. */
let usedBefore = process.cpuUsage();
let inspectedAt = -Infinity;
let timer: NodeJS.Timeout | undefined;
/** Ends the question to the debugger that is under way. */
let endInspection: (() => void) | undefined;

function say(message: FromWatcher): void {
  parentPort?.postMessage(message);
}

function look(tickMs: number): void {
  const now = performance.now();
  const passed = Math.min(now - lookedAt, 3 * tickMs);
  lookedAt = now;
  const count = Atomics.load(numbers, place.beats);
  if (count !== beats) return answered(count);
  blockedMs += passed;
  for (const each of watched.values()) {
    const { loopBlockedMs, exitMs } = each.watch;
    if (blockedMs >= loopBlockedMs) report(each);
    if (blockedMs >= 2 * loopBlockedMs) inspectOnce();
    // What the debugger has to say is not to be lost with the process.
    if (exitMs === null || blockedMs < exitMs || endInspection !== undefined) continue;
    log("It is ended, so that another process goes on with its tasks.");
    process.kill(process.pid, "SIGKILL");
  }
}

function answered(count: number): void {
  endInspection?.();
  for (const each of watched.values()) {
    if (each.isReported)
      say({ type: "blocked", id: each.watch.id, durationMs: Math.round(blockedMs), by: by ?? noted() });
    each.isReported = false;
  }
  beats = count;
  blockedMs = 0;
  by = undefined;
  isSaid = false;
  usedBefore = process.cpuUsage();
}

/** On stderr only what tasks or this process have to do with: on a machine that is too busy, every process would say it. */
function report(each: Watched): void {
  each.isReported = true;
  by ??= noted();
  if (isSaid || !isOwnFault(by)) return;
  isSaid = true;
  log(sentence(by));
}

function isOwnFault({ isCertain }: BlockedBy): boolean {
  const { user, system } = process.cpuUsage(usedBefore);
  return isCertain || (user + system) / 1_000 >= workingShare * blockedMs;
}

/** Not for each of many short blocks: to read what scripts there are costs the blocked thread up to a second. */
function inspectOnce(): void {
  const known = by;
  if (known === undefined || !isSaid || lookedAt < inspectedAt + inspectEveryMs) return;
  inspectedAt = lookedAt;
  inspect(known, (seen) => {
    by = seen;
    log(`${sentence(seen)}\n${seen.stack}`);
  });
}

/** What was entered last. */
function noted(): BlockedBy {
  const isCertain = Atomics.load(numbers, place.depth) > 0;
  const [tool = "", taskId = "", ...rest] = decoder
    .decode(text.slice(0, Atomics.load(numbers, place.length)))
    .split("\n");
  if (tool === "") return { isCertain: false };
  return { tool, taskId, ...(rest.length > 0 && { step: rest.join("\n") }), isCertain };
}

/** Asks a debugger where the loop is, while it is there. Code in the middle of a call of the system is not seen. */
function inspect(known: BlockedBy, onSeen: (by: BlockedBy) => void): void {
  const session = new Session();
  const files = new Map<string, string>();
  const end = (): void => {
    clearTimeout(late);
    endInspection = undefined;
    session.disconnect(); // which lets it go on
  };
  const late = setTimeout(end, debuggerMs);
  endInspection = end;
  try {
    session.connectToMainThread();
  } catch {
    return end(); // no debugger in this Node
  }
  session.on("Debugger.scriptParsed", ({ params: { scriptId, url } }) => files.set(scriptId, url));
  session.on("Debugger.paused", ({ params }: InspectorNotification<Debugger.PausedEventDataType>) => {
    const [frame] = params.callFrames;
    const stack = params.callFrames
      .slice(0, mostFrames)
      .map((each) => lineOf(each, files))
      .join("\n");
    const callFrameId = frame?.callFrameId ?? "";
    const expression = `globalThis[Symbol.for(${JSON.stringify(runningCodeName)})]()`;
    const asked = { callFrameId, expression, silent: true, returnByValue: true };
    const take = (error: Error | null, answer?: Debugger.EvaluateOnCallFrameReturnType): void => {
      if (endInspection !== end) return;
      end();
      onSeen({ ...withContext(known, error === null ? answer?.result.value : undefined), stack });
    };
    session.post("Debugger.evaluateOnCallFrame", asked, take);
  });
  session.post("Debugger.enable");
  session.post("Debugger.pause");
}

/** The async context is that of the code itself. */
function withContext(known: BlockedBy, value: unknown): BlockedBy {
  if (known.isCertain || typeof value !== "string") return known;
  const code = JSON.parse(value) as RunningCode | null;
  if (code === null) return { isCertain: true };
  const { tool, taskId, step } = code;
  return { tool, taskId, ...(step !== null && { step }), isCertain: true };
}

function lineOf({ functionName, location }: Debugger.CallFrame, files: ReadonlyMap<string, string>): string {
  const { scriptId, lineNumber, columnNumber = 0 } = location;
  const url = files.get(scriptId) ?? "";
  return `    at ${functionName === "" ? "<anonymous>" : functionName} (${url}:${lineNumber + 1}:${columnNumber + 1})`;
}

function sentence({ tool, taskId, step, isCertain }: BlockedBy): string {
  const code =
    step === undefined
      ? `the handler of the tool "${tool}"`
      : `the step ${JSON.stringify(step)} of the tool "${tool}"`;
  const what = isCertain ? `It is in ${code}` : `What it entered last is ${code}`;
  return tool === undefined ? "It is not known to be in a handler or a step." : `${what} (task ${taskId}).`;
}

/** On stderr, because nothing else of the process may answer again. */
function log(about: string): void {
  const seconds = (blockedMs / 1_000).toFixed(1);
  writeSync(
    2,
    `Holdfast: the event loop of process ${process.pid} has not answered for ${seconds} s. ${about}\n`,
  );
}

/** Answers for how long the loop has been blocked, to whoever asks. */
function healthServer({ id, loopBlockedMs, health }: Watch): Server | undefined {
  if (health === null) return undefined;
  const server = createServer((request, response) => {
    request.resume();
    const isKnown = request.url === "/healthz" && ["GET", "HEAD"].includes(request.method ?? "");
    const isBlocked = blockedMs >= loopBlockedMs;
    response.writeHead(isKnown ? (isBlocked ? 503 : 200) : 404, {
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    response.end(isKnown ? JSON.stringify({ blockedMs: isBlocked ? Math.round(blockedMs) : 0 }) : undefined);
  });
  server.maxConnections = 100;
  server.requestTimeout = 5_000;
  server.headersTimeout = 5_000;
  server.on("error", ({ message }) =>
    say({ type: "failed", id, problem: `The health port ${health.port} cannot be opened: ${message}.` }),
  );
  return server.listen(health.port, health.host);
}

function armed(): void {
  clearInterval(timer);
  if (watched.size === 0) return;
  const shortest = Math.min(...[...watched.values()].map(({ watch }) => watch.loopBlockedMs));
  const tickMs = Math.max(10, shortest / looks);
  lookedAt = performance.now();
  timer = setInterval(() => look(tickMs), tickMs);
}

parentPort?.on("message", (message: ToWatcher) => {
  if (message.type === "watch") {
    const { watch } = message;
    watched.set(watch.id, { watch, server: healthServer(watch), isReported: false });
  } else {
    const server = watched.get(message.id)?.server;
    server?.close();
    server?.closeAllConnections();
    watched.delete(message.id);
  }
  blockedMs = 0;
  armed();
});
