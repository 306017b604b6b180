import type { McpServer } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import * as z from "zod";
import { type Message, text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { type Event, EventStream, SessionClient } from "../kit/session-client.ts";

interface Scene {
  readonly peer: SessionClient;
  /** Lets the calls of that name go on. */
  readonly open: (name: string) => void;
}

const report = (name: string): object => ({
  name: "report",
  arguments: { name },
  _meta: { progressToken: name },
});

const named = z.object({ name: z.string() });

/** A durable tool and one of the author's own; both report progress and wait for the test. */
async function scene(): Promise<Scene> {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (name: string): PromiseWithResolvers<void> => {
    const known = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, known);
    return known;
  };
  const tools = (tasks: Tasks): void => {
    tasks.tool("durable", {}, async (_, task) => {
      task.progress(1, 2);
      await gate("durable").promise;
      return text("kept");
    });
  };
  const server = (mcp: McpServer): void => {
    mcp.registerTool("report", { inputSchema: named }, async ({ name }, { mcpReq }) => {
      const params = { progressToken: name, progress: 1 };
      await mcpReq.notify({ method: "notifications/progress", params });
      await gate(name).promise;
      return text(name);
    });
    mcp.registerTool("announce", {}, () => (mcp.sendToolListChanged(), text("announced")));
  };
  const { http } = await serve({ tools, server, http: { anonymous: "shared" } });
  const peer = await SessionClient.open(http.url, { capabilities: { elicitation: {}, tasks: {} } });
  return { peer, open: (name) => gate(name).resolve() };
}

/** All events to the end of a stream. */
async function eventsOf(stream: EventStream): Promise<Event[]> {
  const events: Event[] = [];
  for (let event = await stream.any(); event !== undefined; event = await stream.any()) events.push(event);
  return events;
}

function messagesOf(events: readonly Event[]): Message[] {
  return events.flatMap(({ message }): Message[] => (message === undefined ? [] : [message]));
}

const kindOf = ({ method, result }: Message): unknown =>
  method ?? (result === undefined ? "error" : "result");

it("come from one endpoint, which takes POST and GET and accepts without a body [B-058 B-062 B-083]", async () => {
  const { peer } = await scene();
  const stream = await peer.listen();
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
  expect(stream.response.url).toBe((await peer.post({ id: 1, method: "ping" })).url);
  const messages = [
    { method: "notifications/progress", params: { progressToken: "none", progress: 1 } },
    { id: "nothing-asked", result: {} },
    { id: "nothing-asked", error: { code: -32000, message: "no" } },
  ];
  for (const message of messages) {
    const accepted = await peer.post(message);
    expect([accepted.status, await accepted.text()]).toEqual([202, ""]);
  }
});

it("are not begun for what is no message, which gets an error without an id [B-063 B-064]", async () => {
  const { peer } = await scene();
  for (const body of ["{", '"ping"', "{}", '{"jsonrpc":"1.0","method":"ping"}']) {
    const refused = await peer.send("POST", { body });
    expect([body, refused.status]).toEqual([body, 400]);
    const answer = (await refused.json()) as Message;
    expect(answer).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) as unknown } });
    expect(answer["id"]).toBeNull();
  }
});

it("begin with an event without data, say all of one call, and end with its response [B-067 B-070 B-072 B-073 B-074 B-076]", async () => {
  const { peer, open } = await scene();
  const own = await peer.post({ id: "own", method: "tools/call", params: report("a") });
  open("a");
  const written = await own.text();
  // In the order in which it came: where to resume, how long to wait before, and only then what there is to say.
  expect(written).toMatch(/^(: [^\n]*\n\n)*id: \S+\nretry: \d+\ndata: \n\n/);
  const events = await eventsOf(new EventStream(new Response(written)));
  expect(events[0]).toEqual({ id: expect.any(String) as unknown, message: undefined });
  expect(events.slice(1).map(({ message }) => message)).toMatchObject([
    { method: "notifications/progress", params: { progressToken: "a" } },
    { id: "own", result: text("a") },
  ]);
});

it("have each message once, on the stream where it belongs [B-074 B-085 B-086 B-090 B-093 B-094]", async () => {
  const { peer, open } = await scene();
  const listening = await peer.listen();
  const started = await peer.request("tools/call", {
    name: "durable",
    arguments: {},
    task: {},
    _meta: { progressToken: "t" },
  });
  const { taskId } = (started["result"] as { task: { taskId: string } }).task;
  const calls = [await peer.begin("tools/call", report("a")), await peer.begin("tools/call", report("b"))];
  expect((await peer.call("announce"))["result"]).toMatchObject(text("announced"));
  const result = await peer.begin("tasks/result", { taskId });
  for (const name of ["b", "durable", "a"]) open(name);
  const waiting = await eventsOf(result);
  const streams = [...(await Promise.all(calls.map(eventsOf))), waiting];
  // Until the task has ended for the stream of the session too, and so has all that was said before.
  const session: Event[] = [];
  const isEnd = ({ params }: Message): boolean => (params as Message | undefined)?.["status"] === "completed";
  for (let event = await listening.any(); event !== undefined; event = await listening.any()) {
    session.push(event);
    if (event.message !== undefined && isEnd(event.message)) break;
  }
  const heard = streams.map(messagesOf);
  expect(heard.slice(0, 2)).toMatchObject([
    [{ params: { progressToken: "a" } }, { result: text("a") }],
    [{ params: { progressToken: "b" } }, { result: text("b") }],
  ]);
  expect(heard[2]?.at(-1)).toMatchObject({ result: text("kept") });
  const others = messagesOf(session);
  // Nothing of the calls is on the stream of the session, nor any response.
  expect(others.map(kindOf)).not.toContain("result");
  expect(JSON.stringify(others)).not.toMatch(/"progressToken":"[ab]"/);
  const changed = [...others, ...heard.flat()].filter(
    ({ method }) => method === "notifications/tools/list_changed",
  );
  expect(changed).toHaveLength(1);
  expect(others).toContainEqual(changed[0]);
  const all = [...streams, session].flat();
  const texts = messagesOf(all).map((message) => JSON.stringify(message));
  expect(new Set(texts).size).toBe(texts.length);
  // An id names its stream, and is of one event.
  const ids = all.flatMap(({ id }) => id ?? []);
  expect(ids).toHaveLength(all.length);
  expect(new Set(ids).size).toBe(ids.length);
  const nameOf = ({ id = "" }: Event): string => id.split("-").slice(0, 2).join("-");
  const names = [...streams, session].map((events) => new Set(events.map(nameOf)));
  for (const name of names) expect(name.size).toBe(1);
  expect(new Set(names.flatMap((name) => [...name])).size).toBe(4);
});
