import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/**
 * What becomes of the next COMMIT, whose client is cut off: it arrives, and its answer does not; it does not arrive; or it arrives when
 * the proxy is told to `deliver` it, alone or with the writes that were sent together with it.
 */
export type LostCommit = "answer" | "commit" | "late" | "late writes";

const commit = Buffer.from("COMMIT\0");
/** The bytes of its message before that: the type and the length. */
const headBytes = 5;
/** What ends the messages of a statement, and the answers to them. */
const sync = Buffer.from("S\0\0\0\x04");
const ready = Buffer.from("Z\0\0\0\x05");

function countOf(bytes: Buffer, part: Buffer): number {
  return bytes.toString("latin1").split(part.toString("latin1")).length - 1;
}

function replaced(bytes: Buffer, [from, to]: readonly [string, string]): Buffer {
  return Buffer.from(bytes.toString("latin1").replaceAll(from, to), "latin1");
}

/** Stands between a store and its database, and has the network fail. */
export class DatabaseProxy implements AsyncDisposable {
  readonly url: string;
  #target: URL;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isSilent = false;
  #refuses = false;
  #held: (() => void)[] = [];
  #loss: { readonly kind: LostCommit; readonly lost: () => void } | undefined;
  #passing = 0;
  #rewritten: readonly (readonly [string, string])[] = [];

  private constructor(url: string, target: URL, server: Server) {
    this.url = url;
    this.#target = target;
    this.#server = server;
    server.on("connection", (client: Socket) => this.#join(client));
  }

  static async before(database: string): Promise<DatabaseProxy> {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = new URL(database);
    url.hostname = "127.0.0.1";
    url.port = String((server.address() as AddressInfo).port);
    return new DatabaseProxy(url.href, new URL(database), server);
  }

  /** From now on nothing that is sent arrives, and nobody is told, until it speaks again. */
  fallSilent(): void {
    this.#isSilent = true;
  }

  speak(): void {
    this.#isSilent = false;
    this.deliver();
  }

  /** Where new connections lead from now on, as after a change of the address. Open ones stay. */
  lead(database: string): void {
    this.#target = new URL(database);
    this.#refuses = false;
  }

  /** Ends all connections, and refuses new ones until it leads somewhere. */
  refuse(): void {
    this.#refuses = true;
    this.cut();
  }

  /** Statements arrive with these texts instead, which have to be as long: the database seems to be one that does something else with them. */
  rewrite(...texts: readonly (readonly [string, string])[]): void {
    this.#rewritten = texts;
  }

  /** What was held back. */
  deliver(): void {
    for (const go of this.#held.splice(0)) go();
  }

  /** Ends all connections, at both ends. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves when it has happened to a COMMIT; so many before it pass, and all after it. */
  loseCommit(kind: LostCommit, passing = 0): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#loss = { kind, lost: resolve };
    this.#passing = passing;
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket): void {
    if (this.#refuses) return void client.destroy();
    const database = connect({ host: this.#target.hostname, port: Number(this.#target.port || 5432) });
    for (const socket of [client, database]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined); // the other end hears of it
      socket.once("close", () => this.#sockets.delete(socket));
    }
    client.once("close", () => this.#afterwards(() => database.end()));
    database.once("close", () => this.#afterwards(() => client.end()));
    database.on("data", (chunk: Buffer) => this.#afterwards(() => client.write(chunk)));
    client.on("data", (sent: Buffer) => {
      const chunk = this.#rewritten.reduce(replaced, sent);
      if (this.#loss !== undefined && chunk.includes(commit) && this.#passing-- === 0)
        this.#lose(client, database, chunk);
      else this.#afterwards(() => database.write(chunk));
    });
  }

  #lose(client: Socket, database: Socket, chunk: Buffer): void {
    const { kind, lost } = this.#loss ?? {};
    this.#loss = undefined;
    database.removeAllListeners("data");
    if (kind === "commit") database.destroy();
    client.removeAllListeners("close");
    if (kind === "answer") {
      database.on("data", (answer: Buffer) => {
        if (!answer.includes(commit)) return;
        client.destroy();
        database.destroy();
        lost?.();
      });
      database.write(chunk);
      return;
    }
    const over = (): void => {
      client.destroy();
      lost?.();
    };
    const held = kind === "late" ? chunk.indexOf(commit) - headBytes : 0;
    if (kind?.startsWith("late") === true)
      this.#held.push(() => database.write(chunk.subarray(held), () => database.end()));
    if (held <= 0) {
      database.resume();
      return over();
    }
    // The writes are done before anybody can ask what became of them.
    let missing = countOf(chunk.subarray(0, held), sync);
    database.on("data", (answer: Buffer) => {
      const before = missing;
      missing -= countOf(answer, ready);
      if (before > 0 && missing <= 0) over();
    });
    database.write(chunk.subarray(0, held));
  }

  #afterwards(go: () => void): void {
    if (this.#isSilent) this.#held.push(go);
    else go();
  }
}
