import { HoldfastError } from "../../task/fault.ts";
import { DecryptionError, isSealed } from "../../task/stored-text.ts";
import type { Origin, TaskRecord, TaskRequest } from "../../task/record.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { isAttemptTimeout } from "../journal/slot-holder.ts";
import { TaskLines } from "../journal/task-lines.ts";
import type { Services } from "../services.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import type { Clock } from "../clock.ts";
import type { ServerEvents } from "../events/server-events.ts";
import type { RuntimeSettings } from "../options.ts";
import { waitFor, whenAborted, nextTurn } from "../wait-for.ts";
import type { Run } from "../journal/run.ts";
import type { GiveBack } from "../limits/limits.ts";
import { keepDetails } from "../tool/received-request.ts";
import { type HandlerEnd, runToEnd, threwEnd } from "../tool/tool-outcome.ts";
import type { TaskContext } from "../tool/task-context.ts";
import type { Attempt } from "./attempt.ts";
import { makeContext } from "./make-context.ts";
import { prepareInTask } from "./prepare-in-task.ts";

const entriesPerPage = 500;
const linesPerPage = 500;

/** What an attempt starts with, besides the record. */
export interface LoadedTask {
  readonly origin: Origin;
  readonly arguments: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared: string | null;
  /** Journal entries of earlier attempts. */
  readonly entries: readonly ListedEntry[];
  /** Whether the tool's `prepare` runs in the run of the handler, if it has not. */
  readonly prepares: boolean;
  /** Their lines in its log and its output. */
  readonly lines: readonly TaskLine[];
}

/**
 * Reads a task's stored data, except a request that is passed, however long the store fails. Rejects with `task_unreadable` if the data is
 * damaged, and when `signal` aborts.
 */
export async function loadTask(
  task: TaskRecord,
  services: Services,
  signal: AbortSignal,
  given?: TaskRequest,
): Promise<LoadedTask> {
  const { store } = services;
  const { id, journalled } = task;
  const request = given ?? (await untilStoreAnswers(() => store.request(id), services, signal));
  if (request === undefined) throw unreadable(id, "its request is missing");
  const { origin, prepared } = request;
  const args = parsed(id, "its arguments", request.arguments);
  if (prepared !== null) parsed(id, "the value that prepare returned", prepared);
  // What was prepared is in the journal, although the handler itself has journalled nothing.
  const prepares = origin.prepareInTask === true;
  const hasJournal = journalled || prepares;
  const entries = hasJournal ? await loadJournal(id, services, signal) : [];
  const lines = [
    ...(task.logged === 0 ? [] : await loadLines(id, "log", services, signal)),
    ...(task.outputs === 0 ? [] : await loadLines(id, "output", services, signal)),
  ];
  return { origin, arguments: args, prepared, prepares, entries, lines };
}

async function loadLines(
  id: string,
  list: LineList,
  services: Services,
  signal: AbortSignal,
): Promise<readonly TaskLine[]> {
  const { logs } = services.store;
  if (logs === undefined) return [];
  const lines: TaskLine[] = [];
  for (;;) {
    const after = lines.at(-1)?.seq ?? 0;
    const page = await untilStoreAnswers(() => logs.read(id, list, after, linesPerPage), services, signal);
    lines.push(...page);
    if (page.length < linesPerPage) return lines;
  }
}

/** The log and the output of a task of the tool, for its next attempt. */
export function linesOf(
  { logged: log, outputs: output }: TaskRecord,
  { entries, lines: earlier }: LoadedTask,
  { retry }: Pick<Tool, "retry">,
  { store, options: limits }: Services,
): TaskLines {
  const failedRunAgain = retry !== undefined;
  const ended = earlier.length === 0 || failedRunAgain ? [] : entries.filter(({ doneAt }) => doneAt !== null);
  return new TaskLines({
    limits,
    areKept: store.logs !== undefined,
    earlier,
    last: { log, output },
    ended: ended.map(({ key }) => key),
    failedRunAgain,
  });
}

async function loadJournal(id: string, services: Services, signal: AbortSignal): Promise<ListedEntry[]> {
  const { store } = services;
  const entries: ListedEntry[] = [];
  for (let from = ""; ;) {
    const page = await untilStoreAnswers(() => store.journal(id, from, entriesPerPage), services, signal);
    entries.push(...page.entries);
    if (page.next === null) return entries;
    from = page.next;
    await nextTurn(); // a store may read without a pause, and a journal can be long
  }
}

function parsed(id: string, what: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // With keys it would have been opened.
    if (!isSealed(json)) throw unreadable(id, `${what} is not JSON`);
    const problem = `this server has no key that decrypts ${what}`;
    throw unreadable(id, problem, new DecryptionError(problem));
  }
}

function unreadable(id: string, problem: string, cause?: DecryptionError): HoldfastError {
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`, { cause });
}

export interface LeakedHandlersSetup {
  readonly clock: Clock;
  readonly options: Pick<RuntimeSettings, "cancelGraceMs" | "maxLeakedHandlers">;
  readonly onError: (error: unknown) => void;
  readonly events?: ServerEvents | undefined;
}

/**
 * Handlers that continue although their signal has aborted and their task, or their direct run, has ended. Nothing can end them, so after a
 * grace period their slots are freed. A tool with too many of them starts no more, because each holds memory.
 */
export class LeakedHandlers {
  readonly #setup: LeakedHandlersSetup;
  /** By tool, across its versions. */
  readonly #counts = new Map<string, number>();
  readonly #watched = new Set<AbortController>();
  #stopped = false;
  #onRoom: (tool: Tool) => void = () => undefined;

  constructor(setup: LeakedHandlersSetup) {
    this.#setup = setup;
  }

  /** Called when a tool may start handlers again. */
  onRoom(listener: (tool: Tool) => void): void {
    this.#onRoom = listener;
  }

  /** The number of leaked handlers by tool. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Whether the tool has too many of them to start another. */
  blocks(tool: Tool): boolean {
    return (this.#counts.get(tool.name) ?? 0) >= this.#setup.options.maxLeakedHandlers;
  }

  /** Frees the slot of a handler once it has leaked, and calls `onLeak`. Returns a function to call when it ends. */
  watch(run: Run, tool: Tool, onLeak: () => void): () => void {
    // Most handlers end before their signal aborts.
    let over: AbortController | undefined;
    let leaked = false;
    const stopListening = whenAborted(run.signal, () => {
      if (this.#stopped) return;
      const watched = new AbortController();
      over = watched;
      this.#watched.add(watched);
      const leak = (): void => {
        if (watched.signal.aborted) return;
        leaked = true;
        this.#count(tool, run.setup.taskId);
        onLeak();
      };
      this.#untilLeaked(run, watched.signal).then(leak, () => undefined);
    });
    return () => {
      stopListening();
      if (over !== undefined && this.#watched.delete(over)) over.abort();
      if (leaked) this.#uncount(tool);
    };
  }

  /** Stops watching: the process ends, and the handlers with it. */
  stop(): void {
    this.#stopped = true;
    for (const over of this.#watched) over.abort();
  }

  /** Starts when the signal aborts. Rejects when `over` aborts. */
  async #untilLeaked(run: Run, over: AbortSignal): Promise<void> {
    const { clock, options } = this.#setup;
    const grace = () => waitFor((done) => clock.after(options.cancelGraceMs, done), over);
    await grace();
    await waitFor((done) => whenAborted(run.life.over, done), over);
    // A handler that waits for its slot could not react to the abort: it continues without one, with the grace period.
    if (!run.freeSlot()) await grace();
  }

  #count(tool: Tool, taskId: string): void {
    const count = (this.#counts.get(tool.name) ?? 0) + 1;
    this.#counts.set(tool.name, count);
    const { onError, options, events } = this.#setup;
    events?.emit({ type: "handler.leaked", taskId, tool: tool.name, handlers: count });
    const handlers = count === 1 ? "1 handler" : `${count} handlers`;
    onError(
      new HoldfastError(
        "handler_leaked",
        `Tool "${tool.name}" has ${handlers} still running although the attempt has ended, or the caller of a direct run has left. Make the handler stop when task.signal aborts. Once there are ${options.maxLeakedHandlers} of them, no more handlers of this tool start until some have ended.`,
      ),
    );
  }

  #uncount(tool: Tool): void {
    const blocked = this.blocks(tool);
    const count = (this.#counts.get(tool.name) ?? 0) - 1;
    if (count > 0) this.#counts.set(tool.name, count);
    else this.#counts.delete(tool.name);
    if (blocked) this.#onRoom(tool);
  }
}

/** What a handler begins with; from a task that was loaded, there is more. */
type HandlerInput = Pick<LoadedTask, "arguments" | "prepared" | "prepares"> & Partial<LoadedTask>;

/** Never rejects. */
export function runHandler(attempt: Attempt, given: HandlerInput): Promise<HandlerEnd> {
  const { tool } = attempt;
  let giveBack: GiveBack | undefined;
  const contextFor = async (validated: unknown): Promise<TaskContext> => {
    const prepared = given.prepares ? await prepareInTask(attempt, tool.prepare, validated) : given.prepared;
    if (tool.limit !== undefined && attempt.isHeld) giveBack = await attempt.takePermit(tool.limit);
    const context = makeContext(attempt, prepared);
    return keepDetails(context, { received: attempt.call.received, ...given });
  };
  const ended = runToEnd(tool, given.arguments, contextFor, attempt.services.options.maxBodyBytes);
  if (tool.limit !== undefined) void ended.then(() => giveBack?.());
  return ended; // and no promise after it: nothing that the handler has left behind begins before its end is known
}

/**
 * Begins a handler, or its `prepare`, in the runtime's own context, and within the span of the run. `ended` resolves as it ends, or when it
 * has worked for too long, even if it continues; `gone` when all of its code has ended.
 */
export function startHandler(
  run: Run,
  begin: () => Promise<HandlerEnd>,
): { readonly ended: Promise<HandlerEnd>; readonly gone: Promise<void> } {
  const { inOwnContext, trace, limit, maxBodyBytes } = run.setup;
  const running = inOwnContext(() => trace?.run(begin) ?? begin());
  const gone = running.then(() => run.stepsEnd());
  if (limit === undefined) return { ended: running, gone };
  const ended = new Promise<HandlerEnd>((resolve) => {
    const { signal } = run;
    const stopListening = whenAborted(signal, () => {
      if (isAttemptTimeout(signal.reason)) resolve(threwEnd(signal.reason, maxBodyBytes));
    });
    void running.then((end) => {
      stopListening();
      resolve(end);
    });
  });
  return { ended, gone };
}
