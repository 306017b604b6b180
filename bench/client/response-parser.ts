/** The parts of a response that the bench uses. */
export interface Reply {
  readonly status: number;
  /** Status line and headers, in lower case. */
  readonly head: string;
  readonly body: Buffer;
}

/** The value of a header of `head`. */
export function headerOf(head: string, name: string): string | undefined {
  const at = head.indexOf(`\r\n${name}:`);
  if (at === -1) return undefined;
  const end = head.indexOf("\r\n", at + 2);
  return head.slice(at + name.length + 3, end === -1 ? undefined : end).trim();
}

const nothing = Buffer.alloc(0);
const headEnd = "\r\n\r\n";

/** Splits the bytes of a connection into HTTP/1.1 responses: with a content-length, or chunked without trailers. */
export class ResponseParser {
  /** Called with each chunk of a chunked body at once; such a body is not collected. */
  onChunk: ((chunk: Buffer) => void) | undefined;
  readonly #onReply: (reply: Reply) => void;
  #unread: Buffer = nothing;
  #head: string | undefined;
  #status = 0;
  /** Bytes of the body, or undefined for a chunked one. */
  #length: number | undefined;
  #chunks: Buffer[] = [];

  constructor(onReply: (reply: Reply) => void) {
    this.#onReply = onReply;
  }

  read(bytes: Buffer): void {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    while (this.#unread.length > 0 && this.#advance());
  }

  /** Takes the next part of the unread bytes; false if it is incomplete. */
  #advance(): boolean {
    if (this.#head === undefined) return this.#takeHead();
    return this.#length === undefined ? this.#takeChunk() : this.#takeBody(this.#length);
  }

  #takeHead(): boolean {
    const end = this.#unread.indexOf(headEnd);
    if (end === -1) return false;
    const head = this.#unread.toString("latin1", 0, end).toLowerCase();
    this.#unread = this.#unread.subarray(end + headEnd.length);
    this.#head = head;
    this.#status = Number(head.slice(9, 12));
    const length = headerOf(head, "content-length");
    if (length !== undefined) this.#length = Number(length);
    else if (headerOf(head, "transfer-encoding") === "chunked") this.#length = undefined;
    else if (this.#status === 202 || this.#status === 204) this.#length = 0;
    else throw new Error(`The response has no content length: ${head}`);
    return this.#length === 0 ? this.#end(nothing) : true;
  }

  #takeBody(length: number): boolean {
    if (this.#unread.length < length) return false;
    const body = this.#unread.subarray(0, length);
    this.#unread = this.#unread.subarray(length);
    return this.#end(body);
  }

  #takeChunk(): boolean {
    const lineEnd = this.#unread.indexOf("\r\n");
    if (lineEnd === -1) return false;
    const size = Number.parseInt(this.#unread.toString("latin1", 0, lineEnd), 16);
    const begin = lineEnd + 2;
    if (this.#unread.length < begin + size + 2) return false;
    const chunk = this.#unread.subarray(begin, begin + size);
    this.#unread = this.#unread.subarray(begin + size + 2);
    if (size === 0) {
      const [first = nothing] = this.#chunks;
      return this.#end(this.#chunks.length <= 1 ? first : Buffer.concat(this.#chunks));
    }
    if (this.onChunk === undefined) this.#chunks.push(chunk);
    else this.onChunk(chunk);
    return true;
  }

  #end(body: Buffer): boolean {
    const reply = { status: this.#status, head: this.#head ?? "", body };
    this.#head = undefined;
    this.#chunks = [];
    this.#onReply(reply);
    return true;
  }
}
