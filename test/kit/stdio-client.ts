import type { Readable, Writable } from "node:stream";
import { createInterface } from "node:readline";
import { withTasks, type Message } from "./messages.ts";
import { listenParams } from "./subscription.ts";

/** A client at the other end of a server's stdin and stdout, that shows what is on the wire. */
export class StdioClient {
  readonly #stdin: Writable;
  readonly #lines: AsyncIterator<string>;
  #nextId = 100;

  constructor(stdin: Writable, stdout: Readable) {
    this.#stdin = stdin;
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  write(message: object): void {
    this.writeLine(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  writeLine(line: string): void {
    this.#stdin.write(`${line}\n`);
  }

  send(id: string | number, method: string, params: object = {}, capabilities: object = withTasks): void {
    this.write({ id, method, params: { ...envelope(capabilities), ...params } });
  }

  listen(id: string | number, notifications: unknown, capabilities: object = withTasks): void {
    this.write({ id, method: "subscriptions/listen", params: listenParams(notifications, capabilities) });
  }

  cancel(requestId: string | number, reason?: string): void {
    this.write({ method: "notifications/cancelled", params: { requestId, ...(reason && { reason }) } });
  }

  /** The next message, or undefined at the end; whatever is no message is a failure. */
  async next(): Promise<Message | undefined> {
    const { done, value } = await this.#lines.next();
    return done === true ? undefined : (JSON.parse(value) as Message);
  }

  /** The first task with that status among what is pushed; what comes before it is passed over. */
  async until(status: string): Promise<Message> {
    for (let message = await this.next(); message !== undefined; message = await this.next()) {
      const task = (message["params"] ?? {}) as Message;
      if (task["status"] === status) return task;
    }
    throw new Error(`No task was ${status}.`);
  }

  /** The answer to a request of its own; what comes before it is passed over. */
  async request(method: string, params: object = {}): Promise<Message> {
    const id = this.#nextId++;
    this.send(id, method, params);
    for (let message = await this.next(); message !== undefined; message = await this.next()) {
      if (message["id"] === id) return (message["result"] ?? message["error"]) as Message;
    }
    throw new Error(`${method} was not answered.`);
  }

  async start(name: string, args: object = {}): Promise<string> {
    const { taskId } = await this.request("tools/call", { name, arguments: args });
    return taskId as string;
  }

  end(): void {
    this.#stdin.end();
  }
}

function envelope(capabilities: object): object {
  const { _meta } = listenParams({}, capabilities) as { _meta: object };
  return { _meta };
}
