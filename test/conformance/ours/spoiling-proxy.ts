import { createServer } from "node:http";
import { Readable } from "node:stream";

/** Passes requests on to a server, and its answers back with a fault in them, to prove that scenarios find it. */
export class SpoilingProxy implements AsyncDisposable {
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  /** `spoil` gets each piece of an answer as it comes. Messages are small, and come whole. */
  static async before(serverUrl: string, spoil: (text: string) => string): Promise<SpoilingProxy> {
    const proxy = createServer((request, response) => {
      const left = new AbortController();
      response.once("close", () => left.abort());
      const { method = "GET", headers } = request;
      const sent = Object.entries(headers).filter(
        ([name]) => !["host", "connection", "content-length"].includes(name),
      );
      fetch(serverUrl, {
        method,
        headers: sent.map(([name, value]): [string, string] => [name, String(value)]),
        body: method === "POST" ? Readable.toWeb(request) : null,
        duplex: "half",
        signal: left.signal,
      })
        .then(async ({ status, headers: answered, body }) => {
          const passed = [...answered].filter(
            ([name]) => !["content-length", "connection", "transfer-encoding"].includes(name),
          );
          response.writeHead(status, Object.fromEntries(passed));
          response.flushHeaders();
          for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? [])
            response.write(spoil(text));
          response.end();
        })
        .catch(() => response.destroy());
    });
    await new Promise<void>((ready) => proxy.listen(0, "127.0.0.1", ready));
    const address = proxy.address();
    if (address === null || typeof address === "string") throw new Error("No port is free");
    const close = async (): Promise<void> => {
      const closed = new Promise((done) => proxy.close(done));
      proxy.closeAllConnections();
      await closed;
    };
    return new SpoilingProxy(`http://127.0.0.1:${address.port}${new URL(serverUrl).pathname}`, close);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}
