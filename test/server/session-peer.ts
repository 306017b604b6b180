export type Message = Record<string, unknown>;

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
export class SessionPeer {
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
  static async open(url: string, options: SessionOptions = {}, fetchFunction?: Fetch): Promise<SessionPeer> {
    const peer = new SessionPeer(url, options, fetchFunction);
    const response = await peer.initialize();
    if (!response.ok) throw new Error(`No session: ${response.status} ${await response.text()}`);
    peer.sessionId = response.headers.get("mcp-session-id") ?? undefined;
    for await (const { message } of eventsOf(response)) if (message !== undefined) peer.#check(message);
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
  async listen(lastEventId?: string, init: RequestInit = {}): Promise<EventReader> {
    const response = await this.send("GET", {
      ...init,
      headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
    });
    if (!response.ok) throw new Error(`No stream: ${response.status} ${await response.text()}`);
    return new EventReader(response);
  }

  /** The stream on which a request is answered. */
  async begin(method: string, params: object = {}, init: RequestInit = {}): Promise<EventReader> {
    return new EventReader(await this.post({ id: this.#nextId++, method, params }, init));
  }

  /** The answer to a request, on whatever stream or none. */
  async request(method: string, params: object = {}): Promise<Message> {
    const id = this.#nextId++;
    const response = await this.post({ id, method, params });
    if (response.headers.get("content-type")?.startsWith("application/json") === true) {
      return (await response.json()) as Message;
    }
    for await (const { message } of eventsOf(response)) if (message?.["id"] === id) return message;
    throw new Error(`${method} was not answered: ${response.status}`);
  }

  call(name: string, args: object = {}): Promise<Message> {
    return this.request("tools/call", { name, arguments: args });
  }

  #check(message: Message): void {
    if (message["error"] !== undefined) throw new Error(JSON.stringify(message["error"]));
  }
}

/** The events of a stream, one by one. */
export class EventReader {
  readonly response: Response;
  readonly #events: AsyncGenerator<Event, void, undefined>;

  constructor(response: Response) {
    this.response = response;
    this.#events = eventsOf(response);
  }

  /** The next event with a message; undefined at the end. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const event = await this.any();
      if (event === undefined || event.message !== undefined) return event;
    }
  }

  /** The next event, be it one that only opens the stream. */
  async any(): Promise<Event | undefined> {
    const { done, value } = await this.#events.next();
    return done === true ? undefined : value;
  }

  async message(): Promise<Message | undefined> {
    return (await this.next())?.message;
  }

  /** All messages to the end. */
  async rest(): Promise<Message[]> {
    const messages: Message[] = [];
    for (let message = await this.message(); message !== undefined; message = await this.message()) {
      messages.push(message);
    }
    return messages;
  }
}

async function* eventsOf(response: Response): AsyncGenerator<Event, void, undefined> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string): string | undefined =>
        lines
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim();
      const data = field("data");
      if (data === undefined) continue; // a comment
      yield { id: field("id"), message: data === "" ? undefined : (JSON.parse(data) as Message) };
    }
  }
}
