import type { Blobs } from "../../src/store/blobs.ts";

/** Blobs that end with the process. */
export class MemoryBlobs implements Blobs {
  readonly all = new Map<string, Uint8Array>();
  /** Called before each call, with its name. */
  before: (method: keyof Blobs) => void = () => undefined;

  async put(name: string, data: Uint8Array): Promise<void> {
    this.before("put");
    this.all.set(name, Uint8Array.from(data));
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    this.before("get");
    return this.all.get(name);
  }

  async delete(name: string): Promise<void> {
    this.before("delete");
    this.all.delete(name);
  }

  async *list(prefix: string): AsyncGenerator<string> {
    this.before("list");
    yield* [...this.all.keys()].filter((name) => name.startsWith(prefix));
  }
}
