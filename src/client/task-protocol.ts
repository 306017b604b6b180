import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonObject } from "../generation/json-object.ts";
import type { InputResult } from "./question/input-request.ts";
import type { TaskPage, TaskSummary } from "./task/listed-task.ts";
import type { OpenQuestion, RemoteTask } from "./task/remote-task.ts";
import type { Reply } from "./reply/reply.ts";

/** The answers to a round of questions that came before a task existed, with the state to hand back unread. */
export interface AnsweredRound {
  readonly inputResponses?: Readonly<Record<string, InputResult>> | undefined;
  readonly requestState?: string | undefined;
}

export interface ToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  readonly round: AnsweredRound | undefined;
  /** True once the call may have arrived before: a server that would run it twice is to refuse it. */
  readonly repeat: boolean;
  /**
   * Milliseconds that the task should be kept, counted from its creation, or in SEP-1686 from its end; where no client
   * has a say, without effect.
   */
  readonly ttlMs?: number | undefined;
  /** Under which the server is to report progress; left out, it is not asked to. */
  readonly progressToken?: string | undefined;
  /** Whether the task can be found again, by the caller or in its handle store, should the answer come too late. */
  readonly findsAgain: boolean;
  /** Told of a task that such an answer names; only where an answer can still come then. */
  readonly onLateTask?: ((taskId: string) => void) | undefined;
}

/** The three things that a server can say to a call. */
export type CallAnswer =
  | { readonly kind: "result"; readonly result: CallToolResult }
  /** `task` is what the answer told of it, if that is enough to wait by; the id is there in any case. */
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

/** A request, other than a call, that can be a task (S-002). */
export interface ReadRequest {
  readonly method: "resources/read" | "prompts/get";
  readonly params: JsonObject;
  /** The id of the task that it may become. */
  readonly taskId: string;
  /** Milliseconds from its end that the task should be kept. */
  readonly keepAliveMs: number | undefined;
  /** True once it may have arrived before. */
  readonly repeat: boolean;
}

/** A task of a read is waited for as any other; its result is what the read would have answered, and has content beside it. */
export type ReadAnswer = { readonly kind: "result"; readonly result: JsonObject } | { readonly kind: "task" };

/** Takes what a server pushes. */
export interface TaskListener {
  /** Comes once, and first: these of the tasks that were asked for are pushed from now on. */
  onOpen(taskIds: readonly string[]): void;
  /** A whole task, as a poll would have told it. */
  onTask(task: RemoteTask): void;
}

/** Takes what a server says of a task by itself. */
export interface TaskAttendant {
  /** A whole task, as a poll would have told it. */
  onTask(task: RemoteTask): void;
  /** There is more to learn than is known: a poll is worth it now. */
  onHint(): void;
}

/** How listening ended. */
export type ListenEnd =
  /** It was ended in order, or broke: listening again is worth it, after the pause that the server asked for. */
  | { readonly kind: "over"; readonly retryAfterMs: number | undefined }
  /** The server does not push tasks. */
  | { readonly kind: "refused" };

/** What the client needs from a generation of the Tasks protocol. Each method sends one request, once. */
export interface TaskProtocol {
  readonly generation: string;
  /** Whether a call that may have arrived can come again: the server says that it recognises it by its idempotency key. */
  readonly recognisesRepeats: boolean;
  /** For how many ms after it was first sent it surely does so; of a call that asked for this `ttlMs`. */
  recognisedMs(ttlMs: number | undefined): number;
  /** Whether that is found out each time, by a look for the task, and needs no word of the server. */
  readonly looksFirst?: boolean;
  /**
   * Whether a question's key names it for ever, also after a restart of this process. Where it does not, a question is a
   * request of its own, the same object for as long as it is open, and its server may still name it (`questionKeyOf`).
   */
  readonly keepsQuestionKeys: boolean;
  call(call: ToolCall, signal: AbortSignal): Promise<Reply<CallAnswer>>;
  /** Sends a read that can become a task; left out where reads cannot. */
  readonly read?: (request: ReadRequest, signal: AbortSignal) => Promise<Reply<ReadAnswer>>;
  get(taskId: string, signal: AbortSignal): Promise<Reply<RemoteTask>>;
  answer(taskId: string, key: string, result: InputResult, signal: AbortSignal): Promise<Reply<undefined>>;
  cancel(taskId: string, signal: AbortSignal): Promise<Reply<undefined>>;
  /** Has the server delete the task and all that it keeps of it; left out where tasks cannot be deleted. */
  delete?(taskId: string, signal: AbortSignal): Promise<Reply<undefined>>;
  /** A page of what the server has of this caller's tasks, the first without a cursor; left out where none are listed. */
  list?(cursor: string | undefined, signal: AbortSignal): Promise<Reply<TaskPage<TaskSummary>>>;
  /**
   * Listens to tasks until the server or the signal ends it: the state that each has when it begins, then each change,
   * or the newest of several. Left out where the server offers nothing of the kind. Rejects with the signal's reason.
   */
  readonly listen?: (
    taskIds: readonly string[],
    listener: TaskListener,
    signal: AbortSignal,
  ) => Promise<ListenEnd>;
  /**
   * Attends to a task for as long as somebody waits for it: hears what the server says of it on any stream, and keeps
   * one open where the server needs that to ask. Never in place of polls. `known` is the task as it is known now.
   * Returns the way to stop it.
   */
  readonly attend?: (taskId: string, attendant: TaskAttendant, known: RemoteTask | undefined) => () => void;
}
