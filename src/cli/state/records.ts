import type { DatabaseSync } from "node:sqlite";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import {
  inodeOf,
  isDamage,
  isUnfinished,
  openPrivate,
  putAside,
} from "../../client/handles/private-files.ts";
import type { FoundServer, ServerSpec } from "../server/find-server.ts";
import { entryHash, type FolderEntry } from "../server/host-config.ts";
import { type CallName, isStoredCall, type StoredCall } from "../../client/handles/handle-store.ts";
import { hasEnded, type RemoteTask } from "../../client/task/remote-task.ts";

/** What a record is about. */
type Kind = "numbers" | "seen" | "server" | "session" | "trusted";

/**
 * What commands know besides their calls: one SQLite file, which only this user can read. A record is JSON under a key. Invariants: a record
 * that cannot be read is missing, and so is every record of a file that cannot be read, until one is written: such a file is put aside then.
 * The file is open only while it is used, so that any number of commands can share it.
 */
export class Records {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  /** The record, if there is one that can be read. */
  get(kind: Kind, key: string): JsonObject | undefined {
    return this.#read("SELECT value FROM records WHERE kind = ? AND key = ?", kind, key)[0];
  }

  all(kind: Kind): readonly JsonObject[] {
    return this.#read("SELECT value FROM records WHERE kind = ? ORDER BY key", kind);
  }

  /** Throws if the file cannot be written. */
  set(kind: Kind, key: string, value: object): void {
    this.#insert("DO UPDATE SET value = excluded.value", kind, key, value);
  }

  /** Adds a record, and returns false if there is one with this key. Throws if the file cannot be written. */
  add(kind: Kind, key: string, value: object): boolean {
    return this.#insert("DO NOTHING", kind, key, value);
  }

  #insert(onConflict: string, kind: Kind, key: string, value: object): boolean {
    const sql = `INSERT INTO records (kind, key, value) VALUES (?, ?, ?) ON CONFLICT ${onConflict}`;
    return this.#write((database) => database.prepare(sql).run(kind, key, JSON.stringify(value)).changes > 0);
  }

  /** Removes the records with these keys. Throws if the file cannot be written. */
  remove(kind: Kind, ...keys: readonly string[]): void {
    if (keys.length === 0) return;
    this.#write((database) => {
      const remove = database.prepare("DELETE FROM records WHERE kind = ? AND key = ?");
      for (const key of keys) remove.run(kind, key);
    });
  }

  #read(sql: string, ...values: readonly string[]): readonly JsonObject[] {
    const rowsOf = (mayWrite: boolean): readonly JsonObject[] => {
      using database = open(this.file, mayWrite);
      const rows = database.prepare(sql).all(...values);
      return rows.map(({ value }) => parsed(value)).filter((value) => value !== undefined);
    };
    try {
      return rowsOf(false);
    } catch (error) {
      try {
        return isUnfinished(error) ? rowsOf(true) : [];
      } catch {
        return []; // there is none yet, or it cannot be read
      }
    }
  }

  #write<Value>(change: (database: DatabaseSync) => Value): Value {
    const write = (): Value => {
      using database = open(this.file, true);
      database.exec(
        "CREATE TABLE IF NOT EXISTS records (kind TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID",
      );
      return change(database);
    };
    const inode = inodeOf(this.file);
    try {
      return write();
    } catch (error) {
      if (!isDamage(error)) throw error;
      putAside(this.file, inode);
      return write();
    }
  }
}

function open(file: string, writes: boolean): DatabaseSync & Disposable {
  const database = openPrivate(file, writes);
  return Object.assign(database, { [Symbol.dispose]: () => database.close() });
}

function parsed(text: unknown): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Limits the number of tools kept per server, and the length of their names. */
const maxTools = 500;

const longestName = 200;

/** A tool by its name and the first line of its description. */
export interface KnownTool {
  readonly name: string;
  readonly about: string;
}

interface KnownServer {
  readonly name: string;
  readonly spec: ServerSpec;
  /** Its tools when they were last listed. */
  readonly tools: readonly KnownTool[];
}

/** How the servers of stored tasks were given, by their names in references, and their tools. */
export class KnownServers {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Records how the server was given, and its tools if given. */
  keep({ name, spec }: Pick<FoundServer, "name" | "spec">, tools?: readonly KnownTool[]): void {
    const record = tools === undefined ? this.#records.get("server", name) : undefined;
    const kept = (tools ?? (record && readServer(record)?.tools) ?? [])
      .filter((tool) => tool.name.length <= longestName)
      .map(({ name: tool, about }) => ({ name: tool, about: about.slice(0, longestName) }))
      .slice(0, maxTools);
    this.#records.set("server", name, { name, ...spec, tools: kept });
  }

  list(): readonly KnownServer[] {
    return this.#records
      .all("server")
      .map(readServer)
      .filter((server) => server !== undefined);
  }
}

function readServer({ name, given, cwd, config, passEnv, tools }: JsonObject): KnownServer | undefined {
  if (typeof name !== "string" || typeof given !== "string" || typeof cwd !== "string") return undefined;
  const spec = {
    given,
    cwd,
    ...(typeof config === "string" && { config }),
    ...(Array.isArray(passEnv) && { passEnv: passEnv.filter((each) => typeof each === "string") }),
  };
  return {
    name,
    spec,
    tools: Array.isArray(tools) ? tools.map(readTool).filter((tool) => tool !== undefined) : [],
  };
}

function readTool(tool: unknown): KnownTool | undefined {
  const { name, about } = isJsonObject(tool) ? tool : {};
  return typeof name === "string" && typeof about === "string" ? { name, about } : undefined;
}

/** `changed`: the user trusted another entry of that name in that file. */
export type TrustInEntry = "trusted" | "changed" | "unknown";

type EntryName = Pick<FolderEntry, "path" | "name">;

/** The entries of folders' files that this user has agreed to, each with the hash of what they agreed to. */
export class TrustedEntries {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  read(entry: FolderEntry): TrustInEntry {
    const trusted = this.#records.get("trusted", keyOfEntry(entry));
    if (trusted === undefined) return "unknown";
    return trusted["hash"] === entryHash(entry.entry) ? "trusted" : "changed";
  }

  add(entry: FolderEntry): void {
    const { path, name } = entry;
    this.#records.set("trusted", keyOfEntry(entry), { path, name, hash: entryHash(entry.entry) });
  }

  remove(entry: EntryName): void {
    this.#records.remove("trusted", keyOfEntry(entry));
  }
}

function keyOfEntry({ path, name }: EntryName): string {
  return JSON.stringify([path, name]);
}

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
    this.#records.set("seen", keyOfCall(call), { ...call, args: {}, seen });
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
      this.#records.remove("seen", ...calls.map(keyOfCall));
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

function keyOfCall({ server, generation, key }: CallName): string {
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
