import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Clock } from "../../runtime/clock.ts";
import { HoldfastError } from "../../task/fault.ts";
import { isLoopback } from "../http/listen.ts";
import { unavailable } from "./access-token.ts";

export interface EndpointSetup {
  /** What it is, for messages. */
  readonly what: string;
  readonly url: URL;
  readonly timeoutMs: number;
  /** Whether `http:` beyond this machine is allowed. */
  readonly allowInsecureUrl: boolean;
  readonly clock: Clock;
}

/** More than this is no answer to a question about keys or a token. */
const maxBytes = 1024 * 1024;

/** A URL of an authorization server that answers with a JSON object. */
export class Endpoint {
  readonly #setup: EndpointSetup;
  readonly #href: string;

  /** Throws `configuration` for a URL where others on the network could answer. */
  constructor(setup: EndpointSetup) {
    const { url, what, allowInsecureUrl } = setup;
    const trusted = url.protocol === "https:" || isLoopback(url.hostname.replace(/^\[|\]$/g, ""));
    if (!trusted && !(allowInsecureUrl && url.protocol === "http:")) {
      const message = `${what} at ${url.origin} must be an https: URL: otherwise, anyone on the network could answer in its place.`;
      throw new HoldfastError("configuration", message);
    }
    this.#setup = setup;
    this.#href = url.href;
  }

  /** Rejects with `temporarily_unavailable` if no JSON object arrives in time. */
  async ask(init: RequestInit = {}): Promise<JsonObject> {
    const { what, timeoutMs, clock } = this.#setup;
    const timeout = new AbortController();
    const cancelTimer = clock.after(timeoutMs, () => {
      timeout.abort(new Error(`No answer within ${timeoutMs} ms.`));
    });
    try {
      // What is asked with, a secret or a token, goes nowhere else.
      const response = await fetch(this.#href, { ...init, redirect: "error", signal: timeout.signal });
      const body = await textOf(response);
      if (response.status !== 200) throw new Error(`It answered with status ${response.status}.`);
      const json: unknown = JSON.parse(body);
      if (isJsonObject(json)) return json;
      throw new Error("It did not answer with a JSON object.");
    } catch (cause) {
      throw unavailable(`${what} at ${new URL(this.#href).origin} is not available.`, cause);
    } finally {
      cancelTimer();
    }
  }
}

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`It answered with more than ${maxBytes} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
