import { inClear } from "../../../src/store/row.ts";
import { TaskClientError } from "../../../src/client/task-client-error.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { decodeError, encodeError } from "../../../src/runtime/stored-values.ts";
import { openState } from "../../../src/server/2026-07-28/mrtr.ts";
import { readTask, recordOf } from "../../../src/store/sqlite/statements.ts";
import { journalEntry } from "../../../src/store/tables/of-task.ts";
import { recordColumns } from "../../../src/store/tables/task.ts";
import { HoldfastError } from "../../../src/task/fault.ts";
import { decoders, ofObjects } from "../decoders.ts";
import { assertNothingPolluted } from "../hostile-json.ts";
import { messages, words, type Target } from "./target.ts";

/** Every decoder, on what JSON it is; what is none goes to those that read texts. */
export async function decoding(): Promise<Target> {
  const key = new Uint8Array(32);
  const sealer = { clock: systemClock, secret: async () => ({ current: key, accepted: [key] }) };
  const server = {
    taskId: "t",
    status: "completed",
    createdAt: "2026-01-01T00:00:00.000Z",
    result: { content: [] },
    error: { code: 1, message: "m" },
    resultType: "task",
    inputRequests: { a: { method: "elicitation/create", params: {} } },
  };
  const row = {
    id: "a",
    kind: "step",
    method: null,
    request: '\ufffe"a"',
    value: "1",
    state: "queued",
    version: 1,
  };
  return {
    words,
    seeds: [
      ...messages,
      JSON.stringify(server),
      JSON.stringify(row),
      JSON.stringify({ name: "Error", message: "m" }),
    ],
    run: async (bytes) => {
      const text = bytes.toString();
      await openState(sealer, ["prepare"], text).catch(known);
      let json: unknown;
      try {
        json = JSON.parse(text);
      } catch {
        return;
      }
      const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
      const params = isObject ? (json as Record<string, unknown>)["params"] : undefined;
      for (const [name, decode] of Object.entries(decoders)) {
        for (const input of [json, params]) {
          const readable = typeof input === "object" && input !== null && !Array.isArray(input);
          if (ofObjects.test(name) && !readable) continue;
          attempt(() => decode(input as never));
        }
      }
      if (isObject) {
        const values = new Map<string, unknown>(Object.entries(json as object));
        const valuesOf = (columns: readonly string[]): unknown[] => columns.map((name) => values.get(name));
        attempt(() => recordOf(valuesOf(recordColumns) as never, inClear));
        attempt(() =>
          readTask("task", () => journalEntry.read("task", valuesOf(journalEntry.names) as never, inClear)),
        );
      }
      attempt(() => encodeError(decodeError(encodeError(json, 1_000)), 1_000));
      assertNothingPolluted();
    },
  };
}

function attempt(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    known(error);
  }
}

const allowed: readonly string[] = ["invalid_params", "invalid_request", "task_unreadable"];

/** Throws again what no decoder may throw. */
function known(error: unknown): void {
  const isFault = error instanceof HoldfastError && allowed.includes(error.code);
  if (!isFault && !(error instanceof TaskClientError)) throw error;
}
