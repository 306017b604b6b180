import type { McpServer } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import * as z from "zod";
import { tasksExtension, text, withTasks, withoutTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

const requiredTasks = { requiredCapabilities: { extensions: tasksExtension } };
let handled = 0;

function tools(tasks: Tasks): void {
  const inputSchema = z.object({ word: z.string() });
  tasks.tool("shout", { plain: "wait", inputSchema }, ({ word }) => text(word));
  tasks.tool("long", { task: "required", inputSchema }, () => (handled++, text("long")));
  tasks.tool("quick", { task: "forbidden" }, () => text("quick"));
  tasks.tool("asks", { plain: "wait", requires: ["elicitation"] }, () => text("asked"));
}

it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
  "%s needs the declaration on the message itself, before anything else counts [X-095 X-B-003 X-P-002 A-29]",
  async (method) => {
    const peer = await StatelessClient.of({ tools });
    const taskId = await peer.start("shout", { word: "a" });
    const inputResponses = {};
    for (const params of [
      { taskId, inputResponses },
      { taskId: "unknown", inputResponses },
      { taskId: "" },
    ]) {
      const { status, error } = await peer.send(method, params, {
        capabilities: withoutTasks,
        headers: { "Mcp-Name": params.taskId },
      });
      expect([status, error?.code, error?.data]).toEqual([400, -32021, requiredTasks]);
      expect(error?.message).not.toBe("");
    }
  },
);

it("refuses a tool that runs only as a task, even with bad arguments, and before its handler [X-009 X-010 A-29 A-34]", async () => {
  const peer = await StatelessClient.of({ tools });
  handled = 0;
  for (const args of [{ word: "a" }, { word: 7 }, undefined]) {
    const { status, error } = await peer.call("long", args, { capabilities: withoutTasks });
    expect([status, error?.code, error?.data]).toEqual([400, -32021, requiredTasks]);
  }
  expect(handled).toBe(0);
});

it("takes the older tasks capability for no declaration [X-P-014]", async () => {
  const peer = await StatelessClient.of({ tools });
  const legacy = { tasks: { requests: { tools: { call: {} } } } };
  expect((await peer.call("long", { word: "a" }, { capabilities: legacy })).error?.code).toBe(-32021);
  expect((await peer.call("shout", { word: "a" }, { capabilities: legacy })).result).toMatchObject(text("a"));
});

it("decides for each request by its own declaration [X-004 X-006 X-B-003 X-B-007]", async () => {
  const peer = await StatelessClient.of({ tools });
  await peer.start("shout", { word: "a" });
  const second = await peer.call("shout", { word: "a" }, { capabilities: withoutTasks });
  expect(second.result).toMatchObject({ resultType: "complete", ...text("a") });
  expect(second.result).not.toHaveProperty("taskId");
});

it("answers a tool that is never a task directly [X-004 A-34]", async () => {
  const peer = await StatelessClient.of({ tools });
  expect((await peer.call("quick")).result).toMatchObject({ resultType: "complete", ...text("quick") });
});

it("ignores the task param of the older generation [X-P-012]", async () => {
  const peer = await StatelessClient.of({ tools });
  const params = { name: "shout", arguments: { word: "a" }, task: { ttl: 1 } };
  const plain = await peer.result("tools/call", params, { capabilities: withoutTasks });
  expect(plain).toMatchObject({ resultType: "complete", ...text("a") });
  const task = await peer.result("tools/call", params);
  expect(task).toMatchObject({ resultType: "task", ttlMs: 86_400_000 });
});

it("refuses a tool whose questions its client cannot be asked, naming all that is missing [X-B-011 A-24]", async () => {
  const peer = await StatelessClient.of({ tools });
  const data = async (capabilities: object): Promise<unknown> => {
    const { status, error } = await peer.call("asks", {}, { capabilities });
    expect([status, error?.code]).toEqual([400, -32021]);
    return error?.data;
  };
  expect(await data({ extensions: tasksExtension })).toEqual({ requiredCapabilities: { elicitation: {} } });
  // Without the extension it is asked on its call, so that is all it lacks.
  expect(await data({})).toEqual({ requiredCapabilities: { elicitation: {} } });
  expect((await peer.call("asks", {}, { capabilities: withoutTasks })).result).toMatchObject(text("asked"));
  expect((await peer.call("asks", {}, { capabilities: withTasks })).result).toMatchObject({
    resultType: "task",
  });
});

const names = ({ tools: listed }: Record<string, unknown>): string[] =>
  (listed as { name: string }[]).map(({ name }) => name);

it("lists a tool that runs only as a task to those alone who can call it, unless told otherwise [A-34]", async () => {
  const capabilities = withoutTasks;
  const own = (mcp: McpServer): void => void mcp.registerTool("own", {}, () => text("own"));
  const peer = await StatelessClient.of({ tools, server: own });
  const all = await peer.result("tools/list");
  const some = await peer.result("tools/list", {}, { capabilities });
  expect(names(all)).toEqual(["own", "shout", "long", "quick", "asks"]);
  expect(names(some)).toEqual(["own", "shout", "quick", "asks"]);
  expect(some["cacheScope"]).toBe("private");

  const told = await StatelessClient.of({ tools, server: own, options: { listRequiredTools: true } });
  const listed = await told.result("tools/list", {}, { capabilities });
  expect([names(listed), listed["cacheScope"]]).toEqual([names(all), all["cacheScope"]]);
  expect((await told.call("long", {}, { capabilities })).error?.code).toBe(-32021);
});

it("keeps the pages of a list, and what they say of caches the same on each", async () => {
  const pages: Record<string, { tools: string[]; nextCursor?: string }> = {
    first: { tools: ["long"], nextCursor: "second" },
    second: { tools: ["shout", "own"] },
  };
  const inPages = (mcp: McpServer): void => {
    mcp.registerTool("own", {}, () => text("own"));
    const inputSchema = { type: "object" as const };
    mcp.server.removeRequestHandler("tools/list");
    mcp.server.setRequestHandler("tools/list", ({ params }) => {
      const page = pages[params?.cursor ?? "first"];
      return { ...page, tools: (page?.tools ?? []).map((name) => ({ name, inputSchema })) };
    });
  };
  const peer = await StatelessClient.of({ tools, server: inPages });
  const list = async (params: object, capabilities: object): Promise<Record<string, unknown>> =>
    peer.result("tools/list", params, { capabilities });
  const first = await list({}, withoutTasks);
  expect(first).toMatchObject({ tools: [], nextCursor: "second", cacheScope: "private" });
  const second = await list({ cursor: "second" }, withoutTasks);
  expect([names(second), second["cacheScope"]]).toEqual([["shout", "own"], "private"]);
  expect(second).not.toHaveProperty("nextCursor");
  expect(await list({}, withTasks)).toMatchObject({ tools: [{ name: "long" }], nextCursor: "second" });
});

it("lists all tools in earlier revisions, whose clients learn from the list which ones are tasks", async () => {
  const { http } = await serve({ tools });
  for (const version of ["2025-11-25", "2025-06-18"]) {
    const session = await SessionClient.open(http.url, { version, capabilities: {} });
    const { result } = await session.request("tools/list");
    expect(names(result as Record<string, unknown>)).toEqual(["shout", "long", "quick", "asks"]);
  }
});
