import type { Client } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import type { StoreChanges } from "../store.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import { fromPayload, gapOf, type News, PendingNews, toPayloads, type WorkerState } from "./news.ts";

/** How long the server may take to close a connection (ms). */
const closeMs = 1_000;

export interface ListenSetup {
  readonly channel: string;
  /** Resolves with a separate, open connection. */
  readonly connect: () => Promise<Client>;
  /** Called when it starts to listen or listens again. Earlier notifications are lost. */
  readonly onOpen: () => void;
  readonly onLost: () => void;
  readonly onPayload: (payload: string) => void;
}

/** A connection that listens to one channel, and is replaced when it breaks. */
class ListenConnection {
  readonly #setup: ListenSetup;
  #client: Client | undefined;
  #opening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #isListening = false;
  #isPooled = false;
  #heard: (() => void) | undefined;
  #isChecking = false;
  #closed = false;

  constructor(setup: ListenSetup) {
    this.#setup = setup;
    this.#open();
  }

  /** Resolves after the first try to connect. */
  async tried(): Promise<void> {
    await this.#opening;
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** Whether a pooler is between it and the server, which may give away the connection that listens. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** Whether something that is sent to the channel arrives within a time (ms). */
  async hears(send: () => Promise<unknown>, ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), ms);
    this.#heard = () => resolve(true);
    try {
      await send();
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#heard = undefined;
    }
  }

  /** Asks the server for a reply. A connection that did not reply to the previous check is gone; nothing else may show that. */
  check(): void {
    const client = this.#client;
    if (client === undefined || !this.#isListening) return;
    if (this.#isChecking) return this.#lost(client);
    this.#isChecking = true;
    client.query("SELECT").then(
      () => (this.#isChecking = false),
      () => this.#lost(client),
    );
  }

  /** Resolves when everything is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#isListening = false;
    clearTimeout(this.#timer);
    await Promise.all([this.#opening, this.#client && endClient(this.#client)]);
  }

  #open(): void {
    this.#opening = this.#listen().catch(() => this.#openLater());
  }

  async #listen(): Promise<void> {
    const client = await this.#setup.connect();
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    if (this.#closed) return endClient(client);
    this.#client = client;
    client.on("notification", ({ payload = "" }) => {
      if (this.#client !== client) return;
      this.#heard?.();
      this.#setup.onPayload(payload);
    });
    try {
      this.#isPooled = !(await isDirect(client));
      await client.query(`LISTEN ${client.escapeIdentifier(this.#setup.channel)}`);
    } catch {
      return this.#lost(client);
    }
    if (this.#closed || this.#client !== client) return;
    this.#failures = 0;
    this.#isListening = true;
    this.#setup.onOpen();
  }

  #lost(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#isListening = false;
    this.#isChecking = false;
    client.connection.stream.destroy();
    if (this.#closed) return;
    this.#setup.onLost();
    this.#openLater();
  }

  #openLater(): void {
    if (this.#closed) return;
    const pause = Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs);
    this.#timer = setTimeout(() => this.#open(), pause).unref();
  }
}

/** A pooler gives a connection a number of its own. */
async function isDirect(client: Client): Promise<boolean> {
  const { rows } = await client.query<[number]>({ text: "SELECT pg_backend_pid()", rowMode: "array" });
  return rows[0]?.[0] === (client as unknown as { readonly processID: number | null }).processID;
}

/** A server that does not answer delays this only briefly. */
async function endClient(client: Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), closeMs);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}

/** While a connection listens, gaps are published this much less often. They are still needed: notifications can get lost. */
const rarely = 10;

/** How long what it sends to itself may be on its way through a pooler. */
const echoMs = 2_000;

/** The first and longest pause before a gap replaces what could not be sent. */
const firstRetryMs = 100;

const longestRetryMs = 10_000;

/** Gets the news of others. After a gap, all functions are called. */
export interface ChannelListener {
  tasks(changes: StoreChanges): void;
  sessions(ids: readonly string[] | "gap"): void;
  messages(): void;
  /** There are so many tasks to claim, left to this owner; undefined: everyone was told. */
  work(tasks: number | undefined): void;
  /** Another owner has sent something: what it says of its slots, or that it knows nothing of the others any more. */
  heard(owner: string, worker: WorkerState | "gap" | undefined): void;
}

export interface ChannelSetup {
  readonly names: Names;
  readonly owner: string;
  /** Resolves with an open connection of its own, without a pooler; undefined: there is none, so it polls. */
  readonly connect: (() => Promise<Client>) | undefined;
  readonly database: Pick<Database, "query">;
  /** How often a gap is published if nothing listens. */
  readonly pollIntervalMs: number;
  readonly listener: ChannelListener;
  /** Called with false when it starts to poll, and with true when it listens again. */
  readonly onListening?: ((isListening: boolean) => void) | undefined;
}

/**
 * The channel on which the owners of a schema notify each other of what they have committed. News are sent after the commit: a NOTIFY holds a
 * lock of the whole database until its transaction ends, so inside write transactions it would serialize the commits. A gap makes up for
 * lost news.
 * - An owner that is alone sends none: each is a commit, for which its own commits wait. Whoever comes registers first and then sends a gap,
 *   so one of both is seen, and the answer is a gap too.
 */
export class ChangeChannel {
  readonly #setup: ChannelSetup;
  readonly #channel: string;
  readonly #pending = new PendingNews();
  #listening: ListenConnection | undefined;
  #poll: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #sending: Promise<void> | undefined;
  #started = false;
  #isDeaf = false;
  #isAlone = false;
  /** How often it has heard of others, or may have missed that. */
  #heard = 0;
  #closed = false;

  constructor(setup: ChannelSetup) {
    this.#setup = setup;
    this.#channel = `holdfast_${setup.names.schema}`;
  }

  /**
   * Starts calling the listener. Resolves when it listens, or when that has failed; once it listens after all, it reports a gap. Rejects with
   * `store_unusable` if nothing of what it listens to arrives.
   */
  async start(): Promise<void> {
    const { connect } = this.#setup;
    if (connect !== undefined) {
      this.#listening = new ListenConnection({
        channel: this.#channel,
        connect,
        onOpen: () => this.#opened(),
        onLost: () => {
          this.#hearsOfOthers();
          this.#hears(false);
          this.#pollLater();
        },
        onPayload: (payload) => this.#receive(payload),
      });
    }
    this.#pollLater();
    await this.#listening?.tried();
    await this.#assertHears();
    this.#started = true;
    if (this.#listening?.isListening === false) this.#hears(false);
  }

  async #assertHears(): Promise<void> {
    const listening = this.#listening;
    if (listening === undefined || !listening.isListening || !listening.isPooled) return;
    const { owner, database } = this.#setup;
    const send = () => database.query("SELECT pg_notify($1, $2)", [this.#channel, gapOf(owner)]);
    if (await listening.hears(send, echoMs)) return;
    throw new HoldfastError(
      "store_unusable",
      "directUrl, which is the URL of the database by default, leads to a pooler that loses notifications, such as PgBouncer in transaction mode. Set directUrl to the URL of the database itself, or to null to look for changes once a second.",
    );
  }

  /** Call it before a look at who has the store open, and what it returns with whether nobody else had. */
  looking(): (isAlone: boolean) => void {
    const before = this.#heard;
    return (isAlone) => {
      if (!isAlone) this.#hearsOfOthers();
      else this.#isAlone = before === this.#heard && this.#listening?.isListening === true;
    };
  }

  #hearsOfOthers(): void {
    this.#heard++;
    if (!this.#isAlone) return;
    this.#isAlone = false;
    this.send("gap");
  }

  /** Tells the others. Never fails. News are sent together while a send is running. A gap is for changes to everything that others hold. */
  send(news: News | "gap"): void {
    if (this.#closed || (this.#isAlone && news !== "gap")) return;
    if (news === "gap") this.#pending.addGap();
    else this.#pending.add(news);
    this.#send();
  }

  /** Resolves when all news are sent, or have failed to be sent, and everything is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#poll);
    clearTimeout(this.#retry);
    await Promise.all([this.#listening?.close(), this.#sending]);
  }

  #send(): void {
    if (this.#sending !== undefined || this.#pending.isEmpty) return;
    clearTimeout(this.#retry);
    this.#sending = this.#sendAll().then((isSent) => {
      this.#sending = undefined;
      if (isSent)
        this.#send(); // news added during the send
      else this.#sendLater();
    });
  }

  /** False if it failed; the unsent news are then a gap. */
  async #sendAll(): Promise<boolean> {
    const { owner, database } = this.#setup;
    while (!this.#pending.isEmpty) {
      const payloads = toPayloads(owner, this.#pending.take());
      try {
        await database.query("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload", [
          this.#channel,
          payloads,
        ]);
        this.#failures = 0;
      } catch {
        this.#pending.addGap();
        return false;
      }
    }
    return true;
  }

  #sendLater(): void {
    const pause = Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs);
    if (!this.#closed) this.#retry = setTimeout(() => this.#send(), pause).unref();
  }

  #receive(payload: string): void {
    const { owner, listener } = this.#setup;
    const received = fromPayload(payload);
    if (received?.owner === owner) return;
    this.#hearsOfOthers();
    if (received !== undefined) {
      const worker = received.news === "gap" ? "gap" : received.news.worker;
      this.#call(() => listener.heard(received.owner, worker));
    }
    if (received === undefined || received.news === "gap") return this.#gap();
    const { tasks = [], sessions = [], messages, work } = received.news;
    if (tasks.length > 0) this.#call(() => listener.tasks(tasks));
    if (sessions.length > 0) this.#call(() => listener.sessions(sessions));
    if (messages === true) this.#call(() => listener.messages());
    if (work === "all") this.#call(() => listener.work(undefined));
    else if (work?.owner === owner) this.#call(() => listener.work(work.tasks));
  }

  /** Before the first time, nobody could hold any data. */
  #opened(): void {
    this.#hears(true);
    if (this.#started) this.#gap();
    else this.#pollLater();
  }

  #gap(): void {
    const { listener } = this.#setup;
    this.#call(() => listener.tasks("gap"));
    this.#call(() => listener.sessions("gap"));
    this.#call(() => listener.messages());
    this.#call(() => listener.work(undefined));
    this.#pollLater();
  }

  #hears(isListening: boolean): void {
    if (this.#closed || this.#isDeaf !== isListening) return;
    this.#isDeaf = !isListening;
    this.#setup.onListening?.(isListening);
  }

  /** A listener that throws must not keep others from being called. */
  #call(listener: () => void): void {
    if (this.#closed) return;
    try {
      listener();
    } catch (error) {
      process.emitWarning(`A listener of the store threw: ${String(error)}`, "HoldfastWarning");
    }
  }

  #pollLater(): void {
    clearTimeout(this.#poll);
    if (this.#closed) return;
    const { pollIntervalMs } = this.#setup;
    const pause = this.#listening?.isListening === true ? rarely * pollIntervalMs : pollIntervalMs;
    this.#poll = setTimeout(() => {
      this.#listening?.check();
      this.#gap();
    }, pause).unref();
  }
}
