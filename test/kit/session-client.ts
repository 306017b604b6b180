import type { Message } from "./messages.ts";
import { fieldOf, ServerSentEvents } from "./server-sent-events.ts";

/** One event of a stream; what only opens the stream has no message. */
export interface Event {
  readonly id: string | undefined;
  readonly message: Message | undefined;
}

export interface SessionOptions {
  readonly version?: string;
  readonly capabilities?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const standard = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** A client of an earlier revision that shows what is on the wire. */
export class SessionClient {
  readonly url: string;
  sessionId: string | undefined;
  readonly #fetch: Fetch;
  readonly #options: SessionOptions;
  #nextId = 1;

  constructor(url: string, options: SessionOptions = {}, fetchFunction: Fetch = fetch) {
    this.url = url;
    this.#options = options;
    this.#fetch = fetchFunction;
  }

  /** A client whose session is open. */
  static async open(
    url: string,
    options: SessionOptions = {},
    fetchFunction?: Fetch,
  ): Promise<SessionClient> {
    const peer = new SessionClient(url, options, fetchFunction);
    const response = await peer.initialize();
    if (!response.ok) throw new Error(`No session: ${response.status} ${await response.text()}`);
    peer.sessionId = response.headers.get("mcp-session-id") ?? undefined;
    for await (const message of messagesOf(response)) peer.#check(message);
    await peer.post({ method: "notifications/initialized" });
    return peer;
  }

  get version(): string {
    return this.#options.version ?? "2025-11-25";
  }

  initialize(): Promise<Response> {
    const { capabilities = { elicitation: {}, sampling: {}, roots: {} } } = this.#options;
    const clientInfo = { name: "desk", version: "1" };
    const params = { protocolVersion: this.version, capabilities, clientInfo };
    return this.post({ id: 0, method: "initialize", params });
  }

  /** Sends one message, or a batch of them, as it is. */
  post(message: object, init: RequestInit = {}): Promise<Response> {
    const body = Array.isArray(message) ? message : { jsonrpc: "2.0", ...message };
    return this.send("POST", { body: JSON.stringify(body), ...init });
  }

  /** Any HTTP request of the session. */
  send(method: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
    const session = this.sessionId === undefined ? {} : { "mcp-session-id": this.sessionId };
    const version = this.sessionId === undefined ? {} : { "mcp-protocol-version": this.version };
    return this.#fetch(this.url, {
      method,
      headers: { ...standard, ...session, ...version, ...this.#options.headers, ...(headers as object) },
      ...init,
    });
  }

  /** The stream that belongs to no request, or what is left of another one. */
  async listen(lastEventId?: string, init: RequestInit = {}): Promise<EventStream> {
    const response = await this.send("GET", {
      ...init,
      headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
    });
    if (!response.ok) throw new Error(`No stream: ${response.status} ${await response.text()}`);
    return new EventStream(response);
  }

  /** The stream on which a request is answered. */
  async begin(method: string, params: object = {}, init: RequestInit = {}): Promise<EventStream> {
    return new EventStream(await this.post({ id: this.#nextId++, method, params }, init));
  }

  /** The answer to a request, on whatever stream or none. */
  async request(method: string, params: object = {}): Promise<Message> {
    const id = this.#nextId++;
    const response = await this.post({ id, method, params });
    // A message that was refused unread is answered without its id.
    for await (const message of messagesOf(response))
      if (message["id"] === id || (message["id"] === null && "error" in message)) return message;
    throw new Error(`${method} was not answered: ${response.status}`);
  }

  call(name: string, args: object = {}): Promise<Message> {
    return this.request("tools/call", { name, arguments: args });
  }

  #check(message: Message): void {
    if (message["error"] !== undefined) throw new Error(JSON.stringify(message["error"]));
  }
}

/** What a request is answered with: what comes on its stream, or the answer alone. */
export async function* messagesOf(response: Response): AsyncGenerator<Message> {
  if (response.headers.get("content-type")?.startsWith("application/json") !== true) {
    yield* new EventStream(response);
  } else yield (await response.json()) as Message;
}

/** The events of a stream, one at a time. */
export class EventStream {
  readonly response: Response;
  readonly #events: ServerSentEvents;

  constructor(response: Response) {
    this.response = response;
    this.#events = new ServerSentEvents(response);
  }

  /** The next event with a message; undefined at the end. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const event = await this.any();
      if (event === undefined || event.message !== undefined) return event;
    }
  }

  /** The next event, even if it only opens the stream. */
  async any(): Promise<Event | undefined> {
    for (let event = await this.#events.next(); event !== undefined; event = await this.#events.next()) {
      const data = fieldOf(event, "data");
      if (data === undefined) continue; // a comment
      return { id: fieldOf(event, "id"), message: data === "" ? undefined : (JSON.parse(data) as Message) };
    }
    return undefined;
  }

  async message(): Promise<Message | undefined> {
    return (await this.next())?.message;
  }

  /** All messages until the stream ends. */
  async rest(): Promise<Message[]> {
    const messages: Message[] = [];
    for await (const message of this) messages.push(message);
    return messages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void, undefined> {
    for (let message = await this.message(); message !== undefined; message = await this.message()) {
      yield message;
    }
  }
}
