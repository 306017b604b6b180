import { createHash } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { decodeCall, decodeEntry, encodeEntry } from "../../client/handles/entry-format.ts";
import type { CallName, StoredCall } from "../../client/handles/handle-store.ts";
import { writeAtomically } from "../../client/handles/write-atomically.ts";
import { hasEnded, type RemoteTask } from "../../client/task/remote-task.ts";
import { isJsonObject } from "../../generation/message.ts";

/** How long a task stays on the list after its end. */
export const listedMs = 7 * 24 * 3_600_000;

/** The maximum number of tasks. The longest unseen are dropped first. */
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

/** What commands have seen of tasks, including finished ones: one file each. */
export class SeenTasks {
  readonly #folder: string;
  readonly #now: () => number;

  constructor(folder: string, now: () => number) {
    this.#folder = folder;
    this.#now = now;
  }

  async keep(call: StoredCall, task: RemoteTask): Promise<void> {
    const keptUntil = task.ttlMs === null ? null : call.startedAt + task.ttlMs;
    const isError = task.status === "completed" && task.result.isError === true;
    await this.#write(call, { status: task.status, hasEnded: hasEnded(task), isError, keptUntil });
  }

  /** For a task that its server does not know. */
  async keepLost(call: StoredCall, status: "lost" | "expired"): Promise<void> {
    await this.#write(call, { status, hasEnded: false, isError: false, keptUntil: null });
  }

  async #write({ round: _round, ...call }: StoredCall, state: Omit<Seen, "at">): Promise<void> {
    const seen: Seen = { ...state, at: this.#now() };
    await writeAtomically(this.#file(call), encodeEntry({ ...call, args: {}, seen }));
    if ((await this.#files()).length > maxTasks) await this.#dropLongestSeen();
  }

  /** Tasks that are still on the list, or at their servers. Removes the rest. */
  async list(): Promise<readonly SeenTask[]> {
    const now = this.#now();
    const all = await this.#readAll();
    const isKept = ({ seen }: SeenTask): boolean =>
      seen.at + listedMs > now || seen.keptUntil === null || seen.keptUntil > now;
    for (const { call } of all.filter((task) => !isKept(task))) await this.drop(call);
    return all.filter(isKept);
  }

  /** Tasks on the list whose results their servers may still have. */
  async readable(): Promise<readonly SeenTask[]> {
    const now = this.#now();
    return (await this.#readAll()).filter(
      ({ seen: { at, keptUntil } }) => at + listedMs > now && (keptUntil === null || keptUntil > now),
    );
  }

  async drop(call: CallName): Promise<void> {
    await rm(this.#file(call), { force: true }).catch(() => undefined);
  }

  async #dropLongestSeen(): Promise<void> {
    const oldestFirst = (await this.#readAll()).toSorted((one, other) => one.seen.at - other.seen.at);
    for (const { call } of oldestFirst.slice(0, -maxTasks)) await this.drop(call);
  }

  async #readAll(): Promise<readonly SeenTask[]> {
    const found = await Promise.all(
      (await this.#files()).map(async (file) => read(join(this.#folder, file))),
    );
    return found.filter((task) => task !== undefined);
  }

  async #files(): Promise<readonly string[]> {
    return (await readdir(this.#folder).catch(() => [])).filter((file) => file.endsWith(".json"));
  }

  #file({ server, generation, key }: CallName): string {
    const hash = createHash("sha256")
      .update(JSON.stringify([server, generation, key]))
      .digest("hex");
    return join(this.#folder, `${hash.slice(0, 40)}.json`);
  }
}

/** Undefined for a file that is missing or cannot be read: the server knows the state better. */
async function read(file: string): Promise<SeenTask | undefined> {
  try {
    const text = await readFile(file, "utf8");
    const { seen } = decodeEntry(text);
    return isSeen(seen) ? { call: decodeCall(text), seen } : undefined;
  } catch {
    return undefined;
  }
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
