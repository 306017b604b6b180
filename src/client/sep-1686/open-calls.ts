import type { JsonObject } from "../../generation/json-object.ts";
import type { LostReply, Reply } from "../reply/reply.ts";
import type { SentRequest } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/** One request that asks to be a task, from when it is sent until its task is over. */
export interface OpenCall {
  readonly method: string;
  readonly reply: Promise<Reply<JsonObject>>;
  /** Resolves once anything that the server says shows that the task is there. */
  readonly created: Promise<void>;
  readonly request: SentRequest;
  /** All that were sent under its id, this one last: any of them may be the one that made the task. */
  readonly requests: readonly SentRequest[];
  /** Why its answer will not come any more. */
  readonly lost: LostReply | undefined;
}

interface Call extends OpenCall {
  readonly drop: AbortController;
  readonly create: () => void;
  lost: LostReply | undefined;
}

/** The requests of this client that may be tasks, by their task ids. */
export class OpenCalls {
  readonly #requester: RawRequester;
  readonly #calls = new Map<string, Call>();

  constructor(requester: RawRequester) {
    this.#requester = requester;
  }

  get(taskId: string): OpenCall | undefined {
    return this.#calls.get(taskId);
  }

  /** Sends it, in the place of an earlier one under the same id. */
  open(taskId: string, method: string, params: JsonObject): OpenCall {
    this.#requester.over.throwIfAborted();
    const drop = new AbortController();
    const { promise: created, resolve: create } = Promise.withResolvers<void>();
    const { promise: reply, resolve, reject } = Promise.withResolvers<Reply<JsonObject>>();
    let call: Call | undefined;
    const sent = (request: SentRequest): void => {
      const earlier = this.#calls.get(taskId);
      const requests = [...(earlier?.requests ?? []), request];
      call = { method, reply, created, request, requests, lost: undefined, drop, create };
      earlier?.drop.abort(new Error("The request was sent again"));
      // Known before it is on its way: what the server says of it may be here at once.
      this.#calls.set(taskId, call);
    };
    this.#requester.request(method, params, drop.signal, { sent }).then((heard) => {
      if (call !== undefined && heard.kind === "lost") call.lost = heard;
      resolve(heard);
    }, reject);
    reply.catch(() => undefined); // dropped, or the connection is over
    const opened = this.#calls.get(taskId);
    if (opened === undefined) throw new Error(`${method} was not sent`);
    return opened;
  }

  /** The server said something of the task; the method that it came of, if it is one of these. */
  mention(taskId: string | undefined): string | undefined {
    const call = taskId === undefined ? undefined : this.#calls.get(taskId);
    call?.create();
    return call?.method;
  }

  /** Nobody needs its answer. */
  drop(taskId: string): void {
    const call = this.#calls.get(taskId);
    this.#calls.delete(taskId);
    call?.drop.abort(new Error("The request is over"));
  }
}
