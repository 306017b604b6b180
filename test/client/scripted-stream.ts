import type { ServerResponse } from "node:http";
import type { Answer } from "./scripted-server.ts";

const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

/** The answer to a listen request, written to by the test as it goes. */
export class ScriptedStream {
  readonly #begun = Promise.withResolvers<void>();
  readonly #left = Promise.withResolvers<void>();
  #response: ServerResponse | undefined;
  #id: unknown;

  /** Resolves once the client does not read any more, whoever ended it. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  /** Called by the server when the request is there. */
  begin(response: ServerResponse, id: unknown): void {
    this.#response = response;
    this.#id = id;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    response.on("close", () => this.#left.resolve());
    this.#begun.resolve();
  }

  /** Waits for the request, and accepts tasks; without any, it accepts nothing that is about tasks. */
  async acknowledge(taskIds?: readonly string[]): Promise<void> {
    await this.#begun.promise;
    const notifications = taskIds === undefined ? {} : { taskIds };
    this.#notify("notifications/subscriptions/acknowledged", { notifications });
  }

  /** Pushes the state that `tasks/get` would answer. */
  push(answer: Answer): void {
    if (typeof answer === "string" || !("result" in answer)) throw new Error("no state of a task");
    const { resultType: _, ...task } = { resultType: "", ...answer.result };
    this.#notify("notifications/tasks", task);
  }

  /** Ends it in order. */
  complete(): void {
    this.#write({ id: this.#id, result: { resultType: "complete", _meta: { [subscriptionKey]: this.#id } } });
    this.#response?.end();
  }

  /** Ends it in the other way that there is, and leaves the stream open. */
  cancel(): void {
    this.#write({ method: "notifications/cancelled", params: { requestId: this.#id } });
  }

  break(): void {
    this.#response?.destroy();
  }

  #notify(method: string, params: object): void {
    this.#write({ method, params: { ...params, _meta: { [subscriptionKey]: this.#id } } });
  }

  #write(message: object): void {
    this.#response?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  }
}
