import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import { idempotencyKeyMeta, repeatMeta } from "../../generation/idempotency-key.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import { withTask } from "../../generation/sep-1686/create.ts";
import { relatedTaskOf } from "../../generation/sep-1686/related-task.ts";
import type { ClientClock } from "../clock.ts";
import { readReply, Violation, type Reply } from "../reply/reply.ts";
import { readToolResult } from "../session/read-tool-result.ts";
import { isUnknown } from "../task/poll-loop.ts";
import type { CallAnswer, ToolCall } from "../task-protocol.ts";
import type { RawRequester, SentRequest } from "../transport/raw-requester.ts";
import { cancellation } from "./cancellation.ts";
import { OpenCalls, type OpenCall } from "./open-calls.ts";
import { startRace } from "./start-race.ts";

interface SepCallsOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  /** Whether the server says that it makes tasks of calls; one that does not may do so all the same. */
  readonly declared: boolean;
  /** Asks the server for a task, once. */
  readonly look: (taskId: string, signal: AbortSignal) => Promise<Reply<unknown>>;
  /** A call became a task. */
  readonly onTask: (taskId: string) => void;
  /** What the call of such a task is answered with. */
  readonly onAnswer: (taskId: string, answer: Reply<JsonObject>) => void;
}

/** The calls of this client, each with an id for the task that it may become: its idempotency key (S-006, S-021). */
export class SepCalls {
  readonly #options: SepCallsOptions;
  readonly #calls: OpenCalls;
  /** Whether the server is known to make tasks of calls. */
  #hasTasks: boolean;

  constructor(options: SepCallsOptions) {
    const { requester, declared } = options;
    this.#options = options;
    this.#hasTasks = declared;
    this.#calls = new OpenCalls(requester);
    requester.takers.onNotification((notification) => this.#mentioned(notification));
    requester.takers.onRequest((request) => this.#mentioned(request));
  }

  /** What of this session the task may have come of: only there do the ids mean something (S-063). */
  requestsOf(taskId: string): readonly SentRequest[] {
    const sent = this.#calls.get(taskId)?.requests ?? [];
    return sent.filter(({ session }) => session === this.#options.requester.session);
  }

  /** Nobody needs the answer to the call any more. */
  drop(taskId: string): void {
    this.#calls.drop(taskId);
  }

  async start(call: ToolCall, signal: AbortSignal): Promise<Reply<CallAnswer>> {
    const { clock, look } = this.#options;
    const taskId = call.idempotencyKey;
    if (call.repeat) {
      const found = await look(taskId, signal);
      if (found.kind === "value") return created(taskId);
      if (found.kind !== "error") return found;
      const refusal = this.#whyNotAgain(taskId);
      if (refusal !== undefined) return { kind: "bad", code: "connection", ...refusal };
    }
    const open = this.#send(call);
    const race = { clock, look: async (until: AbortSignal) => look(taskId, until) };
    const first = await startRace(open, race, signal).catch((error: unknown) => {
      if (signal.aborted) this.#giveUp(call, open);
      throw error;
    });
    if (first === "created") {
      this.#became(taskId, open);
      return created(taskId);
    }
    if (isUnknown(first) && (call.repeat || call.findsAgain)) {
      // Its id may be in use: by this very call, which was sent before, here or elsewhere.
      if ((await look(taskId, signal)).kind === "value") return created(taskId);
    }
    if (first.kind !== "lost") this.#calls.drop(taskId);
    return readReply(first, (answer) => {
      const result = readToolResult(answer);
      return result instanceof Violation ? result : { kind: "result", result };
    });
  }

  #send({ name, args, idempotencyKey, repeat, progressToken, ttlMs }: ToolCall): OpenCall {
    const params = {
      name,
      arguments: args,
      _meta: {
        ...(progressToken !== undefined && { progressToken }),
        // For servers that have no tasks in this form, and recognise a call all the same.
        [idempotencyKeyMeta]: idempotencyKey,
        ...(repeat && { [repeatMeta]: true }),
      },
    };
    const task = { taskId: idempotencyKey, ...(ttlMs !== undefined && { keepAliveMs: ttlMs }) };
    return this.#calls.open(idempotencyKey, "tools/call", withTask(params, task));
  }

  /** Why a call whose task is not there cannot be sent again: only the session that it was sent in surely shows it. */
  #whyNotAgain(taskId: string): { readonly message: string; readonly cause?: unknown } | undefined {
    const before = this.#calls.get(taskId);
    const isHere = before?.request.session === this.#options.requester.session;
    if (isHere && this.#hasTasks) return undefined;
    const { message = "The call's answer never came", cause } = before?.lost ?? {};
    return { message: `${message}; the server shows no task of it, and could run it twice`, cause };
  }

  /** The caller does not want the call any more. What can be found again may become a task, and runs on. */
  #giveUp({ idempotencyKey: taskId, findsAgain, onLateTask }: ToolCall, open: OpenCall): void {
    if (findsAgain && this.#hasTasks) {
      void open.created.then(() => onLateTask?.(taskId));
      this.#became(taskId, open);
      return;
    }
    const { requester } = this.#options;
    if (!requester.over.aborted && open.request.session === requester.session) {
      void requester.tell(cancellation(open.request.id, taskId, "Nobody waits for the answer any more"));
    }
    this.#calls.drop(taskId);
  }

  /** The answer that still comes is the end of the task, whatever polls have told (S-015, S-016). */
  #became(taskId: string, { reply }: OpenCall): void {
    const { onTask, onAnswer } = this.#options;
    onTask(taskId);
    reply.then(
      (answer) => onAnswer(taskId, answer),
      () => undefined, // dropped, or the connection is over
    );
  }

  /** Whatever belongs to the task of a call says that it became one; others may take it too. */
  #mentioned({ params }: Pick<JSONRPCNotification, "params">): boolean {
    if (this.#calls.mention(relatedTaskOf(params))) this.#hasTasks = true;
    return false;
  }
}

function created(taskId: string): Reply<CallAnswer> {
  return { kind: "value", value: { kind: "task", taskId, task: undefined } };
}
