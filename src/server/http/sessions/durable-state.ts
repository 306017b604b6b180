import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type MessageExtraInfo,
  type RequestId,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../../../task/fault.ts";
import type { OnError } from "../../faults.ts";
import type { Principal } from "../../per-principal.ts";
import { cancelledId } from "./requests-in.ts";
import type { SessionEnd, SessionRecords } from "./session-records.ts";
import { changesState, encodeState, replayOf, stateAfter, type SessionState } from "./session-state.ts";
import type { SessionTransport } from "./session-transport.ts";

/** The session whose state it is, as far as it is stored. */
interface Owner extends SessionEnd {
  readonly principal: Principal;
}

/** Keeps the state of a session in the store, and tells it to the author's server of the next process. */
export class DurableState {
  readonly #owner: Owner;
  /** Undefined where no session is stored. */
  readonly #records: SessionRecords | undefined;
  #state: SessionState | undefined;
  /** Requests that are not answered yet and may change the state. */
  readonly #changes = new Map<RequestId, JSONRPCRequest>();

  constructor(owner: Owner, records: SessionRecords | undefined) {
    this.#owner = owner;
    this.#records = records;
  }

  /** Called with the messages of each POST. */
  received(messages: readonly JSONRPCMessage[]): void {
    for (const message of messages) {
      const cancelled = cancelledId(message);
      if (cancelled !== undefined) this.#changes.delete(cancelled);
      if (isJSONRPCRequest(message) && changesState(message)) this.#changes.set(message.id, message);
    }
  }

  /** Resolves when what a request changed is stored; undefined if it changed nothing. */
  answered(answer: JSONRPCResponse): Promise<void> | undefined {
    const request = answer.id === undefined ? undefined : this.#changes.get(answer.id);
    if (request === undefined) return undefined;
    this.#changes.delete(request.id);
    if (!("result" in answer)) return undefined;
    const isNew = this.#state === undefined;
    const state = stateAfter(this.#state, request, answer.result);
    const text = state && encodeState(state);
    if (text === undefined) return undefined; // what is too large is not kept here either
    this.#state = state;
    const { key, principal } = this.#owner;
    return isNew ? this.#records?.put(this.#owner, principal, text) : this.#records?.update(key, text);
  }

  /**
   * Tells a fresh server of the author's what it was told in an earlier process, and drops its answers. Rejects if it refuses the handshake;
   * if it refuses anything else, that is reported, and the rest goes on.
   */
  async replay(
    state: SessionState,
    transport: SessionTransport,
    extra: MessageExtraInfo,
    onError: OnError,
  ): Promise<void> {
    for (const [index, request] of replayOf(state).entries()) {
      const { method } = request;
      const answer = await transport.ask({ ...request, id: `holdfast-replay-${index}` }, extra);
      const result = answer !== undefined && "result" in answer ? answer.result : undefined;
      if (method === "initialize") {
        if (result?.["protocolVersion"] !== state.version) throw refused(method, answer);
        transport.receive([{ jsonrpc: "2.0", method: "notifications/initialized" }], extra);
      } else if (result === undefined) {
        onError(refused(method, answer));
      }
    }
    this.#state = state;
  }
}

function refused(method: string, answer: JSONRPCResponse | undefined): HoldfastError {
  const reason = answer !== undefined && "error" in answer ? `: ${answer.error.message}` : "";
  const message = `The server refused what a session of an earlier process had asked for by ${method}${reason}.`;
  return new HoldfastError("internal", message);
}
