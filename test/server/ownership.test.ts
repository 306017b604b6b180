import type { Tasks } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { expect, it } from "vitest";
import * as z from "zod";
import { InMemorySession } from "../kit/in-memory-session.ts";
import { text } from "../kit/messages.ts";
import { startServer } from "../kit/server.ts";
import { type Sending, StatelessClient } from "../kit/stateless-client.ts";

const key = "holdfast/idempotencyKey";
const longKey = "k".repeat(22);

function tools(tasks: Tasks): void {
  tasks.tool("shout", { inputSchema: z.object({ word: z.string() }) }, ({ word }) => text(word));
}

const authenticate: Authenticate = async (request) => {
  const user = request.headers.get("authorization")?.replace("Bearer ", "");
  return user === "eve" ? { principal: "eve", authInfo: { token: "t", clientId: "c", scopes: [] } } : user;
};

const as = (user: string, sending: Sending = {}): Sending => ({
  ...sending,
  headers: { Authorization: `Bearer ${user}` },
});

it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
  "%s of another's task looks exactly like an unknown one [X-P-003 A-40 X-103]",
  async (method) => {
    const peer = await StatelessClient.of({ tools, http: { authenticate } });
    const taskId = await peer.start("shout", { word: "a" }, as("ann"));
    const inputResponses = {};
    const foreign = await peer.send(method, { taskId, inputResponses }, as("eve"));
    const unknown = await peer.send(method, { taskId: "unknown", inputResponses }, as("eve"));
    expect(foreign.error).toEqual(unknown.error);
    expect(foreign.error?.code).toBe(-32602);
    expect(foreign.status).toBe(unknown.status);
    expect((await peer.send(method, { taskId, inputResponses }, as("ann"))).error).toBeUndefined();
  },
);

it("hands the caller's authentication to the author's own tools", async () => {
  const peer = await StatelessClient.of({
    tools,
    http: { authenticate },
    server: (mcp) =>
      mcp.registerTool("whoami", {}, (context) => text(context.http?.authInfo?.clientId ?? "nobody")),
  });
  expect((await peer.call("whoami", {}, as("eve"))).result).toMatchObject(text("c"));
  expect((await peer.call("whoami", {}, as("ann"))).result).toMatchObject(text("nobody"));
});

it("finds the task of a call that is repeated under its idempotency key [A-48]", async () => {
  const peer = await StatelessClient.of({ tools, http: { authenticate } });
  const call = (user: string, word: string): Promise<string> =>
    peer.start("shout", { word }, as(user, { meta: { [key]: "order-7" } }));
  const first = await call("ann", "a");
  expect(await call("ann", "a")).toBe(first);
  expect(await call("bob", "a")).not.toBe(first);
  const other = await peer.call("shout", { word: "b" }, as("ann", { meta: { [key]: "order-7" } }));
  expect(other.error?.code).toBe(-32602);
});

it("asks for a key that cannot be guessed where nobody is told apart [A-48]", async () => {
  const peer = await StatelessClient.of({ tools });
  const short = await peer.call("shout", { word: "a" }, { meta: { [key]: "order-7" } });
  expect(short.error?.code).toBe(-32602);
  const first = await peer.start("shout", { word: "a" }, { meta: { [key]: longKey } });
  expect(await peer.start("shout", { word: "a" }, { meta: { [key]: longKey } })).toBe(first);
});

it("takes all callers for one, where told so [A-39]", async () => {
  const peer = await StatelessClient.of({ tools, http: { anonymous: "shared" } });
  const first = await peer.start("shout", { word: "a" }, { meta: { [key]: "order-7" } });
  expect(await peer.start("shout", { word: "a" }, { meta: { [key]: "order-7" } })).toBe(first);
});

it("does not run a tool twice that makes no task, when its call is repeated [A-48]", async () => {
  let runs = 0;
  const peer = await StatelessClient.of({
    tools: (tasks) => {
      tools(tasks);
      tasks.tool("direct", { task: "forbidden" }, () => text(String(++runs)));
    },
    server: (mcp) => mcp.registerTool("own", {}, () => text(String(++runs))),
  });
  const repeated = { meta: { [key]: longKey, "holdfast/repeat": true } };
  for (const tool of ["direct", "own"]) {
    const { error } = await peer.call(tool, {}, repeated);
    expect(error).toMatchObject({ code: -32602, data: { "holdfast/notRepeatable": true } });
  }
  expect(runs).toBe(0);
  expect(await peer.start("shout", { word: "a" }, repeated)).toBeTypeOf("string");
});

it.each(["idempotentHint", "readOnlyHint"])(
  "runs a tool without a task again that says it may run twice (%s), when its call is repeated",
  async (hint) => {
    const config = { task: "forbidden", annotations: { [hint]: true } } as const;
    const made = (tasks: Tasks): void => void tasks.tool("direct", config, () => text("ran"));
    const meta = { [key]: longKey, "holdfast/repeat": true };
    const peer = await StatelessClient.of({ tools: made });
    expect((await peer.call("direct", {}, { meta })).result).toMatchObject(text("ran"));
    const session = await InMemorySession.open((await startServer(made)).server);
    const call = { name: "direct", arguments: {}, _meta: meta };
    expect(await session.request("tools/call", call)).toMatchObject(text("ran"));
  },
);
