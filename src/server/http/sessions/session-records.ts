import type { SecretName } from "../../../runtime/secrets.ts";
import type { Secret } from "../../../task/secret.ts";
import { createHash } from "node:crypto";
import type { Clock } from "../../../runtime/clock.ts";
import type { SessionListener, SessionRoom, SessionStore } from "../../../store/session-store.ts";
import { isStopping, type OnError } from "../../faults.ts";
import type { Principal } from "../../per-principal.ts";
import { decodeState, type StoredState } from "./session-state.ts";

/** How many sessions are changed or deleted in one write. */
const mostAtOnce = 1_000;

/** How long a session is kept that is in no memory, and has an unfinished task, in ms. */
const withTaskMs = 7 * 24 * 3_600_000;

/** When a session ends unless it is used. */
export interface SessionEnd {
  readonly key: string;
  readonly endsAt: number;
}

export interface SessionRecordsSetup {
  readonly store: SessionStore;
  /** The key of that name in the store. */
  readonly secret: (name: SecretName) => Promise<Secret>;
  readonly clock: Clock;
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
  readonly #store: SessionStore;
  readonly #secret: SessionRecordsSetup["secret"];
  readonly #clock: Clock;
  readonly #room: SessionRoom;
  readonly #onError: OnError;
  /** Keys of sessions that have ended and are still in the store. */
  readonly #ended = new Set<string>();

  constructor({ store, secret, clock, room, onError }: SessionRecordsSetup) {
    this.#store = store;
    this.#secret = secret;
    this.#clock = clock;
    this.#room = room;
    this.#onError = onError;
  }

  /** The key that seals what the ids of events say; undefined if the store cannot be read. */
  async eventKey(): Promise<Secret | undefined> {
    let key: Secret | undefined;
    await this.#written(async () => {
      key = await this.#secret("session-events");
    });
    return key;
  }

  /** The principal's session; undefined for one that has ended, and for another principal's. Rejects if the store does. */
  async find(key: string, principal: Principal): Promise<StoredState | undefined> {
    if (this.#ended.has(key)) return undefined;
    const stored = await this.#store.get(key);
    if (stored === undefined || stored.principal !== principal || this.#ended.has(key)) return undefined;
    return stored.expiresAt > this.#clock.now() ? decodeState(stored.state) : undefined;
  }

  /** The stored state of a session in use; undefined if another process has ended it. Rejects if the store does. */
  async read(key: string): Promise<StoredState | undefined> {
    const stored = await this.#store.get(key);
    return stored && decodeState(stored.state);
  }

  /** `state`: as `encodeState` wrote it. Resolves with whether it was stored. */
  put({ key, endsAt }: SessionEnd, principal: Principal, state: string): Promise<boolean> {
    const session = { id: key, principal, expiresAt: endsAt, state };
    return this.#written(() => this.#store.put(session, this.#room));
  }

  /** `changed`: it is not `before` any more, so that nothing was stored. */
  async update(key: string, state: string, before: string): Promise<"stored" | "changed" | "failed"> {
    let isStored = false;
    const isWritten = await this.#written(async () => {
      isStored = await this.#store.update(key, state, before);
    });
    if (!isWritten) return "failed";
    return isStored ? "stored" : "changed";
  }

  async extend(ends: readonly SessionEnd[]): Promise<void> {
    for (let from = 0; from < ends.length; from += mostAtOnce) {
      const some = ends.slice(from, from + mostAtOnce);
      const changed = some.map(({ key, endsAt }) => ({ id: key, expiresAt: endsAt }));
      await this.#written(() => this.#store.extend(changed));
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
      unfinished = await this.#store.tasksOf(key, 1);
    });
    if (unfinished.length === 0) return false;
    await this.extend([{ key, endsAt: Math.max(endsAt, this.#clock.now() + withTaskMs) }]);
    return true;
  }

  /** As `delete`, unless another process has extended the session. */
  async deleteUnextended({ key, endsAt }: SessionEnd): Promise<void> {
    await this.#written(() => this.#store.deleteUnextended([{ id: key, expiresAt: endsAt }]));
  }

  /** Sends a message to all processes that serve the session. Rejects if the store does. */
  tell(key: string, message: string): Promise<void> {
    return this.#store.send(key, message);
  }

  /** As `SessionStore.subscribe`. */
  subscribe(listener: SessionListener): () => void {
    return this.#store.subscribe(listener);
  }

  /** Deletes what has ended, also in earlier processes. */
  async sweep(): Promise<void> {
    if (this.#ended.size > 0) await this.#deleteEnded();
    let deleted = 0;
    do {
      deleted = 0;
      await this.#written(async () => {
        deleted = await this.#store.deleteExpired(this.#clock.now(), mostAtOnce);
      });
    } while (deleted === mostAtOnce);
  }

  async #deleteEnded(): Promise<void> {
    const keys = [...this.#ended].slice(0, mostAtOnce);
    await this.#written(async () => {
      await this.#store.delete(keys);
      for (const key of keys) this.#ended.delete(key);
    });
  }

  async #written(write: () => Promise<void>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      // After a stop of the tasks, there is nothing to write to, which is no fault.
      if (!isStopping(error)) this.#onError(error);
      return false;
    }
  }
}
