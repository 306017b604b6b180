import type { JsonObject } from "../../generation/json-object.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import type { Reply } from "./connection.ts";
import { orWithdrawn, type Question } from "./question.ts";

/** Where the client names no interval, and the bounds of what it may name, in ms. */
const interval = { usual: 1_000, shortest: 100, longest: 60_000 };

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
  while (task["status"] === "working") {
    await changeOrPause(question, taskId, pauseOf(task)).catch((reason: unknown) => {
      cancel();
      throw reason;
    });
    const reply = await orWithdrawn(connection.ask("tasks/get", { taskId }, via()), signal, cancel);
    if ("error" in reply) return reply;
    task = reply.result;
  }
  // Of a task that waits for input too: its stream is where it asks (C-093).
  return orWithdrawn(connection.ask("tasks/result", { taskId }, via(), kept), signal, cancel);
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
