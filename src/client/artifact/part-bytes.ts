import { AsyncLocalStorage } from "node:async_hooks";
import { TaskClientError } from "../task-client-error.ts";

/** How the bytes of a resource begin in JSON without white space. Inside of a text, the quotes would be escaped. */
const beginning = Buffer.from('"blob":"');

const quote = 0x22;

/** Base64 is decoded in texts of this size, which V8 keeps among small objects. A multiple of 4. */
const mostChars = 64 * 1024;

/**
 * The bytes of a part of an artifact, which are taken out of an HTTP answer while it arrives. Otherwise they would be in memory ten times
 * until all layers have read it: as texts, as JSON, and checked. An answer in which they are not found is read as all others are.
 */
export class PartBytes {
  readonly #buffer: Buffer;
  #filled = 0;
  #rest = "";
  #isFound = false;

  constructor(most: number) {
    this.#buffer = Buffer.allocUnsafe(most);
  }

  /** For another answer: what was taken is lost. */
  clear(): void {
    this.#filled = 0;
    this.#rest = "";
    this.#isFound = false;
  }

  /** Undefined if none were found. They last until the next answer. */
  get taken(): Buffer | undefined {
    return this.#isFound ? this.#buffer.subarray(0, this.#filled) : undefined;
  }

  /** The answer without them. */
  from(answer: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.clear();
    let before: Buffer<ArrayBuffer> | undefined = Buffer.alloc(0);
    let isInside = false;
    return answer.pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform: (chunk, controller) => {
          let given = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
          if (before !== undefined) {
            const seen = before.length === 0 ? given : Buffer.concat([before, given]);
            const at = seen.indexOf(beginning);
            const passed =
              at === -1 ? Math.max(0, seen.length - beginning.length + 1) : at + beginning.length;
            controller.enqueue(seen.subarray(0, passed));
            given = seen.subarray(passed);
            before = at === -1 ? given : undefined;
            if (at === -1) return;
            isInside = true;
            this.#isFound = true;
          }
          if (isInside) {
            const end = given.indexOf(quote);
            isInside = end === -1;
            this.#add(isInside ? given : given.subarray(0, end));
            if (isInside) return;
            this.#decode(this.#rest);
            given = given.subarray(end);
          }
          controller.enqueue(given);
        },
        flush: (controller) => {
          if (before !== undefined) controller.enqueue(before);
        },
      }),
    );
  }

  #add(base64: Buffer): void {
    for (let at = 0; at < base64.length; at += mostChars) {
      const text = this.#rest + base64.toString("latin1", at, at + mostChars).replaceAll("\\", "");
      const whole = text.length - (text.length % 4);
      this.#decode(text.slice(0, whole));
      this.#rest = text.slice(whole);
    }
  }

  #decode(base64: string): void {
    const bytes = Buffer.byteLength(base64, "base64");
    if (bytes > this.#buffer.length - this.#filled)
      throw new TaskClientError("protocol", "The server sent more of an artifact than it was asked for");
    this.#filled += this.#buffer.write(base64, this.#filled, "base64");
  }
}

/** What takes the bytes out of the answers to requests that are sent inside of it. */
export const arrivingPart = new AsyncLocalStorage<PartBytes>();
