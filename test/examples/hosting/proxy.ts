import { createServer, request } from "node:http";
import { listen } from "../../../src/server/http/listen.ts";
import type { AtEnd } from "../../docs/example-process.ts";

/** A reverse proxy as they are usually set up; resolves with the URL under which it has the server at `target`. */
export async function reverseProxy(target: URL, publicHost: string, atEnd: AtEnd): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const forwarded = { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https" };
    const headers = { ...incoming.headers, ...forwarded, host: publicHost, "x-forwarded-host": publicHost };
    const { method, url: path } = incoming;
    const upstream = request(
      { host: target.hostname, port: target.port, method, path, headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    upstream.on("error", () => outgoing.destroy());
    outgoing.once("close", () => {
      upstream.destroy();
      incoming.unpipe().resume(); // what is left of a request that was refused
    });
    incoming.pipe(upstream);
  });
  const port = await listen(proxy, "127.0.0.1", 0);
  atEnd(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return `http://127.0.0.1:${port}${target.pathname}`;
}
