import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { isJsonObject } from "../../src/generation/message.ts";

/** One HTTP request: its JSON-RPC method, `answer`, or `GET` or `DELETE`. */
export interface Passed {
  readonly what: string;
  readonly session: string | undefined;
}

/** Stands before an HTTP server and keeps what it passes on, after `hold` has resolved. */
export async function countingProxy(target: string, hold: () => Promise<void> = async () => undefined) {
  const passed: Passed[] = [];
  const pass = async (from: IncomingMessage, to: ServerResponse): Promise<void> => {
    const body = await buffer(from);
    const session = from.headers["mcp-session-id"];
    passed.push({ what: nameOf(from.method, body.toString()), session: session?.toString() });
    await hold();
    const forward = request(target, { method: from.method, headers: from.headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      to.flushHeaders();
      answer.on("error", () => to.destroy()).pipe(to);
    });
    to.on("close", () => forward.destroy());
    forward.on("error", () => to.destroy());
    forward.end(body);
  };
  const proxy = createServer((from, to) => void pass(from, to)).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`,
    passed,
    count: (what: string): number => passed.filter((each) => each.what === what).length,
  };
}

function nameOf(httpMethod = "", body: string): string {
  if (httpMethod !== "POST") return httpMethod;
  const message: unknown = JSON.parse(body);
  return isJsonObject(message) && typeof message["method"] === "string" ? message["method"] : "answer";
}
