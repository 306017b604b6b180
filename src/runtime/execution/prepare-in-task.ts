import type { CreateMessageResult, ListRootsResult } from "@modelcontextprotocol/server";
import { type InputMethod, encodeJournalKey, type JournalEnd, type JournalKey } from "../../task/journal.ts";
import type { PrepareContext } from "../tool/received-request.ts";
import type { Prepare, Tool } from "../tool/tool.ts";
import { elicit } from "../questions/form.ts";
import { decodeValue, encodeValue } from "../stored-values.ts";
import { ClaimedKeys } from "../journal/claimed-keys.ts";
import { askQuestion } from "../questions/questions.ts";
import type { Attempt } from "./attempt.ts";

/** Prefix of all keys of `prepare`, which separates them from the handler's own. */
const reserved = "holdfast/prepare";

/** The key of the return value of `prepare`. */
export const preparedKey = [reserved] as const;

/** Whether the journal entry with this key is a return value or a question of `prepare`. */
export function isOfPrepare(key: string): boolean {
  return key.startsWith(encodeJournalKey([reserved]).slice(0, -1));
}

/**
 * Runs a tool's `prepare` in the run of its handler, for callers that have no rounds before it: its questions become those of the task.
 * Resolves with the raw JSON of its return value, null if there is none; on a replay, with the value in the journal. Rejects with what
 * `prepare` throws, which ends the run like a throw of the handler.
 */
export async function prepareInTask(
  attempt: Attempt,
  given: Tool["prepare"],
  args: unknown,
): Promise<string | null> {
  const { run, tool } = attempt;
  const { clock } = attempt.services;
  const key = run.claim(preparedKey);
  const entry = run.find(key, { kind: "step" });
  if (entry !== undefined) return run.replayed(entry, preparedOf);
  if (given === undefined) return null;
  // The registry paired `prepare` with the schema that has just accepted the arguments.
  const prepare = given as Prepare<unknown, unknown>;
  await run.begin(); // it only reads and asks, so a lost attempt of it can run again
  const begunAt = clock.now();
  const returned = await prepare(args, contextOf(attempt));
  const value = encodePrepared(tool, returned, run.setup.maxBodyBytes);
  await run.checkpoint();
  await run.task?.recordPrepared({ key, value, error: null, begunAt });
  return value;
}

/** Its stored text, which is also decoded here, so that damage is found where the journal is read. */
function preparedOf({ value }: JournalEnd): string | null {
  decodeValue(value);
  return value;
}

function contextOf(attempt: Attempt): PrepareContext {
  const { run } = attempt;
  const keys = new ClaimedKeys();
  const put = <T>(key: JournalKey, method: InputMethod, params: object): Promise<T> => {
    const ask = async (): Promise<T> =>
      askQuestion(attempt, [reserved, keys.claim(key)], method, params, {}) as Promise<T>;
    const asked = run.reaching(ask());
    asked.catch(() => undefined); // nobody has to wait for a question that rejects
    return asked;
  };
  return {
    caller: attempt.call.caller,
    signal: run.signal,
    elicit: (key, params) => elicit(key, params, (wire) => put(key, "elicitation/create", wire)),
    sample: (key, params) => put<CreateMessageResult>(key, "sampling/createMessage", params),
    roots: (key) => put<ListRootsResult>(key, "roots/list", {}),
  };
}

/** The stored text of what `prepare` of a tool returned; null for nothing. */
export function encodePrepared(tool: Tool, returned: unknown, maxBytes: number): string | null {
  if (returned === undefined) return null;
  const what = `The value that prepare of tool ${tool.name} returned`;
  return encodeValue(returned, { what, name: "result", maxBytes });
}
