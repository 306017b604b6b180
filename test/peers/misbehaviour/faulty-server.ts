import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { linesFor, misbehaviours, type Misbehaviour } from "./misbehaviours.ts";

/** A server over HTTP with that fault. */
export async function faultyHttp(fault: Misbehaviour): Promise<{ readonly url: string } & AsyncDisposable> {
  const http = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method !== "POST") return response.writeHead(405).end();
      const lines = linesFor(JSON.parse(body) as object, fault);
      if (lines === "exit") return response.destroy();
      const [first] = lines;
      if (first === undefined) return response.writeHead(202).end();
      const isStream = lines.length > 1;
      response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
      return response.end(isStream ? lines.map((line) => `data: ${line}\n\n`).join("") : first);
    });
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

// As a program: a server over stdio with the fault whose number is its argument.
if (import.meta.main) {
  const fault = misbehaviours[Number(process.argv[2])];
  if (fault === undefined) throw new Error("no such fault");
  createInterface({ input: process.stdin }).on("line", (line) => {
    const lines = linesFor(JSON.parse(line) as object, fault);
    if (lines === "exit") process.exit(3);
    for (const each of lines) process.stdout.write(`${each}\n`);
  });
}
