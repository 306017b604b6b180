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
