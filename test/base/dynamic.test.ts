import { McpServer, type McpServerOptions } from "@modelcontextprotocol/server";
import type { TaskClient } from "holdfast/client";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Message } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { expectReport, pipeBeside, revisions, serveBeside, text, type Revision } from "./beside-tasks.ts";

/** Each message of these says something of its own. */
const withParams = ["notifications/progress", "notifications/message", "notifications/tasks/status"];
const kinds = ["tools", "resources", "prompts"] as const;

/** A server whose tool `change` changes one tool, one resource and one prompt. */
function changing(): McpServer {
  const mcp = new McpServer({ name: "changing", version: "1.0.0" });
  const addAll = (name: string) => {
    const uri = `note://${name}`;
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: name } }];
    const tool = mcp.registerTool(name, { description: "first" }, () => text(name));
    const resource = mcp.registerResource(name, uri, { title: "first" }, () => ({
      contents: [{ uri, text: name }],
    }));
    const prompt = mcp.registerPrompt(name, { description: "first" }, () => ({ messages }));
    return { tool, resource, prompt };
  };
  const { tool, resource, prompt } = addAll("extra");
  const inputSchema = { how: z.enum(["disable", "enable", "remove", "update", "add"]) };
  mcp.registerTool("change", { inputSchema }, ({ how }) => {
    if (how === "add") {
      addAll("later");
    } else if (how === "update") {
      tool.update({ description: "second" });
      resource.update({ metadata: { title: "second" } });
      prompt.update({ description: "second" });
    } else {
      for (const item of [tool, resource, prompt]) item[how]();
    }
    return text(how);
  });
  return mcp;
}

/** A client on a pipe, where messages come in their order, and how often it was told that each list has changed. */
async function listening(
  factory: () => McpServer,
  protocolVersion: Revision,
): Promise<{ readonly client: TaskClient; readonly told: Record<(typeof kinds)[number], number> }> {
  const client = await pipeBeside(factory, { protocolVersion });
  const told = { tools: 0, resources: 0, prompts: 0 };
  for (const kind of kinds) {
    client.sdk.setNotificationHandler(`notifications/${kind}/list_changed`, () => void told[kind]++);
  }
  if (protocolVersion === "2026-07-28") {
    await client.sdk.listen({ toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true });
  }
  return { client, told };
}

async function listed(client: TaskClient, name: string): Promise<unknown[]> {
  const { sdk } = client;
  const lists = [
    (await sdk.listTools()).tools,
    (await sdk.listResources()).resources,
    (await sdk.listPrompts()).prompts,
  ];
  return lists.map((list) => list.find((item) => item.name === name));
}

const none = [undefined, undefined, undefined];

describe.each(revisions)("a server that changes on %s", (revision) => {
  it("tells of each change of tools, resources and prompts [B-030]", async () => {
    const { client, told } = await listening(changing, revision);
    const change = async (how: string): Promise<void> => {
      const before = { ...told };
      expect(await client.callTool("change", { how })).toMatchObject(text(how));
      for (const kind of kinds) expect([how, kind, told[kind] - before[kind]]).toEqual([how, kind, 1]);
    };
    await change("update");
    expect(await listed(client, "extra")).toMatchObject([
      { description: "second" },
      { title: "second" },
      { description: "second" },
    ]);
    await change("add");
    expect(await listed(client, "later")).toMatchObject([{ name: "later" }, { uri: "note://later" }, {}]);
    await change("disable");
    expect(await listed(client, "extra")).toEqual(none);
    await change("enable");
    expect(await client.callTool("extra")).toMatchObject(text("extra"));
    await change("remove");
    expect(await listed(client, "extra")).toEqual(none);
    await expectReport(client);
  });

  it("does not list what is disabled, and refuses to run it [B-031]", async () => {
    const { client } = await listening(changing, revision);
    await client.callTool("change", { how: "disable" });
    expect(await listed(client, "extra")).toEqual(none);
    for (const refused of [
      client.callTool("extra"),
      client.readResource("note://extra"),
      client.getPrompt("extra"),
    ]) {
      await expect(refused).rejects.toMatchObject({ code: "rpc" });
    }
    await expectReport(client);
  });

  it.each([
    [undefined, 5],
    ["notifications/tools/list_changed", 1],
  ])("with the debounced method %s tells of five changes in %i messages [B-032]", async (method, count) => {
    const factory = (): McpServer => {
      const mcp = debouncing(method === undefined ? [] : [method]);
      const tools = ["a", "b", "c", "d", "e"].map((name) => mcp.registerTool(name, {}, () => text(name)));
      mcp.registerTool("disable", {}, () => {
        for (const tool of tools) tool.disable();
        return text("disabled");
      });
      return mcp;
    };
    const { client, told } = await listening(factory, revision);
    await client.callTool("disable");
    expect(told.tools).toBe(count);
    await expectReport(client);
  });

  it("loses no message that says something, or belongs to a request, by debouncing [B-033]", async () => {
    const factory = (): McpServer => {
      const mcp = debouncing(withParams);
      mcp.registerTool("count", {}, async ({ mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken ?? "none";
        const steps = [1, 2, 3].map((progress) =>
          mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } }),
        );
        await Promise.all(steps);
        return text("counted");
      });
      return mcp;
    };
    const { client } = await listening(factory, revision);
    const heard: number[] = [];
    await client.callTool("count", {}, { onProgress: ({ progress }) => heard.push(progress) });
    expect(heard).toEqual([1, 2, 3]);
    await expectReport(client);
  });
});

it("tells of each task, and each line of a log, although their methods are named for debouncing [B-033]", async () => {
  const lines = ["again", "again", "again"];
  const { http } = await serveBeside(() => {
    const mcp = debouncing(withParams);
    mcp.registerTool("say", {}, async ({ mcpReq }) => {
      await Promise.all(lines.map((line) => mcpReq.log("info", line)));
      return text("said");
    });
    return mcp;
  });
  const peer = await SessionClient.open(http.url, { capabilities: { tasks: {} } });
  await peer.request("logging/setLevel", { level: "info" });
  const said = await (await peer.begin("tools/call", { name: "say", arguments: {} })).rest();
  const dataOf = ({ params }: Message): unknown => (params as Message)["data"];
  expect(said.filter(({ method }) => method === "notifications/message").map(dataOf)).toEqual(lines);

  const stream = await peer.listen();
  const call = { name: "report", arguments: { month: "2026-10" }, task: {} };
  const started = await Promise.all([1, 2, 3, 4, 5].map(() => peer.request("tools/call", call)));
  const open = new Set(started.map(({ result }) => (result as { task: { taskId: string } }).task.taskId));
  expect(open.size).toBe(5);
  while (open.size > 0) {
    const message = await stream.message();
    if (message?.["method"] !== "notifications/tasks/status") continue;
    const { taskId, status } = message["params"] as { taskId: string; status: string };
    if (status === "completed") open.delete(taskId);
  }
});

function debouncing(debouncedNotificationMethods: string[]): McpServer {
  const options: McpServerOptions = { debouncedNotificationMethods, capabilities: { logging: {} } };
  return new McpServer({ name: "debouncing", version: "1.0.0" }, options);
}

it("tells over HTTP, in a session and to whoever listens without one [B-030]", async () => {
  const served = await serveBeside(changing);
  const inSession = await served.connect("2025-11-25");
  const heard = new Set<string>();
  for (const kind of kinds) {
    inSession.sdk.setNotificationHandler(`notifications/${kind}/list_changed`, () => void heard.add(kind));
  }
  await inSession.callTool("change", { how: "disable" });
  await expect.poll(() => [...heard].toSorted()).toEqual(kinds.toSorted());
  const without = await served.connect("2026-07-28");
  const changed = Promise.withResolvers<void>();
  without.sdk.setNotificationHandler("notifications/prompts/list_changed", () => changed.resolve());
  await without.sdk.listen({ promptsListChanged: true });
  served.http.notify.promptsChanged();
  await changed.promise;
});
