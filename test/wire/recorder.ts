import type { Message } from "../kit/messages.ts";
import { type Listening, listenTo, Subscription } from "../kit/subscription.ts";

/** A message that our server sent, alone or as an event of a stream. */
export interface Sent {
  readonly from: "server";
  readonly status?: number;
  readonly stream?: "opens" | "ends";
  readonly message?: Message;
}

export interface Asked {
  readonly from: "client";
  readonly headers: Readonly<Record<string, string>>;
  readonly message: Message;
}

export type Entry = Asked | Sent;

/** Notes what goes over the wire, in the order in which a client sees it. */
export class Recorder {
  readonly entries: Entry[] = [];

  /** As the global one, for whoever sends requests. */
  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const headers = Object.entries(init.headers as Record<string, string>);
    this.entries.push({
      from: "client",
      headers: Object.fromEntries(headers.filter(([name]) => /^mcp-/i.test(name))),
      message: JSON.parse(init.body as string) as Message,
    });
    const response = await fetch(url, init);
    const { status } = response;
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
      this.entries.push({ from: "server", status, stream: "opens" });
    } else {
      this.entries.push({ from: "server", status, message: (await response.clone().json()) as Message });
    }
    return response;
  };

  async listen(url: string, taskIds: readonly string[], listening: Listening = {}): Promise<Recording> {
    return new Recording(
      await Subscription.to(url, { taskIds }, { ...listening, fetch: this.fetch }),
      this.entries,
    );
  }

  /** Sends a listen request that is refused. */
  async refused(url: string, taskIds: readonly string[], listening: Listening = {}): Promise<void> {
    await listenTo(url, { taskIds }, { ...listening, fetch: this.fetch });
  }
}

/** A stream whose messages are noted when they are read, not when they come: a scenario says when that is. */
export class Recording {
  readonly #listener: Subscription;
  readonly #entries: Entry[];

  constructor(listener: Subscription, entries: Entry[]) {
    this.#listener = listener;
    this.#entries = entries;
  }

  async next(): Promise<void> {
    const message = await this.#listener.next();
    this.#entries.push(
      message === undefined ? { from: "server", stream: "ends" } : { from: "server", message },
    );
  }
}
