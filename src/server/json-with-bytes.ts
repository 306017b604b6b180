/** A JSON text of which a part is bytes in base64: it is written piece by piece, and is never in memory as a whole. */
export class JsonWithBytes {
  readonly #before: string;
  readonly #data: Buffer;
  readonly #after: string;

  /** The texts around the base64, with its quotes. */
  constructor(before: string, data: Buffer, after: string) {
    this.#before = before;
    this.#data = data;
    this.#after = after;
  }

  /** The text of `value`, with `data` in the first member "blob", which is empty in it. */
  static blobIn(value: object, data: Buffer): JsonWithBytes {
    const text = JSON.stringify(value); // quotes inside of texts are escaped: only a member can look like this
    const at = text.indexOf(emptyBlob) + emptyBlob.length - 1;
    return new JsonWithBytes(text.slice(0, at), data, text.slice(at));
  }

  /** The same inside a larger text. */
  within(before: string, after: string): JsonWithBytes {
    return new JsonWithBytes(before + this.#before, this.#data, this.#after + after);
  }

  get bytes(): number {
    const texts = Buffer.byteLength(this.#before) + Buffer.byteLength(this.#after);
    return texts + Math.ceil(this.#data.length / 3) * 4;
  }

  *pieces(): Generator<Uint8Array> {
    yield Buffer.from(this.#before);
    // Texts that are small and short-lived cost V8 least: larger ones outlive a collection, and let its young generation grow.
    for (let at = 0; at < this.#data.length; at += pieceBytes)
      yield Buffer.from(this.#data.toString("base64", at, at + pieceBytes), "latin1");
    yield Buffer.from(this.#after);
  }

  toString(): string {
    return `${this.#before}${this.#data.toString("base64")}${this.#after}`;
  }
}

const emptyBlob = '"blob":""';

/** A multiple of 3: the base64 of all pieces is that of the whole. */
const pieceBytes = 48 * 1024;
