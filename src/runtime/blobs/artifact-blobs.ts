import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Dirent } from "node:fs";
import { access, readdir, readFile, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Blobs, blobSecret } from "../../store/blobs.ts";
import type { TaskStore } from "../../store/store.ts";
import type { StoredBlob } from "../../task/artifact.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Clock } from "../clock.ts";
import { replaceFile } from "../replace-file.ts";

/**
 * The pieces of artifacts that are blobs. Invariants:
 * - A blob belongs to one try to store an artifact, which has an id and a key of its own. They are in the end of the artifact's entry in the
 *   journal, or nowhere: whatever no journal names is nobody's.
 * - Blobs are encrypted with that key, each as its number: one that was changed or moved is unreadable, and all are once the task is erased.
 * - Their names begin with an id of the store, so that stores never delete the blobs of one another.
 */

const algorithm = "aes-256-gcm";
const keyBytes = 32;
const idBytes = 16;
const tagBytes = 16;

/** A blob by its name: of which task it is, and of which try. */
export interface NamedBlob {
  readonly name: string;
  readonly task: string;
  readonly id: string;
}

export class ArtifactBlobs {
  /** Together with the encryption, they have the most that a blob may have. */
  readonly pieceBytes = 1024 * 1024 - tagBytes;
  readonly #blobs: Blobs;
  readonly #clock: Pick<Clock, "now" | "randomBytes">;
  #store: string | undefined;

  constructor(blobs: Blobs, clock: Pick<Clock, "now" | "randomBytes">) {
    this.#blobs = blobs;
    this.#clock = clock;
  }

  /** Call it once the store is open, before anything else. */
  async open(store: Pick<TaskStore, "write">): Promise<void> {
    const value = Buffer.from(this.#clock.randomBytes(idBytes)).toString("hex");
    const keep = { type: "keep_secret", now: this.#clock.now(), name: blobSecret, value } as const;
    const kept = await store.write<"keep_secret">(keep);
    this.#store = kept.value ?? value;
  }

  /** Instead of `open`, for a process that only reads. Resolves with whether the store has, or had, blobs. */
  async find(store: Pick<TaskStore, "write">): Promise<boolean> {
    const find = { type: "keep_secret", now: this.#clock.now(), name: blobSecret, value: null } as const;
    const { value } = await store.write<"keep_secret">(find);
    if (value !== null) this.#store = value;
    return value !== null;
  }

  /** For a try to store an artifact. */
  begin(): StoredBlob {
    return {
      id: Buffer.from(this.#clock.randomBytes(idBytes)).toString("hex"),
      key: Buffer.from(this.#clock.randomBytes(keyBytes)).toString("base64"),
    };
  }

  /** A piece as it is put. Call it once for each. */
  seal(blob: StoredBlob, seq: number, data: Uint8Array): Buffer {
    const cipher = createCipheriv(algorithm, keyOf(blob), nonceOf(seq), { authTagLength: tagBytes });
    return Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  }

  /** Rejects with `store_failed`, also for what an author's own functions throw: it may pass. */
  async put(task: string, blob: StoredBlob, seq: number, sealed: Uint8Array): Promise<void> {
    await asked("store", () => this.#blobs.put(this.#nameOf(task, blob, seq), sealed));
  }

  /** Undefined if it is missing or damaged. */
  async get(task: string, blob: StoredBlob, seq: number): Promise<Buffer | undefined> {
    const sealed = await asked("read", () => this.#blobs.get(this.#nameOf(task, blob, seq)));
    if (sealed === undefined || sealed.length < tagBytes) return undefined;
    const decipher = createDecipheriv(algorithm, keyOf(blob), nonceOf(seq), { authTagLength: tagBytes });
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
    } catch {
      return undefined;
    }
  }

  async delete({ name }: NamedBlob): Promise<void> {
    await asked("delete", () => this.#blobs.delete(name));
  }

  /** Those of this store. A list may also have what others keep there, which is not ours to delete. */
  async *all(): AsyncGenerator<NamedBlob> {
    const prefix = `${this.#prefix}/`;
    for await (const name of this.#blobs.list(prefix)) {
      const [folder = "", rest = ""] = name.startsWith(prefix) ? name.slice(prefix.length).split("/") : [];
      const task = taskOf(folder);
      if (task !== undefined) yield { name, task, id: rest.split(".")[0] ?? "" };
    }
  }

  get #prefix(): string {
    if (this.#store === undefined) throw new HoldfastError("internal", "The blobs were not opened.");
    return this.#store;
  }

  #nameOf(task: string, { id }: StoredBlob, seq: number): string {
    return `${this.#prefix}/${folderOf(task)}/${id}.${seq}`;
  }
}

/** The name of a folder on any system: ids of tasks may have any characters. */
export function folderOf(task: string): string {
  return encodeURIComponent(task).replace(/[.!'()*~]/g, (each) => `%${each.charCodeAt(0).toString(16)}`);
}

/** Undefined for a name that no task gives its folder. */
function taskOf(folder: string): string | undefined {
  try {
    const task = decodeURIComponent(folder);
    return task !== "" && folderOf(task) === folder ? task : undefined;
  } catch {
    return undefined;
  }
}

function keyOf({ key }: StoredBlob): Buffer {
  return Buffer.from(key, "base64");
}

/** A key encrypts each piece once. */
function nonceOf(seq: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(seq, 6, 6);
  return nonce;
}

async function asked<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new HoldfastError("store_failed", `The blobs of this server failed to ${what} data: ${problem}`, {
      cause: error,
    });
  }
}

const methods = ["put", "get", "delete", "list"] as const;

export function areBlobs(given: unknown): given is Blobs {
  return (
    typeof given === "object" &&
    given !== null &&
    methods.every((name) => name in given && typeof (given as Record<string, unknown>)[name] === "function")
  );
}

/**
 * Keeps the bytes of artifacts as files in a folder, which is made if it is missing, and which only this user may read. All processes on the
 * store need the same folder. For the `blobs` of `createTasks`.
 *
 * ```ts
 * const tasks = createTasks({ store: postgresStore(url), blobs: folderBlobs("/mnt/shared/files") });
 * ```
 */
export function folderBlobs(path: string): Blobs {
  return {
    async put(name, data) {
      const file = join(path, name);
      try {
        await replaceFile(file, data);
      } catch (error) {
        if (!isMissing(error)) throw error;
        await replaceFile(file, data); // the folder has just been deleted as an empty one
      }
    },
    async get(name) {
      try {
        return await readFile(join(path, name));
      } catch (error) {
        if (!isMissing(error)) throw error;
        await access(join(path, name.split("/")[0] ?? "")); // without the folder of its store, a disk may be missing
        return undefined;
      }
    },
    async delete(name) {
      const file = join(path, name);
      await rm(file, { force: true });
      // Its folder, if it was the last one there.
      await rmdir(dirname(file)).catch(() => undefined);
    },
    list: (prefix) => filesIn(path, prefix),
  };
}

async function* filesIn(root: string, folder: string): AsyncGenerator<string> {
  for (const entry of await entriesOf(join(root, folder))) {
    const name = `${folder}${entry.name}`;
    if (entry.isDirectory()) yield* filesIn(root, `${name}/`);
    else yield name;
  }
}

/** The names of the folders in a folder. */
export async function foldersIn(path: string): Promise<readonly string[]> {
  return (await entriesOf(path)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** None of a folder that is missing: another process may have deleted it meanwhile. */
async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
