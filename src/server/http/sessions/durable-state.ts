import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type MessageExtraInfo,
  type RequestId,
} from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../generation/message.ts";
import { HoldfastError } from "../../../task/fault.ts";
import type { OnError } from "../../faults.ts";
import type { Principal } from "../../per-principal.ts";
import { isReplay, replayId } from "../../sessions/replay-id.ts";
import { followedResourceOf } from "../../task-resources.ts";
import { cancelledId } from "./requests-in.ts";
import type { SessionEnd, SessionRecords } from "./session-records.ts";
import {
  changesState,
  encodeState,
  requestsBetween,
  stateAfter,
  stateUsing,
  type SessionState,
  type StoredState,
} from "./session-state.ts";
import type { SessionTransport } from "./session-transport.ts";

/** The session with this state, as far as it is stored. */
interface Owner extends SessionEnd {
  readonly principal: Principal;
}

/** Replays to the author's server of the session what its client has set. */
interface AuthorServer {
  readonly transport: () => Pick<SessionTransport, "ask" | "receive">;
  readonly onError: OnError;
}

/**
 * Stores the state of a session, replays it to the author's server in the next process, and passes on to this process's server what changes
 * in others.
 */
export class DurableState {
  readonly #owner: Owner;
  /** Undefined if no session is stored. */
  readonly #records: SessionRecords | undefined;
  readonly #author: AuthorServer;
  /** What the author's server knows. */
  #state: SessionState | undefined;
  /** Its text in the store, if known; undefined while it is not stored. */
  #stored: string | undefined;
  /** Requests that are not answered yet and may change the state. */
  readonly #changes = new Map<RequestId, JSONRPCRequest>();
  /** Pending while it is stored that the client uses another generation of tasks. */
  #using: Promise<void> | undefined;
  /** Changes of the state, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #asked = 0;

  constructor(owner: Owner, records: SessionRecords | undefined, author: AuthorServer) {
    this.#owner = owner;
    this.#records = records;
    this.#author = author;
  }

  /** Called with messages of the client. */
  received(messages: readonly JSONRPCMessage[]): void {
    for (const message of messages) {
      const cancelled = cancelledId(message);
      if (cancelled !== undefined) this.#changes.delete(cancelled);
      if (isJSONRPCRequest(message)) this.requested(message);
    }
  }

  /** As `received`, for one request. */
  requested(request: JSONRPCRequest): void {
    if (changesState(request)) this.#changes.set(request.id, request);
    this.#uses(request.params ?? {});
  }

  /** Resolves when what a request changed is stored; undefined if it changed nothing. */
  answered(answer: JSONRPCResponse): Promise<void> | undefined {
    if (isReplay(answer.id)) return undefined; // the change that it belongs to waits for it
    const request = answer.id === undefined ? undefined : this.#changes.get(answer.id);
    if (request === undefined) return this.#using;
    this.#changes.delete(request.id);
    if (!("result" in answer)) return this.#using;
    const { result } = answer;
    return this.#inTurn(() => this.#store((state) => stateAfter(state, request, result)));
  }

  /** Stored at once, since the answer to the call of a task of SEP-1686 comes at the end of the task. */
  #uses(params: JsonObject): void {
    const using = (state: SessionState | undefined): SessionState | undefined =>
      state && stateUsing(state, params);
    if (using(this.#state) === undefined) return;
    const stored = this.#inTurn(() => this.#store(using))
      .catch(this.#author.onError)
      .finally(() => {
        if (this.#using === stored) this.#using = undefined;
      });
    this.#using = stored;
  }

  /** Resolves with false if the session is no longer stored: another process has ended it. Rejects if the store does. */
  async catchUp(): Promise<boolean> {
    return this.#inTurn(async () => this.#stored === undefined || (await this.#readAgain()));
  }

  /**
   * Replays to a new author's server what it received in an earlier process, and drops its answers. Rejects if it refuses the handshake;
   * any other refusal is reported, and the rest continues.
   */
  async replay({ state, text }: StoredState, extra: MessageExtraInfo): Promise<void> {
    await this.#apply(state, extra);
    this.#stored = text;
  }

  async #store(change: (state: SessionState | undefined) => SessionState | undefined): Promise<void> {
    for (;;) {
      const state = change(this.#state);
      const text = state && encodeState(state);
      if (text === undefined) return; // what is too large is not kept here either
      const end = await this.#write(text);
      if (end === "changed" && (await this.#readAgain())) continue;
      this.#state = state;
      if (end === "stored") this.#stored = text;
      return;
    }
  }

  async #write(text: string): Promise<"stored" | "changed" | "failed"> {
    const { key, principal } = this.#owner;
    if (this.#records === undefined) return "failed";
    if (this.#stored !== undefined) return this.#records.update(key, text, this.#stored);
    return (await this.#records.put(this.#owner, principal, text)) ? "stored" : "failed";
  }

  /** Passes to the author's server what another process has changed; false if that process has ended the session. */
  async #readAgain(): Promise<boolean> {
    const stored = await this.#records?.read(this.#owner.key);
    if (stored === undefined) return false;
    if (stored.text !== this.#stored) await this.#apply(stored.state, {});
    this.#stored = stored.text;
    return true;
  }

  async #apply(state: SessionState, extra: MessageExtraInfo): Promise<void> {
    const { transport, onError } = this.#author;
    for (const request of requestsBetween(this.#state, state)) {
      const { method } = request;
      const id = replayId(this.#asked++);
      const answer = await transport().ask({ ...request, id }, extra);
      const result = answer !== undefined && "result" in answer ? answer.result : undefined;
      if (method === "initialize") {
        if (result?.["protocolVersion"] !== state.version) throw refused(method, answer);
        transport().receive([{ jsonrpc: "2.0", method: "notifications/initialized" }], extra);
      } else if (result === undefined && followedResourceOf(method, request.params) === undefined) {
        // If nobody can follow a log or output any more, its task was deleted.
        onError(refused(method, answer));
      }
    }
    this.#state = state;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

function refused(method: string, answer: JSONRPCResponse | undefined): HoldfastError {
  const reason = answer !== undefined && "error" in answer ? `: ${answer.error.message}` : "";
  const message = `A session's ${method} request to another process was refused${reason}.`;
  return new HoldfastError("internal", message);
}
