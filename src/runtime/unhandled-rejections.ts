/**
 * A promise that nobody awaits must not end a server with everybody's tasks. Node ends the process on an unhandled rejection, and handlers
 * have such promises without a mistake: `const sent = send(task); await task.step(…); await sent` rejects twice when its task is cancelled.
 * After the next start the task would do the same again. What always holds:
 *
 * 1. What the runtime rejects a handler's calls with, or aborts its signal with, never ends the process. `onError` hears of it, unless it
 *    is the end that the handler was told.
 * 2. All other rejections end the process, or not, as they do without us. Listeners of others hear of all; other copies of the library are
 *    none.
 */
import { HoldfastError } from "../task/fault.ts";

interface HandlerOfTask {
  readonly taskId: string;
  readonly onError: (error: unknown) => void;
}

/** By what calls of handlers were rejected with; undefined where the handler was told to end by it. */
const given = new WeakMap<object, HandlerOfTask | undefined>();
let listens = false;

/** A handler gets to see that error; `to` is left out if it is told to end by it. */
export function giveToHandler(error: unknown, to?: HandlerOfTask): void {
  if (typeof error !== "object" || error === null || given.has(error)) return;
  given.set(error, to);
  if (listens) return;
  listens = true;
  process.on("unhandledRejection", onUnhandled);
}

function onUnhandled(reason: unknown): void {
  if (typeof reason === "object" && reason !== null && given.has(reason)) {
    const to = given.get(reason);
    given.set(reason, undefined); // of several promises with it, one is told
    to?.onError(leftRejection(to, reason));
    return;
  }
  const listeners = process.listeners("unhandledRejection");
  if (listeners[0] !== onUnhandled || !listeners.every((each) => mark in each) || !dependsOnListeners())
    return;
  // Nobody else listens: again without us, so that what happens, and what is printed, is what Node does by itself.
  for (const each of listeners) process.off("unhandledRejection", each);
  void rejected(reason);
  setImmediate(() => {
    for (const each of listeners) process.on("unhandledRejection", each);
  });
}

/** A process can have more than one copy of this module, and each is nobody else to the others. */
const mark = Symbol.for("holdfast.unhandledRejection");
Object.assign(onUnhandled, { [mark]: true });

async function rejected(reason: unknown): Promise<never> {
  throw reason;
}

/** Whether a listener changes what Node does. */
function dependsOnListeners(): boolean {
  const words = [process.env["NODE_OPTIONS"] ?? "", ...process.execArgv].join(" ");
  const mode = /--unhandled-rejections[= ](\S+)/.exec(words)?.[1];
  return mode === undefined || mode === "throw" || mode === "warn-with-error-codes";
}

function leftRejection({ taskId }: HandlerOfTask, cause: object): HoldfastError {
  const message = messageOf(cause);
  const problem = typeof message === "string" && message !== "" ? `: ${message}` : "";
  return new HoldfastError(
    "step_not_awaited",
    `A promise of the handler of task ${taskId} was rejected, and nothing handles that${problem.replace(/\.$/, "")}. Await it, or give it a catch.`,
    { cause },
  );
}

/** A thrown object may be a proxy that throws. */
function messageOf(thrown: object): unknown {
  try {
    return Reflect.get(thrown, "message");
  } catch {
    return undefined;
  }
}
