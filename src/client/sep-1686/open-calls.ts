import type { JsonObject } from "../../generation/message.ts";
import type { LostReply, Reply } from "../reply/reply.ts";
import type { SentRequest } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/** A request that may become a task, until its task has ended. */
export interface OpenCall {
  readonly method: string;
  readonly reply: Promise<Reply<JsonObject>>;
  /** Resolves when any message of the server shows that the task exists. */
  readonly created: Promise<void>;
  readonly request: SentRequest;
  /** All requests for this task id, the newest last. Any of them may have created the task. */
  readonly requests: readonly SentRequest[];
  /** Why there will be no answer. */
  readonly lost: LostReply | undefined;
}

interface Call extends OpenCall {
  readonly drop: AbortController;
  readonly create: () => void;
  lost: LostReply | undefined;
}

/** The requests of this client that may become tasks, by task id. */
export class OpenCalls {
  readonly #requester: RawRequester;
  readonly #calls = new Map<string, Call>();

  constructor(requester: RawRequester) {
    this.#requester = requester;
  }

  get(taskId: string): OpenCall | undefined {
    return this.#calls.get(taskId);
  }

  /** Sends a request, and drops an earlier one for the same task id. */
  open(taskId: string, method: string, params: JsonObject): OpenCall {
    this.#requester.closed.throwIfAborted();
    const drop = new AbortController();
    const { promise: created, resolve: create } = Promise.withResolvers<void>();
    const { promise: reply, resolve, reject } = Promise.withResolvers<Reply<JsonObject>>();
    let call: Call | undefined;
    const onSent = (request: SentRequest): void => {
      const earlier = this.#calls.get(taskId);
      const requests = [...(earlier?.requests ?? []), request];
      call = { method, reply, created, request, requests, lost: undefined, drop, create };
      earlier?.drop.abort(new Error("The request was sent again"));
      // Registered before it is sent: a message about it may arrive at once.
      this.#calls.set(taskId, call);
    };
    const options = { onSent, afterAbort: { kind: "caller" } } as const;
    this.#requester.request(method, params, drop.signal, options).then((received) => {
      if (call !== undefined && received.kind === "lost") call.lost = received;
      resolve(received);
    }, reject);
    reply.catch(() => undefined); // dropped, or the connection has ended
    const opened = this.#calls.get(taskId);
    if (opened === undefined) throw new Error(`${method} was not sent`);
    return opened;
  }

  /** Records that the task exists. Returns the method of its request, if there is one. */
  markCreated(taskId: string | undefined): string | undefined {
    const call = taskId === undefined ? undefined : this.#calls.get(taskId);
    call?.create();
    return call?.method;
  }

  /** The answer is no longer needed. */
  drop(taskId: string): void {
    const call = this.#calls.get(taskId);
    this.#calls.delete(taskId);
    call?.drop.abort(new Error("The request has ended"));
  }
}
