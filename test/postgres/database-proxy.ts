import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/**
 * What becomes of the next COMMIT, whose client is cut off: it arrives, and its answer does not; it does not arrive; or it arrives when
 * the proxy is told to `deliver` it.
 */
export type LostCommit = "answer" | "commit" | "late";

const commit = Buffer.from("COMMIT\0");

/** Stands between a store and its database, and has the network fail. */
export class DatabaseProxy implements AsyncDisposable {
  readonly url: string;
  readonly #target: URL;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isSilent = false;
  #held: (() => void)[] = [];
  #loss: { readonly kind: LostCommit; readonly lost: () => void } | undefined;
  #passing = 0;

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
    const database = connect({ host: this.#target.hostname, port: Number(this.#target.port || 5432) });
    for (const socket of [client, database]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined); // the other end hears of it
      socket.once("close", () => this.#sockets.delete(socket));
    }
    client.once("close", () => this.#afterwards(() => database.end()));
    database.once("close", () => this.#afterwards(() => client.end()));
    database.on("data", (chunk: Buffer) => this.#afterwards(() => client.write(chunk)));
    client.on("data", (chunk: Buffer) => {
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
    database.resume();
    if (kind === "late") this.#held.push(() => database.write(chunk, () => database.end()));
    client.destroy();
    lost?.();
  }

  #afterwards(go: () => void): void {
    if (this.#isSilent) this.#held.push(go);
    else go();
  }
}
