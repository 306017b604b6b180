import assert from "node:assert/strict";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { coreTask, unread } from "../load/phases.ts";
import { withTasks } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { listenParams, listenTo } from "../kit/subscription.ts";
import { as } from "./honest.ts";

const standard = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const modern = (method: string, name?: string): Record<string, string> => ({
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": name }),
});

/** Sends a request and resets its connection once it went out; resolves when that is closed. */
function reset(url: string, headers: object, message: object): Promise<void> {
  return new Promise((resolve) => {
    const sent = httpRequest(url, { method: "POST", agent: false, headers: { ...standard, ...headers } });
    sent.on("error", () => undefined).on("close", () => resolve());
    sent.end(JSON.stringify({ jsonrpc: "2.0", id: crypto.randomUUID(), ...message }), () =>
      sent.socket?.resetAndDestroy(),
    );
  });
}

/** Clients of hostile intent, who leave behind what they can. */
export class Hostile {
  readonly #url: string;
  /** What they hold on to from one round to the next. */
  #sockets: Socket[] = [];
  #unread: IncomingMessage[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  /** What they do in one round. Throws where anything that should be refused is not. */
  async round(): Promise<void> {
    const sockets = this.#sockets.splice(0);
    const responses = this.#unread.splice(0);
    await Promise.all([
      this.#resets(),
      this.#brokenWaits(),
      this.#unknownIds(),
      this.#tooLarge(),
      this.#neverRead(),
      this.#largeAnswers(),
      this.#floodOfSessions(),
      this.#halfOpen(),
    ]);
    for (const socket of sockets) socket.destroy();
    for (const response of responses) response.destroy();
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const response of this.#unread) response.destroy();
  }

  /** Calls that nobody waits for, in both eras. */
  async #resets(): Promise<void> {
    const session = await SessionClient.open(this.#url, { headers: as("mallory") });
    const inSession = { "mcp-session-id": session.sessionId, "mcp-protocol-version": "2025-11-25" };
    const call = { name: "naps", arguments: {} };
    await Promise.all(
      Array.from({ length: 5 }, async () => {
        await reset(
          this.#url,
          { ...modern("tools/call", "naps"), ...as("mallory") },
          { method: "tools/call", params: { ...listenParams({}, withTasks), ...call } },
        );
        await reset(this.#url, { ...inSession, ...as("mallory") }, { method: "tools/call", params: call });
      }),
    );
  }

  /** Waits for a result whose connections break, up to what a session may have and beyond. */
  async #brokenWaits(): Promise<void> {
    const session = await SessionClient.open(this.#url, { headers: as("mallory") });
    const taskId = await coreTask(session, "naps", {});
    for (let n = 0; n < 22; n++) {
      const leaving = new AbortController();
      const stream = await session.begin("tasks/result", { taskId }, { signal: leaving.signal });
      assert.ok([200, 429].includes(stream.response.status));
      leaving.abort();
    }
  }

  async #unknownIds(): Promise<void> {
    const peer = new StatelessClient(this.#url);
    const headers = as("mallory");
    for (let n = 0; n < 10; n++) {
      const { error } = await peer.send("tasks/get", { taskId: crypto.randomUUID() }, { headers });
      assert.equal(error?.code, -32_602);
    }
    const taskIds = Array.from({ length: 50 }, () => crypto.randomUUID());
    const leaving = new AbortController();
    await listenTo(
      this.#url,
      { taskIds },
      { headers, fetch: (to, init) => fetch(to, { ...init, signal: leaving.signal }) },
    );
    leaving.abort();
    const foreign = new SessionClient(this.#url, { headers });
    foreign.sessionId = crypto.randomUUID();
    assert.equal((await foreign.post({ id: 1, method: "ping" })).status, 404);
  }

  async #tooLarge(): Promise<void> {
    const send = async (body: string): Promise<number> => {
      const headers = { ...standard, ...modern("tools/call", "echo"), ...as("mallory") };
      const response = await fetch(this.#url, { method: "POST", headers, body });
      await response.text();
      return response.status;
    };
    assert.equal(await send(JSON.stringify({ x: "x".repeat(200_000) })), 413);
    assert.equal(await send(`[${"[],".repeat(10_000)}[]]`), 400);
  }

  /** Streams with much on them that nobody reads until the next round. */
  async #neverRead(): Promise<void> {
    const headers = as("mallory");
    const { result } = await new StatelessClient(this.#url).call("chats", {}, { headers });
    const params = listenParams({ taskIds: [result?.["taskId"]] });
    const listening = { ...modern("subscriptions/listen"), ...headers };
    for (let n = 0; n < 3; n++) {
      this.#unread.push(await unread(this.#url, listening, { method: "subscriptions/listen", params }));
    }
  }

  /** Answers that are more than all that may wait, on connections that stay. */
  async #largeAnswers(): Promise<void> {
    const params = { ...listenParams({}), name: "large", arguments: {} };
    const calls = Array.from({ length: 6 }, async () => {
      const calling = { ...modern("tools/call", "large"), ...as("mallory") };
      const response = await unread(this.#url, calling, { method: "tools/call", params });
      this.#unread.push(response);
    });
    await Promise.allSettled(calls); // a connection may be cut off before the head of its response is out
  }

  /** More sessions than a principal may have; those that have a place are never used. */
  async #floodOfSessions(): Promise<void> {
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const response = await new SessionClient(this.#url, { headers: as("eve") }).initialize();
        await response.text();
        return response.status;
      }),
    );
    assert.ok(statuses.every((status) => [200, 429, 503].includes(status)));
  }

  /** Connections on which half of a request comes, of its head or of its body. */
  async #halfOpen(): Promise<void> {
    const head = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
    const body = [...head, "Authorization: Bearer mallory", "Content-Length: 100", "", '{"jsonrpc":'];
    for (const lines of [head, body, head, body]) {
      const socket = connect(Number(new URL(this.#url).port), "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(lines.join("\r\n"));
      this.#sockets.push(socket);
    }
  }
}
