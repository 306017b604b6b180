import type { JsonObject } from "../../generation/json-object.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import { ofTask, type Asked, type Reply } from "./asked.ts";
import { Undelivered } from "./connection.ts";
import { orWithdrawn, type Question } from "./question.ts";

/** Where the client names no interval, and the bounds of what it may name, in ms. */
const interval = { usual: 1_000, shortest: 100, longest: 60_000 };

/** A client that has not answered a poll after this time is asked again, in ms. */
const patienceMs = 10_000;

/**
 * Waits for a task that runs on the client, and resolves with its result: polls as often as the client asks for, and
 * at once when it says that the task changed (C-050, C-067). `cancel` runs when the signal aborts.
 */
export async function followClientTask(
  question: Question,
  taskId: string,
  created: JsonObject,
  cancel: () => void,
): Promise<Reply> {
  const { connection, via, signal, requiredScopes } = question;
  const pause = (ms: number): Promise<void> =>
    changeOrPause(question, taskId, ms).catch((reason: unknown) => {
      cancel();
      throw reason;
    });
  let task = created;
  for (;;) {
    if (task["status"] === "working") await pause(pauseOf(task));
    const method = task["status"] === "working" ? "tasks/get" : "tasks/result";
    // Of a task that waits for input the result is asked for too: its stream is where it asks (C-093).
    const terms = method === "tasks/result" ? question : { requiredScopes };
    const asked = connection.ask(method, { taskId }, via(), terms);
    if (task["status"] === "input_required") return ofTask(await orWithdrawn(asked, signal, cancel));
    const reply = await inTime(question, asked, cancel);
    if (reply === undefined) await pause(interval.usual);
    else if (method === "tasks/result" || "error" in reply) {
      // Who cancelled the task there does not want to be asked.
      return task["status"] === "cancelled" ? reply : ofTask(reply);
    } else task = reply.result;
  }
}

/**
 * The reply, or undefined where none came in time: the stream that it was asked on may have broken, and the client's
 * task is still there on the next. Rejects once the connection is closed, and with the signal's reason.
 */
export async function inTime(
  { connection, clock, signal }: Question,
  asked: Asked,
  cancel: () => void,
): Promise<Reply | undefined> {
  const late = new AbortController();
  const callOff = clock.after(patienceMs, () => late.abort());
  try {
    // A reply that is late is not waited for either: the next one is the same.
    return await orWithdrawn(asked, AbortSignal.any([signal, late.signal]), () => {
      if (signal.aborted) cancel();
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const lost = error instanceof Undelivered && !connection.closing.aborted;
    if (lost || late.signal.aborted) return undefined;
    throw error;
  } finally {
    callOff();
  }
}

function pauseOf({ pollInterval }: JsonObject): number {
  const ms = typeof pollInterval === "number" ? pollInterval : interval.usual;
  return Math.min(Math.max(ms, interval.shortest), interval.longest);
}

function changeOrPause({ connection, clock, signal }: Question, taskId: string, ms: number): Promise<void> {
  return waitFor((done) => {
    // Whichever comes first ends both.
    const stop = (): void => {
      callOff();
      unlisten();
    };
    const end = (): void => {
      stop();
      done();
    };
    const callOff = clock.after(ms, end);
    const unlisten = connection.onTaskNotification((_method, params) => {
      if (params["taskId"] === taskId) end();
    });
    return stop;
  }, signal);
}
