import { createHash } from "node:crypto";
import { readdir, readFile, rm, stat, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isJsonObject } from "../../generation/message.ts";
import { systemClock } from "../clock.ts";
import type { InputResult } from "../question/input-request.ts";
import type { TaskReference } from "../task/task-reference.ts";
import type {
  CallName,
  DamagedEntry,
  HandleStore,
  StoredCall,
  StoredCalls,
  ResumableSession,
} from "./handle-store.ts";
import { decodeCall, decodeEntry, decodeSession, encodeEntry, isMadeIn } from "./entry-format.ts";
import { retryWhileInUse } from "./retry-while-in-use.ts";
import { isTemporaryFile } from "../../runtime/replace-file.ts";
import { writeAtomically } from "./write-atomically.ts";
import { ConcurrencyLimit } from "../../runtime/concurrency-limit.ts";

/** A temporary file older than this belongs to a process that died. */
const staleFileMs = 3_600_000;

const readsPerBatch = 64;

/** Each operation has a file open, and a process may open only a limited number. */
const maxConcurrent = 32;

/**
 * A handle store in a folder: one small file for each call, task and answer, readable only by its owner. The folder is created at the first
 * write. Any number of processes on one machine may use it at the same time. Its methods reject with the errors of the file system.
 *
 * ```ts
 * const client = await connect(url, { handles: fileHandles("./handles") });
 * ```
 */
export function fileHandles(folder: string): HandleStore {
  return limitConcurrency(new FileHandles(folder), maxConcurrent);
}

type Subfolder = "calls" | "tasks";

/**
 * A call has a file in `calls` until its task is known, and then another one in `tasks`, so that writers never
 * conflict. If a crash leaves both, the task's file counts.
 */
class FileHandles implements HandleStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = resolve(folder);
  }

  async keep(call: StoredCall): Promise<boolean> {
    const { taskId } = call;
    const file = this.#callFile(call);
    const known = await read(file, decodeCall);
    const { startedAt } = known === undefined || known instanceof Error ? call : known;
    const stored = { ...call, startedAt };
    if (taskId === null) await this.#write(file, stored);
    else {
      await this.#write(this.#taskFile({ ...call, taskId }), stored);
      await this.drop(call);
    }
    return known === undefined;
  }

  async drop(call: CallName): Promise<void> {
    await remove(this.#callFile(call));
  }

  async dropTask(task: TaskReference): Promise<void> {
    const file = this.#taskFile(task);
    const entry = await read(file, decodeCall);
    // The call's file goes first: left alone, it would be sent again.
    if (entry !== undefined && !(entry instanceof Error)) await this.drop(entry);
    // The task's file goes last: the next process uses it to find what a crash in between has left.
    await rm(this.#answersFolder(task), { recursive: true, force: true, maxRetries: 3 });
    await remove(file);
  }

  async list(): Promise<StoredCalls> {
    const damaged: DamagedEntry[] = [];
    // Calls first: one that moves to `tasks` in between is then read twice rather than never.
    const unanswered = await this.#readAll("calls", damaged);
    const tasks = await this.#readAll("tasks", damaged);
    const known = new Set(tasks.map(nameOf));
    const calls = [...unanswered.filter((call) => !known.has(nameOf(call))), ...tasks];
    return { calls: calls.toSorted((one, other) => one.startedAt - other.startedAt), damaged };
  }

  async find(task: TaskReference): Promise<StoredCall | undefined> {
    const file = this.#taskFile(task);
    const found = await read(file, decodeCall);
    if (found instanceof Error) throw new Error(`${file} cannot be read`, { cause: found });
    return found;
  }

  async usesSession(session: ResumableSession): Promise<boolean> {
    for await (const { calls } of this.#batches("tasks")) {
      if (calls.some((call) => isMadeIn(call, session))) return true;
    }
    return false;
  }

  async keepSession(session: ResumableSession): Promise<void> {
    await writeAtomically(this.#sessionFile(session), encodeEntry(session));
  }

  async findSession(server: string, generation: string): Promise<ResumableSession | undefined> {
    const found = await read(this.#sessionFile({ server, generation }), decodeSession);
    // A session that cannot be read counts as missing.
    return found instanceof Error ? undefined : found;
  }

  async dropSession(session: ResumableSession): Promise<boolean> {
    const found = await this.findSession(session.server, session.generation);
    if (found?.id !== session.id) return false;
    try {
      await retryWhileInUse(() => unlink(this.#sessionFile(session)));
      return true;
    } catch (error) {
      if (isAbsent(error)) return false;
      throw error;
    }
  }

  async keepAnswer(task: TaskReference, question: string, answer: InputResult): Promise<void> {
    const folder = this.#answersFolder(task);
    await writeAtomically(join(folder, fileName([question])), encodeEntry({ question, answer }));
  }

  async answer(task: TaskReference, question: string): Promise<InputResult | undefined> {
    const file = join(this.#answersFolder(task), fileName([question]));
    const found = await read(file, (text) => decodeEntry(text)["answer"]);
    if (found === undefined) return undefined;
    if (isAnswer(found)) return found;
    throw new Error(`${file} cannot be read`, { cause: found });
  }

  async #write(file: string, call: StoredCall): Promise<void> {
    await writeAtomically(file, encodeEntry(call));
  }

  async #readAll(subfolder: Subfolder, damaged: DamagedEntry[]): Promise<StoredCall[]> {
    const calls: StoredCall[] = [];
    for await (const batch of this.#batches(subfolder)) {
      calls.push(...batch.calls);
      damaged.push(...batch.damaged);
    }
    return calls;
  }

  async *#batches(subfolder: Subfolder): AsyncGenerator<StoredCalls> {
    const folder = join(this.#folder, subfolder);
    const names = await readdir(folder).catch(noneIfAbsent);
    await Promise.all(names.filter(isTemporaryFile).map((name) => removeOld(join(folder, name))));
    const entries = names.filter((name) => name.endsWith(".json"));
    for (let from = 0; from < entries.length; from += readsPerBatch) {
      const files = entries.slice(from, from + readsPerBatch).map((name) => join(folder, name));
      const found = await Promise.all(files.map((file) => read(file, decodeCall)));
      const damaged = found.map((error, at) => ({ name: files[at] ?? "", error }));
      yield {
        calls: found.filter((entry): entry is StoredCall => entry !== undefined && !(entry instanceof Error)),
        damaged: damaged.filter((entry): entry is DamagedEntry => entry.error instanceof Error),
      };
    }
  }

  #callFile(call: CallName): string {
    return join(this.#folder, "calls", fileName([call.server, call.generation, call.key]));
  }

  #taskFile(task: TaskReference): string {
    return join(this.#folder, "tasks", fileName(partsOf(task)));
  }

  #sessionFile({ server, generation }: Pick<ResumableSession, "server" | "generation">): string {
    return join(this.#folder, "sessions", fileName([server, generation]));
  }

  #answersFolder(task: TaskReference): string {
    return join(this.#folder, "answers", hash(partsOf(task)));
  }
}

function partsOf({ server, generation, taskId }: TaskReference): string[] {
  return [server, generation, taskId];
}

function nameOf({ server, generation, key }: CallName): string {
  return JSON.stringify([server, generation, key]);
}

function fileName(words: readonly string[]): string {
  return `${hash(words)}.json`;
}

/** A hash, so that ids of servers cannot form paths, and differ on file systems that ignore case. */
function hash(words: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(words)).digest("hex").slice(0, 40);
}

/** The content of a file; undefined if it does not exist, an Error if it cannot be read. */
async function read<Content>(
  file: string,
  decode: (text: string) => Content,
): Promise<Content | Error | undefined> {
  try {
    return decode(await retryWhileInUse(() => readFile(file, "utf8")));
  } catch (error) {
    if (isAbsent(error)) return undefined;
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function remove(file: string): Promise<void> {
  await retryWhileInUse(() => rm(file, { force: true }));
}

async function removeOld(file: string): Promise<void> {
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }));
  if (systemClock.now() - mtimeMs > staleFileMs) await rm(file, { force: true }).catch(() => undefined);
}

function noneIfAbsent(error: unknown): string[] {
  if (isAbsent(error)) return [];
  throw error;
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function isAnswer(value: unknown): value is InputResult {
  return isJsonObject(value) && !(value instanceof Error);
}

/** The same store with a limit on concurrent operations; further ones wait in a queue. */
export function limitConcurrency(store: HandleStore, most: number): HandleStore {
  const limit = new ConcurrencyLimit(most);
  return {
    keep: async (call) => limit.run(async () => store.keep(call)),
    drop: async (call) => limit.run(async () => store.drop(call)),
    dropTask: async (task) => limit.run(async () => store.dropTask(task)),
    list: async () => limit.run(async () => store.list()),
    find: async (task) => limit.run(async () => store.find(task)),
    usesSession: async (session) => limit.run(async () => store.usesSession(session)),
    keepSession: async (session) => limit.run(async () => store.keepSession(session)),
    findSession: async (server, generation) => limit.run(async () => store.findSession(server, generation)),
    dropSession: async (session) => limit.run(async () => store.dropSession(session)),
    keepAnswer: async (task, question, answer) =>
      limit.run(async () => store.keepAnswer(task, question, answer)),
    answer: async (task, question) => limit.run(async () => store.answer(task, question)),
  };
}
