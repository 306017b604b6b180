import type { RequestId } from "@modelcontextprotocol/server";
import type { Streams } from "../../../src/server/streams.ts";

/** Streams of a session that open and break when the test says so. */
export class FakeStreams implements Streams {
  readonly sessionKey = "session";
  readonly initialized = true;
  standaloneOpen = false;
  readonly #onStandalone = new Set<(open: boolean) => void>();
  readonly #onBroken = new Set<(request: RequestId) => void>();
  readonly #onLost = new Set<(request: RequestId) => void>();

  onStandalone(listener: (open: boolean) => void): () => void {
    this.#onStandalone.add(listener);
    return () => this.#onStandalone.delete(listener);
  }

  onBroken(listener: (request: RequestId) => void): () => void {
    this.#onBroken.add(listener);
    return () => this.#onBroken.delete(listener);
  }

  onLost(listener: (request: RequestId) => void): () => void {
    this.#onLost.add(listener);
    return () => this.#onLost.delete(listener);
  }

  get listeners(): number {
    return this.#onStandalone.size + this.#onBroken.size + this.#onLost.size;
  }

  setStandalone(open: boolean): void {
    this.standaloneOpen = open;
    for (const listener of this.#onStandalone) listener(open);
  }

  lose(request: RequestId): void {
    this.break(request);
    for (const listener of this.#onLost) listener(request);
  }

  break(request: RequestId): void {
    for (const listener of this.#onBroken) listener(request);
  }
}
