import { AsyncLocalStorage } from "node:async_hooks";
import { TaskClientError } from "../task-client-error.ts";

/** How the bytes of a resource begin in JSON without white space. Inside of a text, the quotes would be escaped. */
const beginning = Buffer.from('"blob":"');

const quote = 0x22;

/** What a character of base64 stands for, by its code; 64 for all others, such as the backslashes that JSON allows before a slash. */
const sextets = new Uint8Array(256).fill(64);
for (const [value, char] of Buffer.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
).entries())
  sextets[char] = value;

/**
 * The bytes of a part of an artifact, which are taken out of an HTTP answer while it arrives. Otherwise they would be in memory ten times
 * until all layers have read it: as texts, as JSON, and checked. An answer in which they are not found is read as all others are.
 */
export class PartBytes {
  readonly #buffer: Buffer;
  #filled = 0;
  /** The bits of the characters that make no byte yet, and how many they are. */
  #bits = 0;
  #bitCount = 0;
  #isFound = false;

  constructor(most: number) {
    this.#buffer = Buffer.allocUnsafe(most);
  }

  /** For another answer: what was taken is lost. */
  clear(): void {
    this.#filled = 0;
    this.#bits = 0;
    this.#bitCount = 0;
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

  /** Decodes without texts: each would be garbage of the size of the part. */
  #add(base64: Buffer): void {
    const buffer = this.#buffer;
    let [bits, bitCount, filled] = [this.#bits, this.#bitCount, this.#filled];
    for (let at = 0; at < base64.length; at++) {
      const sextet = sextets[base64[at] ?? 0] ?? 64;
      if (sextet === 64) continue;
      bits = ((bits << 6) | sextet) & 0xfff;
      bitCount += 6;
      if (bitCount < 8) continue;
      bitCount -= 8;
      if (filled === buffer.length)
        throw new TaskClientError("protocol", "The server sent more of an artifact than it was asked for");
      buffer[filled++] = bits >> bitCount;
    }
    [this.#bits, this.#bitCount, this.#filled] = [bits, bitCount, filled];
  }
}

/** What takes the bytes out of the answers to requests that are sent inside of it. */
export const arrivingPart = new AsyncLocalStorage<PartBytes>();
