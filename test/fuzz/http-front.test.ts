import { once } from "node:events";
import { connect } from "node:net";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { assertNothingPolluted } from "./hostile-json.ts";
import { fuzzRuns, fuzzTimeoutMs } from "./fuzz-runs.ts";
import { front, type Front } from "./front.ts";
import { hostileRequest, rawRequest, type HostileRequest } from "./hostile-request.ts";

/** What came of a request, read until the server has shown by another one that it goes on. */
async function sent(url: string, request: HostileRequest): Promise<() => Promise<void>> {
  const leaving = new AbortController();
  const { method, headers, body } = request;
  const init = { method, headers: [...headers], signal: leaving.signal, ...(body !== undefined && { body }) };
  let response: Response;
  try {
    response = await fetch(url, init as RequestInit);
  } catch (error) {
    // What a client of HTTP does not let out, such as a header with a line break, reaches no server.
    if (error instanceof TypeError && error.cause === undefined) return async () => undefined;
    throw error;
  }
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  let seen = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for (;;) {
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return;
      seen += decoder.decode(chunk.value, { stream: true });
    }
  })().catch(() => undefined);
  if (response.headers.get("content-type")?.includes("event-stream") !== true) await reading;
  return async () => {
    leaving.abort();
    await reading;
    expect(response.status).toSatisfy((status: number) => status < 500 || status === 503);
    // The SDK answers params of its own methods that do not fit with -32603, and with what its schema says of them.
    expect(seen.replaceAll(/"code":-32603,"message":"\[/g, "")).not.toContain("-32603");
  };
}

async function assertServes({ url, errors }: Front): Promise<void> {
  expect((await new StatelessClient(url).call("greet", { name: "Ann" })).result).toMatchObject(
    text("hello Ann"),
  );
  expect(errors.splice(0)).toEqual([]);
  assertNothingPolluted();
}

describe("the HTTP front", { timeout: fuzzTimeoutMs }, () => {
  it.each([
    ["with sessions", true],
    ["without sessions", false],
  ])("answers whatever it is sent, and goes on: %s", async (_, sessions) => {
    const server = await front({ sessions });
    const session = await server.openSession();
    await fc.assert(
      fc.asyncProperty(
        fc.array(hostileRequest(session), { minLength: 1, maxLength: 12 }),
        async (requests) => {
          const checks = await Promise.all(requests.map((request) => sent(server.url, request)));
          await assertServes(server);
          for (const check of checks) await check();
        },
      ),
      fuzzRuns(80),
    );
  });

  it("takes whatever comes on its port for a request, a bad one or none, and goes on", async () => {
    const server = await front({ sessions: true });
    const { port, hostname } = new URL(server.url);
    await fc.assert(
      fc.asyncProperty(fc.array(rawRequest(port), { minLength: 1, maxLength: 8 }), async (requests) => {
        const sockets = requests.map((bytes) => {
          const socket = connect(Number(port), hostname);
          socket.on("error", () => undefined); // the server may break what is no HTTP
          socket.on("data", () => undefined);
          const written = new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
          return { socket, written };
        });
        await Promise.all(sockets.map(({ written }) => written));
        await assertServes(server);
        for (const { socket } of sockets) {
          if (socket.closed) continue;
          const closed = once(socket, "close");
          socket.destroy();
          await closed;
        }
        await assertServes(server);
      }),
      fuzzRuns(60),
    );
  });
});
