import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { ResponseParser, type Reply } from "./response-parser.ts";

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/** A server that is silent for this long has lost a request, so there is no figure. */
const patienceMs = 15_000;

/**
 * One keep-alive connection with one request at a time. It writes prepared bytes and parses as little as possible, because the load
 * generator shares the machine with the measured server.
 */
export class Connection {
  /** Bytes that servers have sent on connections that are closed. */
  static received = 0;
  readonly #socket: Socket;
  readonly #parser: ResponseParser;
  #waiting: Waiting | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#parser = new ResponseParser((reply) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(reply);
    });
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.setTimeout(patienceMs, () =>
      socket.destroy(new Error(`The server sent nothing for ${patienceMs} ms.`)),
    );
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("The server closed the connection.")));
  }

  static async to(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    await once(socket, "connect");
    return new Connection(socket);
  }

  /** Opens `count` connections, works with them, and closes them. */
  static with<T>(url: string, count: number, work: (all: Connection[]) => Promise<T>): Promise<T> {
    return Connection.withEach([url], count, (all) => work(all.map(({ connection }) => connection)));
  }

  static withOne<T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    return Connection.withEach([url], 1, ([one]) => {
      if (one === undefined) throw new Error("No connection is open.");
      return work(one.connection);
    });
  }

  /** The same with connections spread over several servers. */
  static async withEach<T>(
    urls: readonly string[],
    count: number,
    work: (all: readonly { readonly connection: Connection; readonly url: string }[]) => Promise<T>,
  ): Promise<T> {
    const all = await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const url = urls[n % urls.length] ?? "";
        return { connection: await Connection.to(url), url };
      }),
    );
    try {
      return await work(all);
    } finally {
      for (const { connection } of all) connection.close();
    }
  }

  /** Sends the bytes of one request; resolves with its response. */
  send(request: Buffer): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  /** Passes the body of the response to `onChunk` as it arrives; resolves when it ends, rejects if the connection does. */
  stream(request: Buffer, onChunk: (chunk: Buffer) => void): Promise<Reply> {
    this.#parser.onChunk = onChunk;
    return this.send(request);
  }

  close(): void {
    Connection.received += this.#socket.bytesRead;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    try {
      this.#parser.read(chunk);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      this.#socket.destroy();
    }
  }

  #fail(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }
}
