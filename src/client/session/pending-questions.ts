import { sameJson, type JsonObject } from "../../generation/message.ts";
import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { questionKeyOf } from "../../generation/extensions.ts";
import { withoutTrace } from "../client-events.ts";
import { unlessAborted } from "../background-work.ts";
import type { InputResult } from "../question/ask-user.ts";
import type { Reply } from "../reply/reply.ts";
import type { OpenQuestion } from "../task/remote-task.ts";
import type { RawRequestOptions } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/** One request that asks the question. It can only be answered in its session. */
interface QuestionRequest {
  readonly id: RequestId;
  readonly session: number;
}

interface PendingQuestion {
  /** The same object while the question is open. Another object under its key was asked after the answer. */
  readonly question: OpenQuestion;
  requests: QuestionRequest[];
  /** Resolves when the question is asked again. */
  nextRequest: PromiseWithResolvers<void>;
}

/** Options for messages about the task. */
type SendOptions = () => Pick<RawRequestOptions, "headers">;

/** Adds the related task to a result's `_meta`. */
export type AddRelatedTask = (result: JsonObject, taskId: string) => JsonObject;

/**
 * A server's unanswered questions for one task. A server repeats a question if a stream or a session broke before
 * the answer; the user is asked only once. A repeated question is recognised by its key, or by its content if the
 * server gives no keys.
 */
export class PendingQuestions {
  readonly #taskId: string;
  readonly #requester: RawRequester;
  readonly #addRelatedTask: AddRelatedTask;
  readonly #sendOptions: SendOptions;
  readonly #questions = new Map<string, PendingQuestion>();

  constructor(
    taskId: string,
    requester: RawRequester,
    addRelatedTask: AddRelatedTask,
    sendOptions: SendOptions = () => ({}),
  ) {
    this.#taskId = taskId;
    this.#requester = requester;
    this.#addRelatedTask = addRelatedTask;
    this.#sendOptions = sendOptions;
  }

  get size(): number {
    return this.#questions.size;
  }

  open(): Readonly<Record<string, OpenQuestion>> {
    return Object.fromEntries([...this.#questions].map(([key, { question }]) => [key, question] as const));
  }

  /** Adds a request. Returns whether it is a new question. */
  add({ id, method, params = {} }: JSONRPCRequest): boolean {
    const { session } = this.#requester;
    const request = { id, session };
    const question = { method, params };
    const name = questionKeyOf(params);
    const pending = name === undefined ? this.#findEqual(question) : this.#questions.get(name);
    if (pending !== undefined) {
      pending.requests.push(request);
      pending.nextRequest.resolve();
      pending.nextRequest = Promise.withResolvers();
      return false;
    }
    const key = name ?? (session === 0 ? String(id) : `${session}/${String(id)}`);
    this.#questions.set(key, { question, requests: [request], nextRequest: Promise.withResolvers() });
    return true;
  }

  /** Removes a request that the server cancelled. Returns whether its question is no longer open. */
  withdraw(id: unknown): boolean {
    for (const [key, pending] of this.#questions) {
      if (!this.#current(pending).some((request) => request.id === id)) continue;
      pending.requests = pending.requests.filter((request) => request.id !== id);
      return pending.requests.length === 0 && this.#questions.delete(key);
    }
    return false;
  }

  /** Drops questions that were asked only in earlier sessions. */
  dropStale(): void {
    for (const [key, pending] of this.#questions) {
      if (this.#current(pending).length === 0) this.#questions.delete(key);
    }
  }

  clear(): void {
    this.#questions.clear();
  }

  /** Answers every request that asks the question. If there is none in this session, waits for the next one. */
  async answer(key: string, result: InputResult, signal: AbortSignal): Promise<Reply<undefined>> {
    const pending = this.#questions.get(key);
    if (pending === undefined) return done;
    const message = { jsonrpc: "2.0" as const, result: this.#addRelatedTask({ ...result }, this.#taskId) };
    let isSent = false;
    for (;;) {
      signal.throwIfAborted();
      const [request] = this.#current(pending);
      if (request === undefined && isSent) {
        this.#questions.delete(key);
        return done;
      }
      if (request === undefined) {
        await unlessAborted(pending.nextRequest.promise, signal);
        continue;
      }
      const reply = await this.#requester.sendOnce({ ...message, id: request.id }, this.#sendOptions());
      const isLost = request.session !== this.#requester.session;
      if (reply.kind !== "value" && !isLost) return reply;
      isSent ||= reply.kind === "value";
      pending.requests = pending.requests.filter((other) => other !== request);
    }
  }

  /** Equal questions without keys count as one question, and get the same answer. */
  #findEqual({ method, params }: OpenQuestion): PendingQuestion | undefined {
    const own = withoutTrace(params);
    for (const pending of this.#questions.values()) {
      const { question } = pending;
      const isEqual = question.method === method && sameJson(withoutTrace(question.params), own);
      if (isEqual) return pending;
    }
    return undefined;
  }

  #current({ requests }: PendingQuestion): QuestionRequest[] {
    return requests.filter(({ session }) => session === this.#requester.session);
  }
}

const done: Reply<undefined> = { kind: "value", value: undefined };
