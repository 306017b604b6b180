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
