import type { InputResult } from "../question/input-request.ts";
import type { TaskReference } from "../task/task-reference.ts";
import { isMadeIn } from "./entry-format.ts";
import type { CallName, HandleStore, StoredCall, ResumableSession } from "./handle-store.ts";

/**
 * A handle store that lives as long as this process: for tests, and for tasks that must survive a connection but not the process, as when a
 * server is restarted.
 *
 * ```ts
 * const handles = memoryHandles();
 * const client = await connect(server, { handles });
 * ```
 */
export function memoryHandles(): HandleStore {
  const calls = new Map<string, StoredCall>();
  const sessions = new Map<string, ResumableSession>();
  const answers = new Map<string, Map<string, InputResult>>();
  return {
    async keep(call) {
      const name = nameOfCall(call);
      const known = calls.get(name);
      const { startedAt, taskId } = known ?? call;
      calls.set(name, { ...structuredClone(call), startedAt, taskId: call.taskId ?? taskId });
      return known === undefined || taskId !== null;
    },
    async drop(call) {
      const name = nameOfCall(call);
      if (calls.get(name)?.taskId === null) calls.delete(name);
    },
    async dropTask(task) {
      for (const [name, call] of calls) if (isOf(call, task)) calls.delete(name);
      answers.delete(nameOfTask(task));
    },
    async list() {
      const stored = [...calls.values()].map((call) => structuredClone(call));
      return { calls: stored.toSorted((one, other) => one.startedAt - other.startedAt), damaged: [] };
    },
    async find(task) {
      return structuredClone([...calls.values()].find((call) => isOf(call, task)));
    },
    async usesSession(session) {
      return [...calls.values()].some((call) => isMadeIn(call, session));
    },
    async keepSession(session) {
      sessions.set(nameOfSession(session), structuredClone(session));
    },
    async findSession(server, generation) {
      return structuredClone(sessions.get(nameOfSession({ server, generation })));
    },
    async dropSession(session) {
      const name = nameOfSession(session);
      return sessions.get(name)?.id === session.id && sessions.delete(name);
    },
    async keepAnswer(task, question, answer) {
      const name = nameOfTask(task);
      const ofTask = answers.get(name) ?? new Map<string, InputResult>();
      answers.set(name, ofTask);
      ofTask.set(question, structuredClone(answer));
    },
    async answer(task, question) {
      return structuredClone(answers.get(nameOfTask(task))?.get(question));
    },
  };
}

function isOf(call: StoredCall, { server, generation, taskId }: TaskReference): boolean {
  return call.server === server && call.generation === generation && call.taskId === taskId;
}

function nameOfCall({ server, generation, key }: CallName): string {
  return JSON.stringify([server, generation, key]);
}

function nameOfSession({ server, generation }: Pick<ResumableSession, "server" | "generation">): string {
  return JSON.stringify([server, generation]);
}

function nameOfTask({ server, generation, taskId }: TaskReference): string {
  return JSON.stringify([server, generation, taskId]);
}
