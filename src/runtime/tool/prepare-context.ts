import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitResult,
  ListRootsResult,
} from "@modelcontextprotocol/server";
import type { JournalKey } from "../../task/journal.ts";
import type { ElicitParams } from "./task-context.ts";

/**
 * What a tool's `prepare` asks the client with, before its work begins. Clients of protocol 2026-07-28 are asked on the
 * call, before there is a task. There a question without an answer ends the run of `prepare`: its code after the
 * call is left, not even `finally` runs, and the next round begins at its top. Questions that are asked side by side,
 * under `Promise.all`, go out together. A question that reads differently in the next round is asked again, so keep times
 * and random values out of it. In earlier generations the questions are those of the task or of the call, and `prepare`
 * waits for their answers; after a crash it begins at its top and finds those that came.
 *
 * Each key names one question of `prepare`; the task's own keys are apart from them. The calls reject with
 * `duplicate_key` and `not_json`; with `missing_capability` where the client cannot be asked; and in earlier generations
 * with `input_timeout` and `input_failed`, as the task's own questions do.
 */
export interface PrepareContext {
  /** Aborts when the caller went away or withdrew its call. */
  readonly signal: AbortSignal;
  /** Asks the client's user; what was declined or cancelled is an answer too. */
  elicit(key: JournalKey, params: ElicitParams): Promise<ElicitResult>;
  /** Asks the client's model. */
  sample(key: JournalKey, params: CreateMessageRequestParams): Promise<CreateMessageResult>;
  /** Asks for the client's roots. */
  roots(key: JournalKey): Promise<ListRootsResult>;
}
