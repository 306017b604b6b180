import { withTask, relatedTask } from "../../src/generation/sep-1686.ts";
import type { Message } from "../kit/messages.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";

interface Answer {
  readonly result?: Message;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client of SEP-1686 on one server. Rejects when that dies before it answered. */
export class SepRpc {
  readonly #peer: Promise<SessionClient>;
  #id = 0;

  constructor(url: string) {
    this.#peer = SessionClient.open(url);
    this.#peer.catch(() => undefined);
  }

  /** Calls a tool as a task; `onCreated` hears the notification. Resolves with what the call is answered. */
  async call(taskId: string, name: string, args: object, onCreated: () => void): Promise<Answer> {
    const params = withTask({ name, arguments: args }, { taskId, keepAliveMs: 600_000 });
    return this.#send("tools/call", params, onCreated);
  }

  about(method: string, taskId: string): Promise<Answer> {
    return this.#send(method, { taskId, _meta: relatedTask(taskId) });
  }

  async #send(method: string, params: object, onCreated: () => void = () => undefined): Promise<Answer> {
    const peer = await this.#peer;
    const response = await peer.post({ id: ++this.#id, method, params });
    if (response.headers.get("content-type")?.startsWith("application/json") === true) {
      return (await response.json()) as Answer;
    }
    const stream = new EventStream(response);
    for (let message = await stream.message(); message !== undefined; message = await stream.message()) {
      if (message["method"] === "notifications/tasks/created") onCreated();
      if (!("method" in message)) return message;
    }
    throw new Error("The server is gone.");
  }
}
