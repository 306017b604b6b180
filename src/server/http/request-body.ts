import { isAscii, isUtf8 } from "node:buffer";
import { isJsonContentType } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { stoppingText } from "../../task/unanswered.ts";
import type { RuntimeSettings } from "../../runtime/options.ts";
import { messageFault, nodeFault } from "../limits.ts";
import { type FetchHandlerOptions, httpSettings } from "./http-options.ts";
import type { HttpRequest } from "./http-request.ts";
import { refuse, unavailable } from "./refusals.ts";

export interface BodyForm {
  readonly maxNesting: number;
  readonly maxNodes: number;
  /** Messages in one body; only revision 2025-03-26 and before have several. */
  readonly maxBatch: number;
}

/** A body that a framework has read: JSON, or its bytes. */
export interface ParsedBody {
  readonly value: unknown;
}

/** The JSON of a POST, read once for all users, or the refusal if it is invalid; other methods have none. */
export async function readBody(
  request: HttpRequest,
  bodies: BodyReads,
  form: BodyForm,
  parsed?: ParsedBody,
): Promise<{ body: unknown } | Response> {
  if (request.method !== "POST") return { body: undefined };
  const type = request.headers.get("content-type");
  if (type !== "application/json" && !isJsonContentType(type)) {
    return refuse(415, "Unsupported Media Type: Content-Type must be application/json", {}, -32000);
  }
  if (parsed === undefined && !request.bodyUsed) {
    const text = await bodies.text(request);
    return text instanceof Response ? text : parse(text, form);
  }
  const { value } = parsed ?? {};
  if (value === undefined) throw lost();
  if (Number(request.headers.get("content-length")) > bodies.maxBytes) return tooLarge(bodies.maxBytes);
  return readParsed(value, bodies.maxBytes, form);
}

function parse(text: string, form: BodyForm): { body: unknown } | Response {
  // To parse millions of values, and to look at each, would keep everybody waiting.
  const tooMany = nodeFault(text, form.maxNodes);
  if (tooMany !== undefined) return refuse(400, tooMany);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return refuse(400, "Parse error: the request body is not valid JSON", {}, -32700);
  }
  return refusalOf(body, form) ?? { body };
}

/**
 * The same limits as for text: those of the framework may be wider, and its content coding hides the size. A string is not parsed
 * again: guards before us that look into the body have seen no message in it.
 */
function readParsed(value: unknown, maxBytes: number, form: BodyForm): { body: unknown } | Response {
  if (value instanceof Uint8Array) {
    if (value.byteLength > maxBytes) return tooLarge(maxBytes);
    return isUtf8(value) ? parse(new TextDecoder().decode(value), form) : notUtf8();
  }
  const refused = refusalOf(value, form); // how deep it is first: to write it as text recurses
  if (refused !== undefined) return refused;
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > maxBytes) return tooLarge(maxBytes);
  const tooMany = nodeFault(text, form.maxNodes);
  return tooMany === undefined ? { body: value } : refuse(400, tooMany);
}

function refusalOf(body: unknown, { maxNesting, maxBatch }: BodyForm): Response | undefined {
  if (Array.isArray(body) && body.length > maxBatch) {
    return refuse(400, `The batch has more than ${maxBatch} messages.`);
  }
  const fault = messageFault(body, maxNesting);
  return fault === undefined ? undefined : refuse(400, fault.message);
}

function lost(): HoldfastError {
  return new HoldfastError(
    "configuration",
    "Other code has already read the request body and did not keep it in req.body. Mount Holdfast before that code, or pass parsedBody.",
  );
}

const slackBytes = 64 * 1024;

/** What may be received: the largest arguments, and the message around them. Throws `configuration`. */
export function bodyReadLimits(
  { options: { maxBodyBytes } }: { readonly options: Pick<RuntimeSettings, "maxBodyBytes"> },
  options: FetchHandlerOptions,
): BodyReadLimits {
  const { maxRequestBodySize = maxBodyBytes + slackBytes } = options;
  const { maxPendingBytes: byDefault } = httpSettings({});
  const { maxPendingBytes = Math.max(byDefault, maxRequestBodySize) } = options;
  if (maxPendingBytes < maxRequestBodySize) {
    const message = `maxPendingBytes must be at least maxRequestBodySize, which is ${maxRequestBodySize}.`;
    throw new HoldfastError("configuration", message);
  }
  return {
    maxBytes: maxRequestBodySize,
    maxMs: httpSettings(options).requestTimeoutMs,
    maxPendingBytes,
  };
}

interface BodyReadLimits {
  /** Of one request. */
  readonly maxBytes: number;
  /** From the first look at the body to its end. */
  readonly maxMs: number;
  /** Of all requests that are being received. */
  readonly maxPendingBytes: number;
}

const smallBytes = 64 * 1024;

const utf8 = new TextDecoder();

interface Read {
  bytes: number;
  /** When it began, by the monotonic clock, in ms. */
  readonly since: number;
  readonly refuse: (response: Response) => void;
}

/** The text of request bodies. Slow and large ones cannot take the memory of all others, nor keep a server open. */
export class BodyReads {
  readonly #limits: BodyReadLimits;
  /** Those that are under way; the oldest first. */
  readonly #reads = new Set<Read>();
  #pending = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(limits: BodyReadLimits) {
    this.#limits = limits;
  }

  /** The number of bodies still being received. */
  get receiving(): number {
    return this.#reads.size;
  }

  get maxBytes(): number {
    return this.#limits.maxBytes;
  }

  /** Resolves with the text, or with the refusal of what is too large, too slow, not UTF-8 or has no end. */
  async text(request: HttpRequest): Promise<string | Response> {
    const { maxBytes } = this.#limits;
    if (this.#closed) return unavailable(stoppingText);
    const coding = request.headers.get("content-encoding") ?? "";
    if (!/^\s*(?:identity)?\s*$/i.test(coding)) return encoded(coding);
    if (Number(request.headers.get("content-length")) > maxBytes) return tooLarge(maxBytes);
    const declared = Number(request.headers.get("content-length") ?? Infinity);
    if (declared <= smallBytes) return this.#small(request, declared);
    if (request.body === null) return "";
    const reader = request.body.getReader();
    let refusal: Response | undefined;
    const read = this.#begin((response) => {
      refusal ??= response;
      reader.cancel().catch(() => undefined); // which ends a read that is under way
    });
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let text = "";
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        if (!ArrayBuffer.isView(next.value)) throw notBytes();
        this.#received(read, next.value.byteLength);
        if (read.bytes > maxBytes) read.refuse(tooLarge(maxBytes));
        if (refusal !== undefined) break;
        text += decoder.decode(next.value, { stream: true });
      }
      return refusal ?? text + decoder.decode();
    } catch (error) {
      if (error instanceof HoldfastError) throw error;
      read.refuse(isOfDecoder(error) ? notUtf8() : brokenOff());
      return refusal ?? brokenOff();
    } finally {
      this.#reads.delete(read);
      this.#pending -= read.bytes;
    }
  }

  /** As `text`, for a body that declares to be small: read at once, which adapters do without a stream. */
  #small(request: HttpRequest, declared: number): Promise<string | Response> {
    const { maxBytes } = this.#limits;
    const whole = request.arrayBuffer();
    return new Promise((resolve) => {
      const end = (text: string | Response): void => {
        if (!this.#reads.delete(read)) return;
        this.#pending -= declared;
        resolve(text);
      };
      const read = this.#begin(end);
      this.#received(read, declared);
      whole.then(
        (bytes) => {
          if (bytes.byteLength > maxBytes) end(tooLarge(maxBytes));
          else end(textOf(bytes) ?? notUtf8());
        },
        () => end(brokenOff()),
      );
    });
  }

  /** Refuses what has not been received to its end, now and from now on. */
  close(): void {
    this.#closed = true;
    for (const read of this.#reads) read.refuse(unavailable(stoppingText));
  }

  #begin(end: Read["refuse"]): Read {
    const read = { bytes: 0, since: performance.now(), refuse: end };
    this.#reads.add(read);
    this.#look(this.#limits.maxMs);
    return read;
  }

  /** Refuses what has taken too long, after `ms`. One timer for all: most bodies are there at once. */
  #look(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const { maxMs } = this.#limits;
      for (const read of this.#reads) {
        const left = read.since + maxMs - performance.now();
        if (left > 0) return this.#look(left);
        read.refuse(tooSlow(maxMs));
      }
    }, ms).unref();
  }

  #received(read: Read, bytes: number): void {
    read.bytes += bytes;
    this.#pending += bytes;
    if (this.#pending <= this.#limits.maxPendingBytes) return;
    // The one that has taken longest: clients that send slowly to hold memory are refused first, and fast ones get through.
    const [oldest] = this.#reads;
    oldest?.refuse(tooManyPending());
  }
}

/** Undefined for what is not UTF-8. Nearly all messages are ASCII, which costs less. */
function textOf(bytes: ArrayBuffer | Uint8Array): string | undefined {
  if (bytes instanceof Buffer && isAscii(bytes)) return bytes.toString("latin1");
  return isUtf8(bytes) ? utf8.decode(bytes) : undefined;
}

/** A `Request` takes any stream; what has no length would make the count of all bodies useless. */
function notBytes(): HoldfastError {
  return new HoldfastError(
    "configuration",
    "The body of the Request is a stream of something other than bytes. Make it of Uint8Array, or pass parsedBody.",
  );
}

function isOfDecoder(error: unknown): boolean {
  return error instanceof TypeError && "code" in error && error.code === "ERR_ENCODING_INVALID_ENCODED_DATA";
}

/** The bytes would be no JSON, which would say nothing of the cause. */
function encoded(coding: string): Response {
  const message = `Content-Encoding "${coding}" is not supported. Send the body without it.`;
  return refuse(415, message, { "Accept-Encoding": "identity" }, -32000);
}

function tooLarge(maxBytes: number): Response {
  return refuse(413, `The request is larger than ${maxBytes} bytes.`);
}

function tooSlow(ms: number): Response {
  return refuse(408, `The request was not received within ${ms} milliseconds.`);
}

function tooManyPending(): Response {
  return unavailable("Too many requests are being received; try again later.");
}

function brokenOff(): Response {
  return refuse(400, "The request body could not be read completely.", {}, -32700);
}

function notUtf8(): Response {
  return refuse(400, "Parse error: the request body is not UTF-8", {}, -32700);
}
