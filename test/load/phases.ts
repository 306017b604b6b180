import { request as httpRequest, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { Message } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { listenTo } from "../kit/subscription.ts";

/** Something that many clients do at once. Throws where anything is lost or answered wrongly. */
export type Phase = (url: string, scale: number) => Promise<void>;

const many = (count: number): number[] => Array.from({ length: Math.max(1, Math.round(count)) }, (_, n) => n);

function assert(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

const textOf = (result: unknown): string =>
  (result as { content?: readonly [{ text: string }] } | undefined)?.content?.[0].text ?? "";

async function assertEnds(url: string, id: string, text: string): Promise<void> {
  const task = await new StatelessClient(url).ended(id);
  assert(
    textOf(task["result"]) === text,
    `Task ${id} has lost its result: ${JSON.stringify(task).slice(0, 200)}`,
  );
}

export async function coreTask(session: SessionClient, name: string, args: object): Promise<string> {
  const answer = await session.request("tools/call", { name, arguments: args, task: {} });
  const created = answer["result"] as { task: { taskId: string } } | undefined;
  assert(created !== undefined, `No task: ${JSON.stringify(answer)}`);
  return created.task.taskId;
}

/** Every acknowledged id ends with its own result, in both eras. */
const parallelCreates: Phase = async (url, scale) => {
  const session = await SessionClient.open(url);
  await Promise.all(
    many(500 * scale).map(async (n) => {
      const peer = new StatelessClient(url);
      if (n % 5 === 0) {
        const id = await coreTask(session, "echo", { say: `core ${n}` });
        const result = await session.request("tasks/result", { taskId: id });
        assert(textOf(result["result"]) === `core ${n}`, `Task ${id} has lost its result.`);
      } else {
        await assertEnds(url, await peer.start("echo", { say: `extension ${n}` }), `extension ${n}`);
      }
    }),
  );
  await session.send("DELETE");
};

/** Opened, acknowledged and dropped, two hundred at a time; the last ones can still be opened. */
const droppedListeners: Phase = async (url, scale) => {
  const id = await new StatelessClient(url).start("naps");
  for (let left = 2_000 * scale; left > 0; left -= 200) {
    await Promise.all(
      many(Math.min(left, 200)).map(async (n) => {
        const leaving = new AbortController();
        const send = (to: string, init: RequestInit): Promise<Response> =>
          fetch(to, { ...init, signal: leaving.signal });
        const response = await listenTo(
          url,
          { taskIds: [id], toolsListChanged: n % 2 === 0 },
          { id: n, fetch: send },
        );
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        const { value } = await reader.read();
        const first = new TextDecoder().decode(value);
        assert(first.includes("acknowledged"), `Listening was refused: ${response.status} ${first}`);
        leaving.abort();
        await reader.read().catch(() => undefined);
      }),
    );
  }
};

/** A response that nobody reads. */
export async function unread(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): Promise<IncomingMessage> {
  const sent = httpRequest(url, {
    method: "POST",
    agent: false,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
  });
  sent.on("error", () => undefined);
  sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.pause();
  response.on("error", () => undefined);
  return response;
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

const unreadExtension = (
  url: string,
  method: string,
  params: object,
  name?: string,
): Promise<IncomingMessage> => {
  const headers = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": name }),
  };
  return unread(url, headers, { method, params: { ...params, _meta: meta } });
};

/** Clients that never read, of streams with much on them and of large results; the tasks go on and end. */
const slowReaders: Phase = async (url, scale) => {
  const peer = new StatelessClient(url);
  const big = await peer.start("big", { bytes: 5_000_000 });
  await assertEnds(url, big, "x".repeat(5_000_000));
  const session = await SessionClient.open(url);
  const bigInCore = await coreTask(session, "big", { bytes: 5_000_000 });
  const chatty = await peer.start("chats", { times: 500 * scale });
  const inSession = { "mcp-session-id": session.sessionId ?? "", "mcp-protocol-version": "2025-11-25" };
  const responses = await Promise.all(
    many(20 * scale).flatMap(() => [
      unreadExtension(url, "subscriptions/listen", { notifications: { taskIds: [chatty] } }),
      unreadExtension(url, "tasks/get", { taskId: big }, big),
      unread(url, inSession, {
        id: crypto.randomUUID(),
        method: "tasks/result",
        params: { taskId: bigInCore },
      }),
    ]),
  );
  await assertEnds(url, chatty, "said");
  for (const response of responses) response.destroy();
  await session.send("DELETE");
};

/** Five megabytes, whole, in both eras. */
const largeResults: Phase = async (url, scale) => {
  for (const n of many(6 * scale)) {
    const text = "x".repeat(5_000_000 + n);
    await assertEnds(url, await new StatelessClient(url).start("big", { bytes: text.length }), text);
    const session = await SessionClient.open(url);
    const taskId = await coreTask(session, "big", { bytes: text.length });
    const result = await session.request("tasks/result", { taskId });
    assert(textOf(result["result"]) === text, `Task ${taskId} has lost its result.`);
    await session.send("DELETE");
  }
};

/** Many clients that ask for the same tasks as fast as they can, and for ones that are not there. */
const pollStorm: Phase = async (url, scale) => {
  const session = await SessionClient.open(url);
  const id = await new StatelessClient(url).start("naps");
  const core = await coreTask(session, "naps", {});
  await Promise.all(
    many(30).map(async () => {
      const peer = new StatelessClient(url);
      for (const n of many(60 * scale)) {
        const task = await peer.get(id);
        assert(task["status"] === "working", `The task is lost: ${JSON.stringify(task)}`);
        const other = (await session.request("tasks/get", { taskId: core }))["result"] as Message;
        assert(other["status"] === "working", `The task is lost: ${JSON.stringify(other)}`);
        if (n % 10 === 0) await peer.send("tasks/get", { taskId: "unknown" });
      }
    }),
  );
  await session.send("DELETE");
};

/** Sessions that are opened, listened to and left; more than may be open at once, so that they have to end. */
const abandonedSessions: Phase = async (url, scale) => {
  for (let left = 1_000 * scale; left > 0; left -= 50) {
    await Promise.all(
      many(Math.min(left, 50)).map(async (n) => {
        const peer = new SessionClient(url);
        for (;;) {
          const opened = await peer.initialize();
          await opened.text();
          peer.sessionId = opened.headers.get("mcp-session-id") ?? undefined;
          if (opened.status !== 503) break; // no place yet
        }
        if (n % 2 === 0) return;
        const leaving = new AbortController();
        const stream = await peer.listen(undefined, { signal: leaving.signal });
        leaving.abort();
        await stream.any().catch(() => undefined);
      }),
    );
  }
};

export const phases: Readonly<Record<string, Phase>> = {
  "parallel creates": parallelCreates,
  "listeners that are dropped": droppedListeners,
  "readers that never read": slowReaders,
  "large results": largeResults,
  "a storm of polls": pollStorm,
  "sessions that are abandoned": abandonedSessions,
};
