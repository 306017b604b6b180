import { AsyncLocalStorage } from "node:async_hooks";

// Which code of the authors this thread has entered last, where another thread can read it: while this one is blocked, nobody here can say.
// - It is noted only while a watchdog watches, in memory that both threads share.
// - What is entered is certain until it returns its promise. What goes on after that is known from the async context, which only a debugger
//   sees from outside.

/** A handler, or a step of one. */
export interface RunningCode {
  readonly tool: string;
  readonly taskId: string;
  /** The key of the step; null in the handler itself. */
  readonly step: string | null;
}

/** The places of the numbers at the beginning of the shared memory: how often the loop has answered, how long the text after them is, and
 * how many calls of such code have not returned. */
export const place = { beats: 0, length: 1, depth: 2 } as const;

/** Where the text begins, and how long it can be, in bytes. */
export const textAt = 16;
const mostBytes = 1_024;

/** By this name of the global object a debugger asks for the code in whose async context this thread is, as JSON. */
export const runningCodeName = "holdfast.runningCode";

interface Note {
  readonly numbers: Int32Array;
  readonly text: Uint8Array;
}

const encoder = new TextEncoder();
const inside = new AsyncLocalStorage<RunningCode>();
let note: Note | undefined;

/** From now on, what is entered is noted in the memory that this returns. */
export function noteRunningCode(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(textAt + mostBytes);
  note = { numbers: new Int32Array(memory, 0, 4), text: new Uint8Array(memory, textAt) };
  Reflect.set(globalThis, Symbol.for(runningCodeName), () => JSON.stringify(inside.getStore() ?? null));
  return memory;
}

/** The loop answers. */
export function beat(): void {
  if (note !== undefined) Atomics.add(note.numbers, place.beats, 1);
}

/** Calls the handler of a tool. */
export function enterHandler<T>(tool: string, taskId: string, run: () => T): T {
  return note === undefined ? run() : enter(note, { tool, taskId, step: null }, undefined, run);
}

/** Calls the function of a step, in the handler that has been entered. */
export function enterStep<T>(step: string, run: () => T): T {
  const handler = note && inside.getStore();
  return note === undefined || handler === undefined
    ? run()
    : enter(note, { ...handler, step }, handler, run);
}

/** What is noted: the last code that was entered and has not ended, as far as that is known. */
let last: RunningCode | undefined;

function enter<T>(to: Note, code: RunningCode, outer: RunningCode | undefined, run: () => T): T {
  const { numbers } = to;
  const before = Atomics.load(numbers, place.depth) === 0 ? undefined : last;
  write(to, code);
  Atomics.add(numbers, place.depth, 1);
  const ended = (): void => {
    if (last === code) write(to, before ?? outer);
  };
  let returned: unknown;
  try {
    const result = inside.run(code, run);
    returned = result;
    return result;
  } finally {
    Atomics.sub(numbers, place.depth, 1);
    if (!(returned instanceof Promise)) ended();
    else {
      returned.then(ended, ended);
      if (before !== undefined) write(to, before);
    }
  }
}

function write({ numbers, text }: Note, code: RunningCode | undefined): void {
  last = code;
  const { tool, taskId, step } = code ?? { tool: "", taskId: "", step: null };
  const { written } = encoder.encodeInto(`${tool}\n${taskId}${step === null ? "" : `\n${step}`}`, text);
  Atomics.store(numbers, place.length, written);
}

/** What a process and its watching thread say to each other. */

/** One server that wants to know. Times are in milliseconds. */
export interface Watch {
  readonly id: number;
  readonly loopBlockedMs: number;
  /** The process is ended once the loop has been blocked for so long; null: never. */
  readonly exitMs: number | null;
  readonly health: { readonly host: string; readonly port: number } | null;
}

export type ToWatcher =
  { readonly type: "watch"; readonly watch: Watch } | { readonly type: "unwatch"; readonly id: number };

/** What blocked the loop, as far as that is known. */
export interface BlockedBy {
  readonly tool?: string;
  readonly taskId?: string;
  readonly step?: string;
  /** False if other code may have blocked it: this is what was entered last. */
  readonly isCertain: boolean;
  /** Where it was, as a stack of at most 20 lines. */
  readonly stack?: string;
}

export type FromWatcher =
  /** It answers again. */
  | { readonly type: "blocked"; readonly id: number; readonly durationMs: number; readonly by: BlockedBy }
  /** `problem`: a sentence. */
  | { readonly type: "failed"; readonly id: number; readonly problem: string };
