import type { Client } from "pg";
import type { StoreChanges, TaskChange } from "../store.ts";
import type { Database } from "./database.ts";
import { ListenConnection } from "./listen-connection.ts";
import type { Names } from "./names.ts";

/** While a connection listens, gaps are published this much less often. They are still needed: notifications can get lost. */
const rarely = 10;

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
  #closed = false;

  constructor(setup: ChannelSetup) {
    this.#setup = setup;
    this.#channel = `holdfast_${setup.names.schema}`;
  }

  /** Starts calling the listener. Resolves when it listens, or when that has failed; once it listens after all, it reports a gap. */
  async start(): Promise<void> {
    const { connect } = this.#setup;
    if (connect !== undefined) {
      this.#listening = new ListenConnection({
        channel: this.#channel,
        connect,
        onOpen: () => this.#opened(),
        onLost: () => {
          this.#hears(false);
          this.#pollLater();
        },
        onPayload: (payload) => this.#receive(payload),
      });
    }
    this.#pollLater();
    await this.#listening?.tried();
    this.#started = true;
    if (this.#listening?.isListening === false) this.#hears(false);
  }

  /** Tells the others. Never fails. News are sent together while a send is running. A gap is for changes to everything that others hold. */
  send(news: News | "gap"): void {
    if (this.#closed) return;
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

/** Postgres refuses a payload of 8,000 bytes. */
const maxBytes = 7_999;

/** The content of a payload, and its sender. */
export interface ReceivedNews {
  readonly owner: string;
  readonly news: News | "gap";
}

/** The payloads of `NOTIFY`, in the order in which they must be received; a gap if a single id is too long for one. */
export function toPayloads(owner: string, news: News | "gap"): readonly string[] {
  if (news === "gap") return [gapOf(owner)];
  const { tasks = [], sessions = [], messages = false, work, worker } = news;
  const open = `{"owner":${JSON.stringify(owner)}`;
  const flags = [
    messages ? ',"messages":1' : "",
    work === undefined ? "" : `,"work":${JSON.stringify(work)}`,
    worker === undefined ? "" : `,"worker":${JSON.stringify(worker)}`,
  ].join("");
  const items = [
    ...split("tasks", open, tasks, ({ id, version }) => JSON.stringify([id, version])),
    ...split("sessions", open, sessions, (id) => JSON.stringify(id)),
  ];
  if (flags !== "") items.push(`${open}${flags}}`);
  return items.every((item) => Buffer.byteLength(item) <= maxBytes) ? items : [gapOf(owner)];
}

/** Undefined for a payload that no owner sends. */
export function fromPayload(payload: string): ReceivedNews | undefined {
  let content: unknown;
  try {
    content = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (typeof content !== "object" || content === null) return undefined;
  const {
    owner,
    gap,
    tasks = [],
    sessions = [],
    messages,
    work,
    worker,
  }: Record<string, unknown> = { ...content };
  if (typeof owner !== "string") return undefined;
  if (gap === 1) return { owner, news: "gap" };
  const changes = isList(tasks) ? tasks.map(toChange) : [undefined];
  if (!isEach(changes, isThere) || !isList(sessions) || !isEach(sessions, isText)) return undefined;
  if (!isWork(work) || !isWorkerState(worker)) return undefined;
  return { owner, news: { tasks: changes, sessions, messages: messages === 1, work, worker } };
}

function isWork(work: unknown): work is News["work"] {
  if (work === undefined || work === "all") return true;
  const { owner, tasks }: Record<string, unknown> = { ...(work as object) };
  return typeof owner === "string" && typeof tasks === "number";
}

function isWorkerState(state: unknown): state is News["worker"] {
  return state === undefined || state === "free" || state === "busy" || state === "away";
}

function gapOf(owner: string): string {
  return JSON.stringify({ owner, gap: 1 });
}

/** Splits a list into as many objects as needed. */
function split<Item>(
  name: string,
  open: string,
  items: readonly Item[],
  write: (item: Item) => string,
): string[] {
  const begin = `${open},"${name}":[`;
  const payloads: string[] = [];
  let written: string[] = [];
  let bytes = 0;
  const end = (): void => {
    if (written.length > 0) payloads.push(`${begin}${written.join(",")}]}`);
    written = [];
    bytes = Buffer.byteLength(begin) + 2;
  };
  end();
  for (const item of items) {
    const text = write(item);
    const size = Buffer.byteLength(text) + 1;
    if (bytes + size > maxBytes) end();
    written.push(text);
    bytes += size;
  }
  end();
  return payloads;
}

function toChange(item: unknown): TaskChange | undefined {
  const [id, version]: readonly unknown[] = isList(item) ? item : [];
  const isVersion = version === null || (typeof version === "number" && Number.isSafeInteger(version));
  return typeof id === "string" && isVersion ? { id, version } : undefined;
}

function isEach<Item, Wanted extends Item>(
  items: readonly Item[],
  is: (item: Item) => item is Wanted,
): items is readonly Wanted[] {
  return items.every((item) => is(item));
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isThere(change: TaskChange | undefined): change is TaskChange {
  return change !== undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Whether a process runs tasks, and has a free slot. */
export type WorkerState = "free" | "busy" | "away";

/** What an owner sends to the others after a commit. */
export interface News {
  readonly tasks?: readonly TaskChange[];
  /** The ids of sessions that were changed or deleted. */
  readonly sessions?: readonly string[];
  /** Messages about sessions are ready to be read. */
  readonly messages?: boolean;
  /** There are so many tasks to claim for any owner, which are left to this one; or everyone may look. */
  readonly work?: "all" | { readonly owner: string; readonly tasks: number } | undefined;
  readonly worker?: WorkerState | undefined;
}

/** With more ids than this, others reread everything that they hold. */
const mostIds = 2_000;

/** The news of one owner that were not sent yet; only the newest for each task and session. */
export class PendingNews {
  #tasks = new Map<string, TaskChange>();
  #sessions = new Set<string>();
  #messages = false;
  #work: News["work"];
  #worker: News["worker"];
  #missed = false;

  add({ tasks = [], sessions = [], messages = false, work, worker }: News): void {
    this.#messages ||= messages;
    this.#work = bothOf(this.#work, work);
    this.#worker = worker ?? this.#worker;
    if (this.#missed) return;
    for (const change of tasks) {
      this.#tasks.delete(change.id); // moves it to the place of the newest
      this.#tasks.set(change.id, change);
    }
    for (const id of sessions) this.#sessions.add(id);
    if (this.#tasks.size + this.#sessions.size > mostIds) this.addGap();
  }

  /** Sends a gap next, which replaces all news. */
  addGap(): void {
    this.#missed = true;
    this.#tasks.clear();
    this.#sessions.clear();
  }

  get isEmpty(): boolean {
    const hasIds = this.#tasks.size > 0 || this.#sessions.size > 0;
    const says = this.#messages || this.#work !== undefined || this.#worker !== undefined;
    return !this.#missed && !hasIds && !says;
  }

  /** Returns and clears everything. */
  take(): News | "gap" {
    const taken = this.#missed ? "gap" : this.#news();
    this.#tasks = new Map();
    this.#sessions = new Set();
    this.#messages = false;
    this.#work = undefined;
    this.#worker = undefined;
    this.#missed = false;
    return taken;
  }

  #news(): News {
    return {
      tasks: [...this.#tasks.values()],
      sessions: [...this.#sessions],
      messages: this.#messages,
      work: this.#work,
      worker: this.#worker,
    };
  }
}

/** Work that is left to several owners is everyone's. */
function bothOf(one: News["work"], other: News["work"]): News["work"] {
  if (one === undefined || other === undefined) return one ?? other;
  if (one === "all" || other === "all" || one.owner !== other.owner) return "all";
  return { owner: one.owner, tasks: one.tasks + other.tasks };
}
