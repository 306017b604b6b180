import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import type { Message } from "./webhook-options.ts";

/** What a webhook answered. */
export interface PostAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** How much of an answer is read: only what is needed to reuse its connection. */
const mostAnswerBytes = 16 * 1024;

/**
 * The connections to one webhook. It follows no redirects and uses no proxies from the environment, because both would choose another
 * address.
 */
export class Poster {
  readonly #url: URL;
  readonly #kept: HttpAgent;
  /** Whose connections have sent nothing before. */
  readonly #fresh: HttpAgent;

  constructor(
    url: URL,
    { lookup, connections }: { readonly lookup: LookupFunction; readonly connections: number },
  ) {
    this.#url = url;
    const Agent = url.protocol === "https:" ? HttpsAgent : HttpAgent;
    const options = { maxSockets: connections, lookup };
    this.#kept = new Agent({ ...options, keepAlive: true });
    this.#fresh = new Agent(options);
  }

  /**
   * Resolves with the beginning of an answer once all of it has arrived, which frees its connection, or once `signal` aborts, which drops
   * the rest. Rejects if no answer begins before that. An answer that switches protocols ends at once.
   */
  post(message: Message, signal: AbortSignal): Promise<PostAnswer> {
    return this.#post(message, signal, this.#kept);
  }

  #post(message: Message, signal: AbortSignal, agent: HttpAgent): Promise<PostAnswer> {
    const { headers, body } = message;
    return new Promise((resolve, reject) => {
      const request = this.#url.protocol === "https:" ? httpsRequest : httpRequest;
      const length = String(Buffer.byteLength(body));
      const options = {
        method: "POST",
        agent,
        headers: { ...headers, "content-length": length },
        signal,
      };
      let isAnswered = false;
      const sent = request(this.#url, options, (answer) => {
        isAnswered = true;
        const { statusCode: status = 0, headers: given } = answer;
        answer.on("close", () => resolve({ status, retryAfter: given["retry-after"] }));
        drain(answer);
      });
      // Without a listener Node ends its connection, and says nothing of it.
      sent.on("upgrade", ({ statusCode: status = 0 }, socket) => {
        socket.destroy();
        resolve({ status, retryAfter: undefined });
      });
      sent.on("error", (error: NodeJS.ErrnoException) => {
        if (isAnswered) return; // its answer closes
        // The webhook has closed a connection that waited for its next message: it has failed nothing. Or it fails at this one, and more tries
        // at once would be as many more failures.
        if (sent.reusedSocket && error.code === "ECONNRESET")
          resolve(this.#post(message, signal, this.#fresh));
        else reject(error);
      });
      sent.on("close", () => {
        if (!isAnswered) reject(new Error("the connection was closed")); // unless it was said better
      });
      sent.end(body);
    });
  }

  close(): void {
    this.#kept.destroy();
    this.#fresh.destroy();
  }
}

function drain(answer: IncomingMessage): void {
  let bytes = 0;
  answer.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostAnswerBytes) answer.destroy();
  });
  answer.on("error", () => undefined); // what was to be known is known
}
