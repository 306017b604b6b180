const lf = 10;

/** Splits what arrives on a pipe into lines. Each byte is looked at once, however long its line and however small the pieces. */
export class LineBuffer {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that these bytes complete. Throws a RangeError if a line is longer than the maximum. */
  after(bytes: Buffer): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = bytes.indexOf(lf); end !== -1; end = bytes.indexOf(lf, from)) {
      this.#add(bytes.subarray(from, end));
      lines.push(this.#take());
      from = end + 1;
    }
    this.#add(bytes.subarray(from));
    return lines;
  }

  clear(): void {
    this.#parts = [];
    this.#size = 0;
  }

  #add(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > this.#maxBytes) throw new RangeError("The line is too long.");
    if (part.length > 0) this.#parts.push(part);
  }

  #take(): string {
    const [only] = this.#parts;
    const line =
      this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts, this.#size);
    this.clear();
    return line.toString("utf8").replace(/^\uFEFF|\r$/g, "");
  }
}
