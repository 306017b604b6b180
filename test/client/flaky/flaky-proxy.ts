import { once } from "node:events";
import {
  createServer,
  request as send,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { setTimeout as pause } from "node:timers/promises";

/** What became of how many requests. */
export interface Mishaps {
  forwarded: number;
  requestsLost: number;
  answersLost: number;
  answersCut: number;
  delayed: number;
  doubled: number;
}

const longestDelayMs = 30;

/** An HTTP proxy that loses, cuts, delays and doubles requests and answers, once it is told to; chance is given. */
export class FlakyProxy {
  readonly mishaps: Mishaps = {
    forwarded: 0,
    requestsLost: 0,
    answersLost: 0,
    answersCut: 0,
    delayed: 0,
    doubled: 0,
  };
  /** How likely each mishap is. */
  share = 0;
  readonly #target: URL;
  readonly #random: () => number;
  readonly #server: Server;

  private constructor(target: URL, random: () => number) {
    this.#target = target;
    this.#random = random;
    this.#server = createServer((request, response) => {
      // Whoever leaves in the middle is no fault of the proxy's.
      this.#take(request, response).catch(() => response.destroy());
    });
  }

  static async start(target: string, random: () => number): Promise<FlakyProxy> {
    const proxy = new FlakyProxy(new URL(target), random);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    return `http://127.0.0.1:${port}${this.#target.pathname}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (this.#happens("requestsLost")) return void response.destroy();
    if (this.#happens("delayed")) await pause(this.#random() * longestDelayMs);
    this.mishaps.forwarded++;
    if (request.method === "POST" && this.#happens("doubled")) {
      // Nobody reads what the second one is answered.
      this.#forward(request, body)
        .then((other) => other.destroy())
        .catch(() => undefined);
    }
    const answer = await this.#forward(request, body);
    if (this.#happens("answersLost")) return void (answer.destroy(), response.destroy());
    if (this.#happens("delayed")) await pause(this.#random() * longestDelayMs);
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    response.flushHeaders();
    response.on("close", () => answer.destroy());
    await this.#pass(answer, response);
  }

  /**
   * Events go on one by one, and some twice or not at all, with all that would have come after. What went on before has
   * left this process by then, or a client that resumes a long stream would get none of it.
   */
  async #pass(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    const streams = answer.headers["content-type"]?.includes("text/event-stream") === true;
    const write = (text: string): Promise<void> =>
      new Promise((resolve) => response.write(text, () => resolve()));
    let rest = "";
    for await (const chunk of answer) {
      if (!streams) response.write(chunk);
      else {
        const events = (rest + (chunk as Buffer).toString()).split("\n\n");
        rest = events.pop() ?? "";
        for (const event of events) {
          if (this.#happens("answersCut")) return void (answer.destroy(), response.destroy());
          await write(`${event}\n\n`);
          if (this.#happens("doubled")) await write(`${event}\n\n`);
        }
      }
    }
    response.end(rest);
  }

  async #forward({ method, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const forwarded = send(this.#target, { method, headers, agent: false });
    forwarded.end(body);
    const [answer] = (await once(forwarded, "response")) as [IncomingMessage];
    answer.on("error", () => undefined);
    return answer;
  }

  #happens(mishap: keyof Mishaps): boolean {
    if (this.#random() >= this.share) return false;
    this.mishaps[mishap]++;
    return true;
  }
}
