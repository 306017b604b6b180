import { type CallName, isStoredCall, type StoredCall } from "../../client/handles/handle-store.ts";
import { hasEnded, type RemoteTask } from "../../client/task/remote-task.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Records } from "./records.ts";

/** How long a task stays on the list after its end. */
export const listedMs = 7 * 24 * 3_600_000;

/** The maximum number of tasks. The longest unseen are dropped first, at the next list. */
const maxTasks = 1_000;

/** A task's state when a command last saw it. Contains no arguments, messages or results. */
export interface Seen {
  /** `lost`: its server did not know it; `expired`: and its time was over. */
  readonly status: RemoteTask["status"] | "lost" | "expired";
  readonly hasEnded: boolean;
  /** Whether it ended with a result that is an error. */
  readonly isError: boolean;
  /** Epoch milliseconds, by this machine's clock. */
  readonly at: number;
  /** How long the server keeps the task, by this machine's clock; `null`: forever. */
  readonly keptUntil: number | null;
}

/** A task and its state. */
export interface SeenTask {
  /** Without its arguments. */
  readonly call: StoredCall;
  readonly seen: Seen;
}

/** What commands have seen of tasks, including finished ones. */
export class SeenTasks {
  readonly #records: Records;
  readonly #now: () => number;

  constructor(records: Records, now: () => number) {
    this.#records = records;
    this.#now = now;
  }

  keep(call: StoredCall, task: RemoteTask): void {
    const keptUntil = task.ttlMs === null ? null : call.startedAt + task.ttlMs;
    const isError = task.status === "completed" && task.result.isError === true;
    this.#write(call, { status: task.status, hasEnded: hasEnded(task), isError, keptUntil });
  }

  /** For a task that its server does not know. */
  keepLost(call: StoredCall, status: "lost" | "expired"): void {
    this.#write(call, { status, hasEnded: false, isError: false, keptUntil: null });
  }

  #write({ round: _round, ...call }: StoredCall, state: Omit<Seen, "at">): void {
    const seen: Seen = { ...state, at: this.#now() };
    this.#records.set("seen", keyOf(call), { ...call, args: {}, seen });
  }

  /** Tasks that are still on the list, or at their servers. Removes the rest. */
  list(): readonly SeenTask[] {
    const now = this.#now();
    const all = this.#all();
    const isKept = ({ seen }: SeenTask): boolean =>
      seen.at + listedMs > now || seen.keptUntil === null || seen.keptUntil > now;
    const kept = all.filter(isKept).toSorted((one, other) => one.seen.at - other.seen.at);
    const listed = kept.slice(-maxTasks);
    const isListed = new Set(listed);
    this.drop(...all.filter((task) => !isListed.has(task)).map(({ call }) => call));
    return listed;
  }

  /** Tasks on the list whose results their servers may still have. */
  readable(): readonly SeenTask[] {
    const now = this.#now();
    return this.#all().filter(
      ({ seen: { at, keptUntil } }) => at + listedMs > now && (keptUntil === null || keptUntil > now),
    );
  }

  drop(...calls: readonly CallName[]): void {
    try {
      this.#records.remove("seen", ...calls.map(keyOf));
    } catch {
      // The state folder may be read-only.
    }
  }

  #all(): readonly SeenTask[] {
    return this.#records
      .all("seen")
      .map(read)
      .filter((task) => task !== undefined);
  }
}

function keyOf({ server, generation, key }: CallName): string {
  return JSON.stringify([server, generation, key]);
}

/** Undefined for what is no task: the server knows the state better. */
function read({ seen, ...call }: JsonObject): SeenTask | undefined {
  return isSeen(seen) && isStoredCall(call) ? { call, seen } : undefined;
}

const statuses: ReadonlySet<unknown> = new Set<Seen["status"]>([
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled",
  "lost",
  "expired",
]);

function isSeen(value: unknown): value is Seen {
  if (!isJsonObject(value)) return false;
  const { status, hasEnded: ended, isError, at, keptUntil } = value;
  const areBooleans = typeof ended === "boolean" && typeof isError === "boolean";
  const isTime = keptUntil === null || typeof keptUntil === "number";
  return statuses.has(status) && areBooleans && typeof at === "number" && isTime;
}
