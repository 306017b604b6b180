import type { TaskChange } from "../store.ts";

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

/** Postgres refuses a payload of 8,000 bytes. */
const maxBytes = 7_999;

/** The content of a payload, and its sender. */
interface ReceivedNews {
  readonly owner: string;
  readonly news: News | "gap";
}

/** The payloads of `NOTIFY`, in the order in which they must be received; a gap in place of what is too long for one. */
export function toPayloads(owner: string, news: News | "gap"): readonly string[] {
  if (news === "gap") return [gapOf(owner)];
  const { tasks = [], sessions = [], messages, ...others } = news;
  const changes = tasks.map(({ id, version }) => [id, version]);
  const payload = JSON.stringify({
    owner,
    tasks: changes,
    sessions,
    ...(messages === true && { messages: 1 }),
    ...others,
  });
  if (Buffer.byteLength(payload) <= maxBytes) return [payload];
  if (tasks.length + sessions.length <= 1) return [gapOf(owner)];
  // Rounded up and down, so that one of each does not stay together.
  const [t, n] = [Math.ceil(tasks.length / 2), Math.floor(sessions.length / 2)];
  const first = { ...news, tasks: tasks.slice(0, t), sessions: sessions.slice(0, n) };
  const rest = { tasks: tasks.slice(t), sessions: sessions.slice(n) };
  return [first, rest].flatMap((part) => toPayloads(owner, part));
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

export function gapOf(owner: string): string {
  return JSON.stringify({ owner, gap: 1 });
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
