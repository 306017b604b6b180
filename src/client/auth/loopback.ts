import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { TaskClientError } from "../task-client-error.ts";

const path = "/callback";

const page = (text: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Holdfast</title><p>${text}</p></html>\n`;

/** Receives an authorization server's answer from the browser, on a free local port, for one login. */
export class Loopback {
  readonly redirectUrl: URL;
  /** Resolves with the answer that has the right `state`. */
  readonly answered: Promise<URLSearchParams>;
  readonly #close: () => void;

  private constructor(port: number, answered: Promise<URLSearchParams>, close: () => void) {
    this.redirectUrl = new URL(`http://127.0.0.1:${port}${path}`);
    this.answered = answered;
    this.#close = close;
  }

  static async open(state: string): Promise<Loopback> {
    const { promise, resolve } = Promise.withResolvers<URLSearchParams>();
    const server = createServer((request, response) => {
      const answer = answerIn(request, state);
      // Sent first, because what follows may close the port.
      if (typeof answer !== "number") response.once("finish", () => resolve(answer));
      respond(response, answer);
    });
    await new Promise<void>((ready, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", ready);
    });
    const address = server.address();
    if (address === null || typeof address === "string")
      throw new TaskClientError("connection", "No local port is free to receive the browser's answer");
    return new Loopback(address.port, promise, () => {
      server.close();
      // Browsers open connections in advance, which would keep this process alive.
      server.closeAllConnections();
    });
  }

  close(): void {
    this.#close();
  }
}

/** The answer in a browser's request, or the HTTP status for a request without one. */
function answerIn({ method, url = "" }: IncomingMessage, state: string): URLSearchParams | number {
  const asked = URL.parse(url, "http://127.0.0.1");
  if (asked?.pathname !== path) return 404;
  if (method !== "GET") return 405;
  // Another page may have sent the browser here.
  return asked.searchParams.get("state") === state ? asked.searchParams : 400;
}

function respond(response: ServerResponse, answer: URLSearchParams | number): void {
  const text =
    answer === 400
      ? "This answer does not belong to the login in progress. Start the login again."
      : typeof answer === "number"
        ? "Page not found."
        : answer.has("code")
          ? "Your login was received. You can close this page and return to the terminal."
          : "The login was refused. You can close this page and return to the terminal.";
  response.writeHead(typeof answer === "number" ? answer : 200, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    connection: "close",
  });
  response.end(page(text));
}
