import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonObject } from "../generation/message.ts";
import type { InputResult } from "./question/ask-user.ts";
import type { OpenQuestion, RemoteTask, TaskPage, TaskSummary } from "./task/remote-task.ts";
import type { Reply } from "./reply/reply.ts";

/** The answers to a round of questions before the task's creation, with the server's opaque state. */
export interface AnsweredRound {
  readonly inputResponses?: Readonly<Record<string, InputResult>> | undefined;
  readonly requestState?: string | undefined;
}

export interface ToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  readonly round: AnsweredRound | undefined;
  /** Whether the call may have arrived before: the server has to refuse it if it would run twice. */
  readonly repeat: boolean;
  /**
   * Milliseconds that the server should keep the task from its creation, in SEP-1686 from its end. Without effect
   * since 2026-07-28.
   */
  readonly ttlMs?: number | undefined;
  /** The token for progress notifications; without it the server sends none. */
  readonly progressToken?: string | undefined;
  /** Whether the caller or the handle store could find the task again, if the answer comes after an abort. */
  readonly findsAgain: boolean;
  /** Called with an answer that comes after the caller gave up, which may name a task that nobody else knows. */
  readonly onLate?: ((answer: CallAnswer) => unknown) | undefined;
}

/** How long the answer to a call that its caller gave up is waited for, before the call is cancelled: it may name a task. */
export const withdrawMs = 2_000;

/** A server's answer to a call. */
export type CallAnswer =
  | { readonly kind: "result"; readonly result: CallToolResult }
  /** `task` is the state in the answer, if it is complete; otherwise the task has to be polled at once. */
  | {
      readonly kind: "task";
      readonly taskId: string;
      readonly task: RemoteTask | undefined;
      readonly immediateResponse?: string | undefined;
    }
  | {
      readonly kind: "questions";
      readonly questions: ReadonlyMap<string, OpenQuestion>;
      readonly requestState: string | undefined;
    };

/** A request other than a tool call that can become a task (S-002). */
export interface ReadRequest {
  readonly method: "resources/read" | "prompts/get";
  readonly params: JsonObject;
  /** The id for its task. */
  readonly taskId: string;
  /** Milliseconds that the server should keep the task after its end. */
  readonly keepAliveMs: number | undefined;
  /** Whether it may have arrived before. */
  readonly repeat: boolean;
}

/** The answer to a read. The result of a read's task is the read's own result, with an added `content`. */
export type ReadAnswer = { readonly kind: "result"; readonly result: JsonObject } | { readonly kind: "task" };

/** Receives pushed task states. */
export interface TaskListener {
  /** Called once, first: the server pushes these of the requested tasks. */
  onOpen(taskIds: readonly string[]): void;
  /** The complete task, as in the answer to a poll. */
  onTask(task: RemoteTask): void;
}

/** Receives what the server sends about one task without being asked. */
export interface TaskObserver {
  /** The complete task, as in the answer to a poll. */
  onTask(task: RemoteTask): void;
  /** The task has changed in a way that only a poll shows: poll now. */
  onPollNeeded(): void;
}

/** Receives pushes about a log or an output that is followed. */
export interface LineListener {
  /** Whether the server pushes a notice for each further line from now on. */
  onLive(isLive: boolean): void;
  /** There may be more lines, or the task has ended. */
  onGrown(): void;
}

/** How listening ended. */
export type ListenEnd =
  /** It ended or broke. Listen again after the server's pause, if it named one. */
  | { readonly kind: "over"; readonly retryAfterMs: number | undefined }
  /** The server does not push tasks. */
  | { readonly kind: "refused" };

/** The interface of a generation of the Tasks protocol. Each method sends one request, without retries. */
export interface TaskProtocol {
  readonly generation: string;
  /** Whether the server recognises a repeated call by its idempotency key, so that repeating it is safe. */
  readonly recognisesRepeats: boolean;
  /** For how many milliseconds after the first send it does so, for a call with this `ttlMs`. */
  recognisedMs(ttlMs: number | undefined): number;
  /** Whether `call` looks for the task before it repeats a call, so that repeating is safe on any server. */
  readonly looksForTaskFirst?: boolean;
  /**
   * Whether a question's key identifies it also after a restart of this process. Otherwise each question is a
   * request of its own, represented by one object while it is open, which the server may still give a key
   * (`questionKeyOf`).
   */
  readonly keepsQuestionKeys: boolean;
  call(call: ToolCall, signal: AbortSignal): Promise<Reply<CallAnswer>>;
  /** Sends a read that can become a task. Undefined where reads cannot. */
  readonly read?: (request: ReadRequest, signal: AbortSignal) => Promise<Reply<ReadAnswer>>;
  get(taskId: string, signal: AbortSignal): Promise<Reply<RemoteTask>>;
  answer(taskId: string, key: string, result: InputResult, signal: AbortSignal): Promise<Reply<undefined>>;
  cancel(taskId: string, signal: AbortSignal): Promise<Reply<undefined>>;
  /** Deletes the task on the server. Undefined where tasks cannot be deleted. */
  delete?(taskId: string, signal: AbortSignal): Promise<Reply<undefined>>;
  /** A page of the caller's tasks; without a cursor the first. Undefined where tasks cannot be listed. */
  list?(cursor: string | undefined, signal: AbortSignal): Promise<Reply<TaskPage<TaskSummary>>>;
  /**
   * Listens until the server or the signal ends it: gets the current state of each task, then its changes, of
   * several at once only the newest. Undefined if the server cannot push. Rejects with the signal's reason.
   */
  readonly listen?: (
    taskIds: readonly string[],
    listener: TaskListener,
    signal: AbortSignal,
  ) => Promise<ListenEnd>;
  /**
   * Follows the log or output at this URI, whose lines the caller has to read, until the signal aborts or the server refuses. Rejects
   * with the signal's reason. Undefined if the server does not push lines.
   */
  readonly followLines?:
    ((uri: string, listener: LineListener, signal: AbortSignal) => Promise<void>) | undefined;
  /**
   * Receives what the server sends about the task on any stream, and keeps a stream open if the server needs one
   * for its questions. In addition to polls. `known` is the last known state. Returns a function that stops it.
   */
  readonly observe?: (taskId: string, observer: TaskObserver, known: RemoteTask | undefined) => () => void;
}
