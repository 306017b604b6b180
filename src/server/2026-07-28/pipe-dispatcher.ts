import {
  SERVER_INFO_META_KEY,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type RequestId,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, metaOf } from "../../generation/message.ts";
import type { Clock } from "../../runtime/clock.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Answer } from "../request.ts";
import type { ErrorOf } from "../faults.ts";
import type { AnswerEnd, ReserveAnswer } from "../streams.ts";
import type { Amend, DispatchContext, Handle, Wire, WireDispatcher } from "../dispatch/dispatch-transport.ts";
import { authorIdentity, type AuthorIdentity, type ServerIdentity } from "../server-identity.ts";
import { readMethod } from "../task-resources.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { isExact, type RequestStream } from "./admission.ts";

export interface PipeSetup {
  readonly dispatcher: Dispatcher;
  readonly identity: ServerIdentity;
  readonly principal: string | null;
  /** As that of its streams. */
  readonly reserve: ReserveAnswer | undefined;
  readonly errorOf: ErrorOf;
  readonly clock: Pick<Clock, "uniqueName">;
  /** As that of the server. */
  readonly amendmentFor: (method: string, params: unknown) => Amend | undefined;
}

/** A connection of protocol 2026-07-28 on which all requests come, as on stdio. Its end calls nothing off. */
export class PipeDispatcher implements WireDispatcher {
  readonly errorOf: ErrorOf;
  readonly reserve: ReserveAnswer | undefined;
  readonly #setup: PipeSetup;
  /** What we ask the author's server by ourselves, under ids that no client can know. */
  readonly #asked = new Map<RequestId, PromiseWithResolvers<Answer>>();
  #wire: Wire | undefined;
  #closed = false;

  constructor(setup: PipeSetup) {
    this.#setup = setup;
    this.errorOf = setup.errorOf;
    this.reserve = setup.reserve;
  }

  dispatch(request: JSONRPCRequest): Handle | undefined {
    const { dispatcher, principal } = this.#setup;
    const { id, method, params = {} } = request;
    if (!dispatcher.owns(method, params)) return undefined;
    return async ({ signal, forward, trace, reserve }) => {
      // Where a call is ours only because it is a repeat, asking would run the author's tool.
      if (!isExact(request) && dispatcher.owns(method, { name: params["name"], uri: params["uri"] })) {
        // The author's server has no such resource: about the rest of the request any method tells.
        const verdict =
          method === readMethod
            ? await this.#ask(forward, "server/discover", { _meta: params["_meta"] })
            : await this.#ask(forward, method, withoutState(params));
        if (isRefusal(verdict)) return verdict;
      }
      const author = await this.#identity(forward, params["_meta"]);
      const stream = new PipeStream(id, this.#wire, () => this.#closed);
      const answer = await dispatcher.handle({
        id,
        method,
        params,
        signal,
        principal,
        stream,
        author,
        trace,
        reserve,
      });
      if (answer === undefined) throw signal.reason;
      return "resultText" in answer
        ? { result: JSON.parse(String(answer.resultText)) as JsonObject }
        : answer;
    };
  }

  amendmentFor({ method, params }: JSONRPCRequest): Amend | undefined {
    return this.#setup.amendmentFor(method, params ?? {});
  }

  received(): boolean {
    return false;
  }

  intercepts(answer: JSONRPCResponse): boolean {
    const asked = answer.id === undefined ? undefined : this.#asked.get(answer.id);
    if (asked === undefined) return false;
    asked.resolve("result" in answer ? { result: answer.result } : { error: answer.error });
    return true;
  }

  connected(wire: Wire): void {
    this.#wire = wire;
  }

  closed(): void {
    this.#closed = true;
    for (const { reject } of this.#asked.values()) reject(connectionEnded());
  }

  #identity(forward: DispatchContext["forward"], envelope: unknown): Promise<AuthorIdentity> {
    return this.#setup.identity.learn(this.#setup.principal, async () => {
      const answer = await this.#ask(forward, "server/discover", { _meta: envelope });
      const result = "result" in answer ? answer.result : undefined;
      const serverInfo = metaOf(result)[SERVER_INFO_META_KEY];
      if (isJsonObject(serverInfo)) return authorIdentity(serverInfo, result?.["capabilities"]);
      throw new HoldfastError(
        "internal",
        "The server returned by the function given to tasks.server() has no name.",
      );
    });
  }

  /** What the author's server answers to a request of ours. */
  async #ask(forward: DispatchContext["forward"], method: string, params: JsonObject): Promise<Answer> {
    const id = `holdfast-${this.#setup.clock.uniqueName()}`;
    const asked = Promise.withResolvers<Answer>();
    this.#asked.set(id, asked);
    try {
      forward({ jsonrpc: "2.0", id, method, params: params as NonNullable<JSONRPCRequest["params"]> });
      return await asked.promise;
    } finally {
      this.#asked.delete(id);
    }
  }
}

/** The SDK let no handler see it: those of our tools give a result, those of our methods an internal error. */
function isRefusal(answer: Answer): boolean {
  return "error" in answer && answer.error.code !== -32603;
}

/** We open what we sealed: the hook with which an author's server opens its own states would refuse it. */
function withoutState({ requestState, ...params }: JsonObject): JsonObject {
  return typeof requestState === "string" || requestState === undefined
    ? params
    : { ...params, requestState };
}

function connectionEnded(): HoldfastError {
  return new HoldfastError("stopping", "The connection has closed."); // nobody needs to know
}

class PipeStream implements RequestStream {
  readonly #request: RequestId;
  readonly #wire: Wire | undefined;
  readonly #isClosed: () => boolean;

  constructor(request: RequestId, wire: Wire | undefined, isClosed: () => boolean) {
    this.#request = request;
    this.#wire = wire;
    this.#isClosed = isClosed;
  }

  get leftBy(): "cancelling" | undefined {
    return this.#isClosed() ? undefined : "cancelling";
  }

  notify(method: string, params: object): void {
    const message = { jsonrpc: "2.0" as const, method, params: { ...params } };
    this.#wire?.send(message, { relatedRequestId: this.#request }).catch(() => undefined);
  }

  afterAnswer(action: (end: AnswerEnd) => void): void {
    this.#wire?.afterAnswer(this.#request, action);
  }

  onUndelivered(action: () => void): void {
    this.afterAnswer((end) => void (end === "lost" && action()));
  }
}
