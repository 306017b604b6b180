import type {
  AuthInfo,
  CreateMessageRequestParams,
  CreateMessageResult,
  ListRootsResult,
} from "@modelcontextprotocol/server";
import type { JournalHead, JournalKey } from "../../task/journal.ts";
import type { ElicitAnswer, ElicitParams, Form, JsonForm } from "../questions/form.ts";
import type { TaskCaller } from "./task-caller.ts";
import { type Origin, traceContextKeys } from "../../task/record.ts";
import type { TaskContext } from "./task-context.ts";
import { HoldfastError } from "../../task/fault.ts";

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

/** What the SDK tells a handler about the request that called its tool. In memory only, like credentials. */
export interface ReceivedRequest {
  readonly id: string | number;
  /** Without the envelope's keys. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly envelope?: Readonly<Record<string, unknown>>;
  /** Its `_meta` was too large to keep: `meta` has only the stored keys, and there is no envelope. */
  readonly isCut?: boolean;
  readonly sessionId?: string;
  readonly authInfo?: AuthInfo;
  /** Without its body. */
  readonly http?: Request;
}

/** The keys of `_meta` that are stored with a task. */
export const storedMetaKeys: readonly string[] = ["progressToken", ...traceContextKeys];

/** What a context does not say about its handler's run, for handlers written for the SDK. */
export interface RunDetails {
  /** Left out if the call came to another process, or an earlier one, and if another tool made it. */
  readonly received?: ReceivedRequest | undefined;
  /** The stored parts of the request; left out for a run without a task. */
  readonly origin?: Origin | undefined;
  /** Journal entries of earlier attempts. */
  readonly entries?: readonly Pick<JournalHead, "key">[];
}

const details = new WeakMap<TaskContext, RunDetails>();

const readers = new WeakSet<object>();

/** From now on, requests that call the handler are kept for it until their tasks end. */
export function readsRequests<Handler extends object>(handler: Handler): Handler {
  readers.add(handler);
  return handler;
}

/** Whether `readsRequests` was called for the handler. */
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

/** What a handler gets from its call, besides the arguments. */
export interface CallContext {
  readonly caller: TaskCaller;
  readonly credentials: () => Promise<unknown>;
  readonly received?: ReceivedRequest | undefined;
}

/** The parts of a call that are not stored. */
export interface CallExtras {
  /** What `authenticate` returned as `credentials`, for the handler. */
  readonly credentials?: unknown;
  /** The request itself, for a handler written for the SDK. */
  readonly received?: ReceivedRequest | undefined;
}

/** The unstored parts of calls, by task: in memory only, until the task has ended. */
export class Credentials {
  readonly #byTask = new Map<string, CallExtras>();

  keep(taskId: string, { credentials, received }: CallExtras = {}): void {
    if (credentials !== undefined || received !== undefined)
      this.#byTask.set(taskId, { credentials, received });
  }

  /** A task that another task made shares that one's. */
  share(taskId: string, child: string): void {
    this.keep(child, this.#byTask.get(taskId));
  }

  received(taskId: string): ReceivedRequest | undefined {
    return this.#byTask.get(taskId)?.received;
  }

  forget(taskId: string): void {
    this.#byTask.delete(taskId);
  }

  held(): Iterable<string> {
    return this.#byTask.keys();
  }

  /** Whether the task may have ended meanwhile: at its first version it was just created. */
  isBehind(taskId: string, version: number): boolean {
    return version > 1 && this.#byTask.has(taskId);
  }

  of(taskId: string): Promise<unknown> {
    return credentialsOf(this.#byTask.get(taskId)?.credentials);
  }
}

/** Rejects with `no_credentials` if there are none. */
export async function credentialsOf(credentials: unknown): Promise<unknown> {
  if (credentials !== undefined) return credentials;
  throw new HoldfastError(
    "no_credentials",
    "This process has no credentials for the call: authenticate returned none, another process received the call, or the server " +
      "was restarted. Credentials are kept in memory only: get new ones for task.caller.",
  );
}
