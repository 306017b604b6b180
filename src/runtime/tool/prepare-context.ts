import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ListRootsResult,
} from "@modelcontextprotocol/server";
import type { JournalKey } from "../../task/journal.ts";
import type { ElicitAnswer, ElicitParams, Form, JsonForm } from "../questions/form.ts";
import type { TaskCaller } from "./task-caller.ts";

/**
 * How a tool's `prepare` asks the client before the work begins. In protocol 2026-07-28 the questions are the answer to the call, and the
 * client calls again with its answers (a multi-round-trip request). A question without an answer ends the run of `prepare` at that point,
 * without running `finally`; the next round starts at the top. Questions asked under `Promise.all` go out together. A question whose text
 * differs in the next round is asked again, so keep times and random values out of it. In earlier revisions `prepare` waits for the
 * answers; after a crash it starts at the top and finds the answers that arrived.
 *
 * Each key names one question of `prepare`; the task's own keys are separate. The calls reject with `duplicate_key` and `not_json`, with
 * `missing_capability` if the client cannot be asked, and in earlier revisions with `input_timeout` and `input_failed`, as the task's own
 * questions do.
 */
export interface PrepareContext {
  /** Who called; the handler finds the same in `task.caller`. */
  readonly caller: TaskCaller;
  /** Aborts when the client disconnects or cancels its call. */
  readonly signal: AbortSignal;
  /** Asks the client's user. Declining and cancelling are answers too. */
  elicit<Of extends Form = JsonForm>(key: JournalKey, params: ElicitParams<Of>): Promise<ElicitAnswer<Of>>;
  /** Asks the client's model. */
  sample(key: JournalKey, params: CreateMessageRequestParams): Promise<CreateMessageResult>;
  /** Asks for the client's roots. */
  roots(key: JournalKey): Promise<ListRootsResult>;
}
