import { Transform, type Readable, type TransformCallback } from "node:stream";
import { NodeCount } from "../node-count.ts";

const newline = 0x0a;

/** So much of the beginning and of the end of a line is looked at for the id of a request. */
const edgeBytes = 512;

/** As clients write a request: its id right at the beginning, or at the end, where nothing is around it but the message. */
const atTheStart = /^\s*\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}"),"method":/;
const requestAtTheStart = /^\s*\{"method":/;
const atTheEnd = /,"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}")\}\s*$/;

/**
 * The lines of `stdin`, of which those with too many values are cut off before they are parsed: what is left is no JSON, and
 * passed over. `refused` is called with the id of each, as far as it can be seen, else with null, and with what is too many.
 */
export class BoundedInput extends Transform {
  readonly #stdin: Readable;
  readonly #max: number;
  readonly #refused: (id: string | number | null, fault: string) => void;
  readonly #onClose = (): void => void this.end();
  readonly #onError = (error: Error): void => void this.destroy(error);
  #count: NodeCount;
  #start = "";
  #end = "";

  constructor(stdin: Readable, max: number, refused: (id: string | number | null, fault: string) => void) {
    super();
    this.#stdin = stdin;
    this.#max = max;
    this.#refused = refused;
    this.#count = new NodeCount(max);
    stdin.on("error", this.#onError).on("close", this.#onClose).pipe(this);
  }

  /** Reads no more. */
  release(): void {
    this.#stdin.off("error", this.#onError).off("close", this.#onClose).unpipe(this);
    this.#stdin.pause();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(newline, from);
      this.#take(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) break;
      this.#endLine();
      from = end + 1;
    }
    done();
  }

  #take(part: Buffer): void {
    if (this.#start.length < edgeBytes) this.#start += part.toString("latin1", 0, edgeBytes);
    this.#end = (this.#end + part.toString("latin1", Math.max(0, part.length - edgeBytes))).slice(-edgeBytes);
    let place = 0;
    while (place < part.length && !this.#count.tooMany) this.#count.take(part[place++] as number);
    if (place > 0) this.push(part.subarray(0, place));
  }

  #endLine(): void {
    if (this.#count.tooMany) this.#refused(this.#id(), this.#count.fault);
    this.push("\n");
    this.#count = new NodeCount(this.#max);
    this.#start = "";
    this.#end = "";
  }

  #id(): string | number | null {
    const [, id] =
      atTheStart.exec(this.#start) ??
      (requestAtTheStart.test(this.#start) ? atTheEnd.exec(this.#end) : null) ??
      [];
    return id === undefined ? null : (JSON.parse(id) as string | number);
  }
}
