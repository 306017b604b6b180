import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** As a receiver got it. */
export interface Received {
  readonly id: string;
  readonly timestamp: number;
  readonly signatures: readonly string[];
  readonly body: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly answer: ServerResponse;
}

/** Answers a message; what it does not answer hangs. */
export type Answering = (message: Received) => void;

export const accept: Answering = ({ answer }) => void answer.writeHead(204).end();

/** Answers with a status. */
export const answerWith =
  (status: number, headers: Record<string, string> = {}): Answering =>
  ({ answer }) =>
    void answer.writeHead(status, headers).end();

/** A server that webhooks are sent to, on the loopback interface. */
export class Receiver implements AsyncDisposable {
  answering: Answering = accept;
  readonly received: Received[] = [];
  readonly #server: Server;
  #waiting: (() => void)[] = [];

  private constructor() {
    this.#server = createServer((request, answer) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => this.#take(request.headers, Buffer.concat(chunks).toString(), answer));
    });
  }

  static async start(answering: Answering = accept): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.answering = answering;
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** Resolves once so many messages have come. */
  async has(count: number): Promise<readonly Received[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.received;
  }

  /** What came, as `task type`, without repetitions. */
  get distinct(): readonly string[] {
    return [...new Set(this.received.map(({ id, type }) => `${id} ${type}`))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(headers: NodeJS.Dict<string | string[]>, body: string, answer: ServerResponse): void {
    const text = (name: string): string => String(headers[name]);
    const { type, data } = JSON.parse(body) as Pick<Received, "type" | "data">;
    const id = text("webhook-id");
    const timestamp = Number(text("webhook-timestamp"));
    const signatures = text("webhook-signature").split(" ");
    const message = { id, timestamp, signatures, body, type, data, answer };
    this.received.push(message);
    this.answering(message);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Whether one of the signatures of a message is that of the secret, as its receiver finds out. */
export function isSigned({ id, timestamp, body, signatures }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const expected = Buffer.from(
    `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`,
  );
  return signatures.some((given) => {
    const bytes = Buffer.from(given);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
}
