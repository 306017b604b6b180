import type { JsonObject } from "../../generation/json-object.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import { Undelivered, type Asked, type Reply } from "./connection.ts";
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
  const { connection, via, signal, kept } = question;
  let task = created;
  for (;;) {
    while (task["status"] === "working") {
      await changeOrPause(question, taskId, pauseOf(task)).catch((reason: unknown) => {
        cancel();
        throw reason;
      });
      const reply = await inTime(question, connection.ask("tasks/get", { taskId }, via()), cancel);
      if (reply === undefined) continue;
      if ("error" in reply) return reply;
      task = reply.result;
    }
    // Of a task that waits for input too: its stream is where it asks (C-093).
    const asked = connection.ask("tasks/result", { taskId }, via(), kept);
    if (task["status"] === "input_required") return orWithdrawn(asked, signal, cancel);
    const reply = await inTime(question, asked, cancel);
    if (reply !== undefined) return reply;
  }
}

/**
 * The reply, or undefined where none came in time: the stream that it was asked on may have broken, and the client's
 * task is still there on the next. Rejects once the connection is closed, and with the signal's reason.
 */
async function inTime(
  { connection, clock, signal }: Question,
  asked: Asked,
  cancel: () => void,
): Promise<Reply | undefined> {
  const late = Promise.withResolvers<undefined>();
  const callOff = clock.after(patienceMs, () => late.resolve(undefined));
  try {
    return await Promise.race([orWithdrawn(asked, signal, cancel), late.promise]);
  } catch (error) {
    if (!(error instanceof Undelivered) || connection.closing.aborted) throw error;
    await waitFor((done) => clock.after(interval.usual, done), signal);
    return undefined;
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
