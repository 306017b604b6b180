import { isSealed } from "../task/stored-text.ts";
import { damaged, type NumberedLine } from "./dump-file.ts";
import type { DumpRow } from "./dump-tables.ts";

/** The blobs of artifacts as a dump copies them: by their names, and still encrypted, so that it needs no keys. */
export interface BlobCopies {
  /** All that a task has. */
  of(task: string): AsyncIterable<BlobCopy>;
  put(copy: BlobCopy): Promise<void>;
}

export interface BlobCopy {
  /** `STORE/TASK/ID.NUMBER`. */
  readonly name: string;
  readonly data: Uint8Array;
}

/** The name of the lines that have one. */
export const blobLine = "blob";

const nameForm = /^[0-9a-f]+\/[\w%-]+\/[0-9a-f]+\.\d+$/;

/** False for what is not whole yet. */
export function isBlobName(name: string): boolean {
  return nameForm.test(name);
}

/** Whether the entry of a journal is an artifact whose bytes are blobs. `sealed`: what counts for one that is encrypted, which nobody can tell. */
export function isKeptInBlobs({ kind, value }: DumpRow, sealed: boolean): boolean {
  if (kind !== "artifact" || typeof value !== "string") return false;
  return isSealed(value) ? sealed : value.includes('"blob":{');
}

export function toBlobLine(task: string, { name, data }: BlobCopy): Readonly<Record<string, unknown>> {
  return { [blobLine]: { task_id: task, name, data: Buffer.from(data).toString("base64") } };
}

/** The blob of a line, and its task. Throws `store_unusable` for one that is no blob, or whose name leads elsewhere. */
export function blobIn(file: string, { number, value }: NumberedLine): BlobCopy & { readonly task: string } {
  const { task_id: task, name, data } = value as Readonly<Record<string, unknown>>;
  if (typeof task !== "string" || typeof name !== "string" || typeof data !== "string" || !isBlobName(name))
    throw damaged(file, number, "it has no valid blob");
  return { task, name, data: Buffer.from(data, "base64") };
}

/** The secret of a store with the id under which it has blobs; missing in one that never had any. */
export const blobSecret = "blobs";

/**
 * Where the bytes of artifacts are kept outside of a store: a folder (`folderBlobs`), a bucket of an object store (`s3Blobs`), or what else an
 * author has. What is stored is encrypted, and its key is in the store, with the task.
 * - Names have letters, digits, `-`, `_`, `.`, `%` and `/`, and at most 400 characters.
 * - Each is used for the same bytes only, so that a call that fails can be repeated.
 */
export interface Blobs {
  /** Stores up to 1 MiB. Resolves once they are durable: a reader finds all of them, or none. */
  put(name: string, data: Uint8Array): Promise<void>;
  /** Undefined if there is nothing under this name. Rejects if that cannot be told. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Does nothing if there is nothing under this name. */
  delete(name: string): Promise<void>;
  /** All names that begin with a text that ends with `/`, in any order; also those that are not whole. */
  list(prefix: string): AsyncIterable<string>;
}
