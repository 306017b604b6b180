import { Transform, type Readable, type TransformCallback } from "node:stream";
import { NodeCount } from "../message-limits.ts";

const newline = 0x0a;

/** How much of the beginning and the end of a line is searched for the id of a request. */
const edgeBytes = 512;

/** Where clients write a request's id: at the beginning of the message, or at its end. */
const atTheStart = /^\s*\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}"),"method":/;
const requestAtTheStart = /^\s*\{"method":/;
const atTheEnd = /,"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}")\}\s*$/;

/**
 * The lines of `stdin`. A line with too many values is cut off, so that it is no JSON and is ignored. `refused` is called
 * with the id of its request, or null if it was not found, and with the limit that it exceeds.
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

  /** Stops reading. */
  release(): void {
    this.#stdin.off("error", this.#onError).off("close", this.#onClose).unpipe(this);
    this.#stdin.pause();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(newline, from);
      this.#add(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) break;
      this.#endLine();
      from = end + 1;
    }
    done();
  }

  #add(part: Buffer): void {
    if (this.#start.length < edgeBytes) this.#start += part.toString("latin1", 0, edgeBytes);
    this.#end = (this.#end + part.toString("latin1", Math.max(0, part.length - edgeBytes))).slice(-edgeBytes);
    let place = 0;
    while (place < part.length && !this.#count.tooMany) this.#count.add(part[place++] as number);
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
