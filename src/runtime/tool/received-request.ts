import type { AuthInfo } from "@modelcontextprotocol/server";
import type { JournalHead } from "../../task/journal.ts";
import type { Origin } from "../../task/record.ts";
import { traceContextKeys } from "../../task/trace-context.ts";
import type { TaskContext } from "./task-context.ts";

/** What the SDK tells a handler of the request that called its tool. In memory only, as credentials are. */
export interface ReceivedRequest {
  readonly id: string | number;
  /** Without the keys of the envelope. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly envelope?: Readonly<Record<string, unknown>>;
  /** Its `_meta` was too large to be kept: `meta` has only what is stored of it, and there is no envelope. */
  readonly isCut?: boolean;
  readonly sessionId?: string;
  readonly authInfo?: AuthInfo;
  /** Without its body. */
  readonly http?: Request;
}

/** Those keys of `_meta` that are stored with a task. */
export const storedMetaKeys: readonly string[] = ["progressToken", ...traceContextKeys];

/** What a context does not say of the run of its handler: for handlers that were written for the SDK. */
export interface RunDetails {
  /** Left out where the call came to another process, or to an earlier one; and where another tool made it. */
  readonly received?: ReceivedRequest | undefined;
  /** What is stored of the request; left out for a run without a task. */
  readonly origin?: Origin | undefined;
  /** What earlier attempts journalled. */
  readonly entries?: readonly Pick<JournalHead, "key">[];
}

const details = new WeakMap<TaskContext, RunDetails>();
const readers = new WeakSet<object>();

/** From now on requests that call the handler are kept for it, until their tasks end. */
export function readsRequests<Handler extends object>(handler: Handler): Handler {
  readers.add(handler);
  return handler;
}

/** Whether the handler is one of those. */
export function isReader(handler: object): boolean {
  return readers.has(handler);
}

export function keepDetails(context: TaskContext, known: RunDetails): TaskContext {
  details.set(context, known);
  return context;
}

export function detailsOf(context: TaskContext): RunDetails {
  return details.get(context) ?? {};
}
