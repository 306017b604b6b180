import type { Client } from "pg";

/** The pause after the first failed connection. It doubles up to the longest one. */
const firstRetryMs = 100;
const longestRetryMs = 10_000;
/** How long the server may take to close a connection (ms). */
const closeMs = 1_000;

export interface ListenSetup {
  readonly channel: string;
  /** Resolves with a separate, open connection. */
  readonly connect: () => Promise<Client>;
  /** Called when it starts to listen or listens again. Earlier notifications are lost. */
  readonly onOpen: () => void;
  readonly onLost: () => void;
  readonly onPayload: (payload: string) => void;
}

/** A connection that listens to one channel, and is replaced when it breaks. */
export class ListenConnection {
  readonly #setup: ListenSetup;
  #client: Client | undefined;
  #opening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #isListening = false;
  #isPooled = false;
  #heard: (() => void) | undefined;
  #isChecking = false;
  #closed = false;

  constructor(setup: ListenSetup) {
    this.#setup = setup;
    this.#open();
  }

  /** Resolves after the first try to connect. */
  async tried(): Promise<void> {
    await this.#opening;
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** Whether a pooler is between it and the server, which may give away the connection that listens. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** Whether something that is sent to the channel arrives within a time (ms). */
  async hears(send: () => Promise<unknown>, ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), ms);
    this.#heard = () => resolve(true);
    try {
      await send();
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#heard = undefined;
    }
  }

  /** Asks the server for a reply. A connection that did not reply to the previous check is gone; nothing else may show that. */
  check(): void {
    const client = this.#client;
    if (client === undefined || !this.#isListening) return;
    if (this.#isChecking) return this.#lost(client);
    this.#isChecking = true;
    client.query("SELECT").then(
      () => (this.#isChecking = false),
      () => this.#lost(client),
    );
  }

  /** Resolves when everything is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#isListening = false;
    clearTimeout(this.#timer);
    await Promise.all([this.#opening, this.#client && endClient(this.#client)]);
  }

  #open(): void {
    this.#opening = this.#listen().catch(() => this.#openLater());
  }

  async #listen(): Promise<void> {
    const client = await this.#setup.connect();
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    if (this.#closed) return endClient(client);
    this.#client = client;
    client.on("notification", ({ payload = "" }) => {
      if (this.#client !== client) return;
      this.#heard?.();
      this.#setup.onPayload(payload);
    });
    try {
      this.#isPooled = !(await isDirect(client));
      await client.query(`LISTEN ${client.escapeIdentifier(this.#setup.channel)}`);
    } catch {
      return this.#lost(client);
    }
    if (this.#closed || this.#client !== client) return;
    this.#failures = 0;
    this.#isListening = true;
    this.#setup.onOpen();
  }

  #lost(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#isListening = false;
    this.#isChecking = false;
    client.connection.stream.destroy();
    if (this.#closed) return;
    this.#setup.onLost();
    this.#openLater();
  }

  #openLater(): void {
    if (this.#closed) return;
    const pause = Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs);
    this.#timer = setTimeout(() => this.#open(), pause).unref();
  }
}

/** A pooler gives a connection a number of its own. */
async function isDirect(client: Client): Promise<boolean> {
  const { rows } = await client.query<[number]>({ text: "SELECT pg_backend_pid()", rowMode: "array" });
  return rows[0]?.[0] === (client as unknown as { readonly processID: number | null }).processID;
}

/** A server that does not answer delays this only briefly. */
async function endClient(client: Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), closeMs);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}
