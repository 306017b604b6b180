import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import type { TaskServer } from "holdfast";
import { serveHttp } from "holdfast/http";
import { serveStdio } from "holdfast/stdio";
import { onTestFinished } from "vitest";
import { EventStream } from "../../kit/session-client.ts";
import type { Message, Place, Transcript } from "./transcript.ts";

/** The client's end of a connection. */
export interface Wire {
  send(message: Message): Promise<void>;
  /** Opens the stream of the session, where there is such a thing. */
  listen(): Promise<void>;
}

export type Way = "http" | "stdio";

export const wires: Readonly<Record<Way, (server: TaskServer, transcript: Transcript) => Promise<Wire>>> = {
  async http(server, transcript) {
    const http = await serveHttp(server, { port: 0, anonymous: "shared" });
    onTestFinished(() => http.close());
    return new HttpWire(http.url, transcript);
  },

  async stdio(server, transcript) {
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const stdio = await serveStdio(server, { stdin, stdout });
    onTestFinished(() => stdio.close());
    createInterface(stdout).on("line", (line) => transcript.came("pipe", JSON.parse(line) as Message));
    return {
      send: async (message) => {
        transcript.sent(message);
        stdin.write(`${JSON.stringify(message)}\n`);
      },
      listen: async () => undefined,
    };
  },
};

class HttpWire implements Wire {
  readonly #url: string;
  readonly #transcript: Transcript;
  /** Of the session, once it is open. */
  #headers: Record<string, string> = {};

  constructor(url: string, transcript: Transcript) {
    this.#url = url;
    this.#transcript = transcript;
  }

  async send(message: Message): Promise<void> {
    this.#transcript.sent(message, this.#headers);
    const body = JSON.stringify(message);
    const response = await this.#fetch("POST", { "content-type": "application/json" }, body);
    const session = response.headers.get("mcp-session-id");
    if (session !== null) {
      this.#headers = { "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25" };
    }
    if (response.headers.get("content-type")?.startsWith("application/json") === true) {
      this.#transcript.came("json", (await response.json()) as Message);
    } else {
      void this.#read(response, "stream of the request");
    }
  }

  async listen(): Promise<void> {
    void this.#read(await this.#fetch("GET"), "stream of the session");
  }

  #fetch(method: string, headers: Record<string, string> = {}, body?: string): Promise<Response> {
    const accept = "application/json, text/event-stream";
    const init = { method, headers: { ...headers, ...this.#headers, accept } };
    return fetch(this.#url, body === undefined ? init : { ...init, body });
  }

  async #read(response: Response, place: Place): Promise<void> {
    const reader = new EventStream(response);
    for (;;) {
      const message = await reader.message().catch(() => undefined); // cut off at the end of the test
      if (message === undefined) return;
      this.#transcript.came(place, message);
    }
  }
}
