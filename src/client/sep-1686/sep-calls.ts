import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import { idempotencyKeyMeta, repeatMeta } from "../../generation/idempotency-key.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import { withTask } from "../../generation/sep-1686/create.ts";
import { requestMethods, type RequestMethod } from "../../generation/sep-1686/negotiate.ts";
import { relatedTaskOf } from "../../generation/sep-1686/related-task.ts";
import type { ClientClock } from "../clock.ts";
import { readReply, Violation, type Reply } from "../reply/reply.ts";
import { readToolResult } from "../session/read-tool-result.ts";
import { isUnknown } from "../task/poll-loop.ts";
import type { CallAnswer, ReadAnswer, ReadRequest, ToolCall } from "../task-protocol.ts";
import type { SentRequest } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { cancellation } from "./cancellation.ts";
import { OpenCalls, type OpenCall } from "./open-calls.ts";
import { startRace } from "./start-race.ts";

interface SepCallsOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  /** Whether the server says that it makes tasks of such requests; one that does not may do so all the same. */
  readonly declared: (method: RequestMethod) => boolean;
  /** Asks the server for a task, once. */
  readonly look: (taskId: string, signal: AbortSignal) => Promise<Reply<unknown>>;
  /** A call became a task. */
  readonly onTask: (taskId: string) => void;
  /** What the call of such a task is answered with. */
  readonly onAnswer: (taskId: string, answer: Reply<JsonObject>) => void;
}

/** A request that can become a task. */
interface TaskRequest extends Pick<ToolCall, "repeat" | "findsAgain" | "onLateTask"> {
  readonly method: RequestMethod;
  readonly params: JsonObject;
  readonly taskId: string;
  readonly keepAliveMs: number | undefined;
}

/** The calls and reads of this client, each with an id for the task that it may become: of a call, its idempotency key (S-006, S-021). */
export class SepCalls {
  readonly #options: SepCallsOptions;
  readonly #calls: OpenCalls;
  /** Of what the server is known to make tasks. */
  readonly #taskMethods: Set<string>;

  constructor(options: SepCallsOptions) {
    const { requester, declared } = options;
    this.#taskMethods = new Set(requestMethods.filter((method) => declared(method)));
    this.#options = options;
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
    const { name, args, idempotencyKey: taskId, repeat, progressToken, ttlMs: keepAliveMs } = call;
    const _meta = {
      ...(progressToken !== undefined && { progressToken }),
      // For servers that have no tasks in this form, and recognise a call all the same.
      [idempotencyKeyMeta]: taskId,
      ...(repeat && { [repeatMeta]: true }),
    };
    const params = { name, arguments: args, _meta };
    const begun = await this.#begin({ ...call, method: "tools/call", params, taskId, keepAliveMs }, signal);
    return readReply(begun, (answer) => {
      if (answer === "created") return { kind: "task", taskId, task: undefined };
      const result = readToolResult(answer);
      return result instanceof Violation ? result : { kind: "result", result };
    });
  }

  async read(request: ReadRequest, signal: AbortSignal): Promise<Reply<ReadAnswer>> {
    // Nobody else knows its id.
    const once = { ...request, findsAgain: false, onLateTask: undefined };
    const begun = await this.#begin(once, signal);
    return readReply(begun, (answer) =>
      answer === "created" ? { kind: "task" } : { kind: "result", result: answer },
    );
  }

  async #begin(call: TaskRequest, signal: AbortSignal): Promise<Reply<JsonObject | "created">> {
    const { clock, look } = this.#options;
    const { taskId } = call;
    if (call.repeat) {
      const found = await look(taskId, signal);
      if (found.kind === "value") return created;
      if (found.kind !== "error") return found;
      const refusal = this.#whyNotAgain(call);
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
      return created;
    }
    if (isUnknown(first) && (call.repeat || call.findsAgain)) {
      // Its id may be in use: by this very call, which was sent before, here or elsewhere.
      if ((await look(taskId, signal)).kind === "value") return created;
    }
    if (first.kind !== "lost") this.#calls.drop(taskId);
    return first;
  }

  #send({ method, params, taskId, keepAliveMs }: TaskRequest): OpenCall {
    const task = { taskId, ...(keepAliveMs !== undefined && { keepAliveMs }) };
    return this.#calls.open(taskId, method, withTask(params, task));
  }

  /** Why a call whose task is not there cannot be sent again: only the session that it was sent in surely shows it. */
  #whyNotAgain({
    taskId,
    method,
  }: TaskRequest): { readonly message: string; readonly cause?: unknown } | undefined {
    const before = this.#calls.get(taskId);
    const isHere = before?.request.session === this.#options.requester.session;
    if (isHere && this.#taskMethods.has(method)) return undefined;
    const { message = "The call's answer never came", cause } = before?.lost ?? {};
    return { message: `${message}; the server shows no task of it, and could run it twice`, cause };
  }

  /** The caller does not want the call any more. What can be found again may become a task, and runs on. */
  #giveUp({ taskId, method, findsAgain, onLateTask }: TaskRequest, open: OpenCall): void {
    if (findsAgain && this.#taskMethods.has(method)) {
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
    const method = this.#calls.mention(relatedTaskOf(params));
    if (method !== undefined) this.#taskMethods.add(method);
    return false;
  }
}

const created: Reply<"created"> = { kind: "value", value: "created" };
