import { createHash } from "node:crypto";
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type MessageExtraInfo,
  type RequestId,
} from "@modelcontextprotocol/server";
import type { SecretName } from "../../../runtime/secrets.ts";
import type { Secret } from "../../../task/secret.ts";
import type { StoreClock } from "../../../runtime/clock.ts";
import type { SessionListener, SessionRoom, SessionStore } from "../../../store/session-store.ts";
import type { OnError } from "../../faults.ts";
import type { Principal } from "../../limits.ts";
import {
  changesState,
  decodeState,
  encodeState,
  requestsBetween,
  type SessionState,
  stateAfter,
  stateUsing,
  type StoredState,
} from "./session-state.ts";
import type { JsonObject } from "../../../generation/message.ts";
import { isStopping, HoldfastError } from "../../../task/fault.ts";
import { isReplay, replayId } from "../../streams.ts";
import { followedResourceOf } from "../../task-resources.ts";
import { cancelledId } from "./request-ids.ts";
import type { SessionTransport } from "./session-transport.ts";

/** How many sessions are changed or deleted in one write. */
const mostAtOnce = 1_000;

/** How long a session is kept that is in no memory, and has an unfinished task, in ms. */
const withTaskMs = 7 * 24 * 3_600_000;

/** When a session ends unless it is used. */
interface SessionEnd {
  readonly key: string;
  readonly endsAt: number;
}

export interface SessionRecordsSetup {
  readonly store: SessionStore;
  /** The key of that name in the store. */
  readonly secret: (name: SecretName) => Promise<Secret>;
  readonly clock: StoreClock;
  readonly room: SessionRoom;
  readonly onError: OnError;
}

/** The name of a session in the store and in the records of its tasks. Only its client knows its id. */
export function sessionKey(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}

/**
 * The sessions in the store. Most writes never reject: a session that could not be stored continues in this process, and the fault is
 * reported.
 */
export class SessionRecords {
  readonly #setup: SessionRecordsSetup;
  /** Keys of sessions that have ended and are still in the store. */
  readonly #ended = new Set<string>();

  constructor(setup: SessionRecordsSetup) {
    this.#setup = setup;
  }

  /** The key that seals what the ids of events say; undefined if the store cannot be read. */
  async eventKey(): Promise<Secret | undefined> {
    let key: Secret | undefined;
    await this.#written(async () => {
      key = await this.#setup.secret("session-events");
    });
    return key;
  }

  /** The principal's session; undefined for one that has ended, and for another principal's. Rejects if the store does. */
  async find(key: string, principal: Principal): Promise<StoredState | undefined> {
    if (this.#ended.has(key)) return undefined;
    const stored = await this.#setup.store.get(key);
    if (stored === undefined || stored.principal !== principal || this.#ended.has(key)) return undefined;
    return stored.expiresAt > this.#setup.clock.pastForAll ? decodeState(stored.state) : undefined;
  }

  /** The stored state of a session in use; undefined if another process has ended it. Rejects if the store does. */
  async read(key: string): Promise<StoredState | undefined> {
    const stored = await this.#setup.store.get(key);
    return stored && decodeState(stored.state);
  }

  /** `state`: as `encodeState` wrote it. Resolves with whether it was stored. */
  put({ key, endsAt }: SessionEnd, principal: Principal, state: string): Promise<boolean> {
    const session = { id: key, principal, expiresAt: endsAt, state };
    return this.#written(() => this.#setup.store.put(session, this.#setup.room));
  }

  /** `changed`: it is not `before` any more, so that nothing was stored. */
  async update(key: string, state: string, before: string): Promise<"stored" | "changed" | "failed"> {
    let isStored = false;
    const isWritten = await this.#written(async () => {
      isStored = await this.#setup.store.update(key, state, before);
    });
    if (!isWritten) return "failed";
    return isStored ? "stored" : "changed";
  }

  async extend(ends: readonly SessionEnd[]): Promise<void> {
    for (let from = 0; from < ends.length; from += mostAtOnce) {
      const some = ends.slice(from, from + mostAtOnce);
      const changed = some.map(({ key, endsAt }) => ({ id: key, expiresAt: endsAt }));
      await this.#written(() => this.#setup.store.extend(changed));
    }
  }

  /** The session is not found any more, even if the store fails: then it is deleted by the next call of this, or of `sweep`. */
  async delete(key: string): Promise<void> {
    this.#ended.add(key);
    await this.#deleteEnded();
  }

  /**
   * A session is about to leave the memory of this process, since it was idle for long, or another one needs its place. Keeps it in the store
   * if a task of it is unfinished: its client may poll that rarely, and would take a session that is not found for the loss of everything.
   * Resolves with whether it did.
   */
  async keepWithTasks({ key, endsAt }: SessionEnd): Promise<boolean> {
    let unfinished: readonly string[] = [];
    await this.#written(async () => {
      unfinished = await this.#setup.store.tasksOf(key, 1);
    });
    if (unfinished.length === 0) return false;
    await this.extend([{ key, endsAt: Math.max(endsAt, this.#setup.clock.now() + withTaskMs) }]);
    return true;
  }

  /** As `delete`, unless another process has extended the session. */
  async deleteUnextended({ key, endsAt }: SessionEnd): Promise<void> {
    await this.#written(() => this.#setup.store.deleteUnextended([{ id: key, expiresAt: endsAt }]));
  }

  /** Sends a message to all processes that serve the session. Resolves with whether it was sent. */
  tell(key: string, message: string): Promise<boolean> {
    return this.#written(() => this.#setup.store.send(key, message));
  }

  /** As `SessionStore.subscribe`. */
  subscribe(listener: SessionListener): () => void {
    return this.#setup.store.subscribe(listener);
  }

  /** Deletes what has ended, also in earlier processes. */
  async sweep(): Promise<void> {
    if (this.#ended.size > 0) await this.#deleteEnded();
    let deleted = 0;
    do {
      deleted = 0;
      await this.#written(async () => {
        deleted = await this.#setup.store.deleteExpired(this.#setup.clock.pastForAll, mostAtOnce);
      });
    } while (deleted === mostAtOnce);
  }

  async #deleteEnded(): Promise<void> {
    const keys = [...this.#ended].slice(0, mostAtOnce);
    await this.#written(async () => {
      await this.#setup.store.delete(keys);
      for (const key of keys) this.#ended.delete(key);
    });
  }

  async #written(write: () => Promise<void>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      // After a stop of the tasks, there is nothing to write to, which is no fault.
      if (!isStopping(error)) this.#setup.onError(error);
      return false;
    }
  }
}

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
