import { Scopes } from "../../../src/server/auth/oauth-resource.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { text } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { listenTo } from "../../kit/subscription.ts";
import { metadataUrl, protectedServer, type ProtectedServer } from "./protected-server.ts";

let runs: string[] = [];
beforeEach(() => {
  runs = [];
});

function guarded(): Promise<ProtectedServer> {
  const tool = (name: string) => () => {
    runs.push(name);
    return text(name);
  };
  return protectedServer(
    {
      scopes: {
        required: ["mcp"],
        tools: { send: ["reports:send", "reports:read"], own: ["own"] },
        tasks: ["tasks"],
      },
    },
    {
      tools: (tasks) => {
        for (const name of ["send", "free"]) tasks.tool(name, {}, tool(name));
      },
      server: (mcp) => mcp.registerTool("own", {}, tool("own")),
    },
  );
}

function missing(...scopes: string[]): string {
  const error = `error="insufficient_scope", error_description="The token lacks a required scope"`;
  return `Bearer ${error}, scope="${scopes.join(" ")}", resource_metadata="${metadataUrl}"`;
}

function seen({ status, headers }: { status: number; headers: Headers }): [number, string | null] {
  return [status, headers.get("www-authenticate")];
}

describe("2026-07-28", () => {
  it("wants what every request needs before it looks at one", async () => {
    const { url, as } = await guarded();
    const answer = await new StatelessClient(url).send("tools/list", {}, await as("ann", "tasks other"));
    expect(seen(answer)).toEqual([403, missing("mcp")]);
    expect((await new StatelessClient(url).send("tools/list", {}, await as("ann", "mcp"))).status).toBe(200);
  });

  it("wants a tool's scopes, all of them, for a tool with tasks and one without", async () => {
    const { url, as } = await guarded();
    const peer = new StatelessClient(url);
    const needed = missing("mcp", "reports:send", "reports:read");
    for (const scope of ["mcp", "mcp reports:send", "mcp tasks reports:Send reports:read", "mcp reports"]) {
      expect(seen(await peer.call("send", {}, await as("ann", scope)))).toEqual([403, needed]);
    }
    expect(seen(await peer.call("own", {}, await as("ann", "mcp")))).toEqual([403, missing("mcp", "own")]);
    expect(runs).toEqual([]);
    await peer.start("send", {}, await as("ann", "mcp reports:send reports:read"));
    expect((await peer.call("own", {}, await as("ann", "mcp own"))).result).toMatchObject(text("own"));
    await peer.start("free", {}, await as("ann", "mcp"));
    const unknown = await peer.call("constructor", {}, await as("ann", "mcp"));
    expect([unknown.status, unknown.error?.code]).toEqual([200, -32602]);
  });

  it.each([
    ["tasks/get", { taskId: "x" }],
    ["tasks/update", { taskId: "x", inputResponses: {} }],
    ["tasks/cancel", { taskId: "x" }],
    ["tasks/result", { taskId: "x" }],
    ["tasks/list", {}],
    ["tasks/delete", { taskId: "x" }],
  ])("wants a scope for %s, whether there is such a task and method or not", async (method, params) => {
    const { url, as } = await guarded();
    const peer = new StatelessClient(url);
    expect(seen(await peer.send(method, params, await as("ann", "mcp")))).toEqual([
      403,
      missing("mcp", "tasks"),
    ]);
    expect((await peer.send(method, params, await as("ann", "mcp tasks"))).status).not.toBe(403);
  });

  it("wants it to listen to tasks, and not to listen to anything else", async () => {
    const { url, as } = await guarded();
    const { headers } = await as("ann", "mcp");
    for (const taskIds of [["x"], [], null, "x"]) {
      expect(seen(await listenTo(url, { taskIds }, { headers }))).toEqual([403, missing("mcp", "tasks")]);
    }
    const others = await listenTo(url, { toolsListChanged: true }, { headers });
    expect(others.status).toBe(200);
    await others.body?.cancel();
    const allowed = await listenTo(url, { taskIds: ["x"] }, await as("ann", "mcp tasks"));
    expect(allowed.status).not.toBe(403);
    await allowed.body?.cancel();
  });

  it.each([
    [{ "Mcp-Name": "free" }, "send"],
    [{ "Mcp-Method": "tools/list", "Mcp-Name": undefined }, "send"],
    [{ "Mcp-Method": "subscriptions/listen", "Mcp-Name": undefined }, "send"],
  ])("goes by the body, where headers say %j", async (headers, name) => {
    const { url, as } = await guarded();
    const { headers: authorization } = await as("ann", "mcp");
    const answer = await new StatelessClient(url).call(
      name,
      {},
      {
        headers: { ...headers, ...authorization },
      },
    );
    expect(answer.status).toBe(403);
    // Headers that say more than the body are refused, and carry nothing out.
    const more = { "Mcp-Name": "send", ...authorization };
    expect((await new StatelessClient(url).call("free", {}, { headers: more })).status).toBe(400);
    expect(runs).toEqual([]);
  });
});

describe("a session of 2025-11-25", () => {
  it("is opened only with what every request needs", async () => {
    const { url, as } = await guarded();
    const peer = new SessionClient(url, await as("ann", "tasks"));
    expect(seen(await peer.initialize())).toEqual([403, missing("mcp")]);
  });

  it("wants a tool's scopes, for a plain call and for one as a task", async () => {
    const { session } = await guarded();
    const peer = await session("ann", "mcp reports:send");
    const needed = [403, missing("mcp", "reports:send", "reports:read")];
    for (const params of [{ name: "send" }, { name: "send", task: {} }]) {
      expect(seen(await peer.post({ id: 9, method: "tools/call", params }))).toEqual(needed);
    }
    expect(runs).toEqual([]);
    expect(await peer.call("free")).toMatchObject({ result: text("free") });
    const allowed = await session("ann", "mcp reports:send reports:read");
    expect(await allowed.call("send")).toMatchObject({ result: text("send") });
  });

  it.each(["tasks/get", "tasks/result", "tasks/cancel", "tasks/list", "tasks/update", "tasks/delete"])(
    "wants a scope for %s",
    async (method) => {
      const { session } = await guarded();
      const peer = await session("ann", "mcp");
      const message = { id: 9, method, params: { taskId: "x" } };
      expect(seen(await peer.post(message))).toEqual([403, missing("mcp", "tasks")]);
      const allowed = await session("ann", "mcp tasks");
      expect(await allowed.request(method, { taskId: "x" })).not.toHaveProperty("status", 403);
    },
  );

  it("looks at every message of a batch, wherever it stands, and carries none of them out", async () => {
    const { url, as } = await guarded();
    const options = { version: "2025-03-26", ...(await as("ann", "mcp")) };
    const peer = await SessionClient.open(url, options);
    const of = (id: number, method: string, params: object): object => ({
      jsonrpc: "2.0",
      id,
      method,
      params,
    });
    const free = of(1, "tools/call", { name: "free" });
    const batches = [
      [free, of(2, "tools/call", { name: "own" })],
      [of(2, "tools/call", { name: "own" }), free],
      [free, of(2, "tools/call", { name: "own" }), of(3, "tasks/list", {})],
    ];
    const [first, second, third] = await Promise.all(batches.map((batch) => peer.post(batch)));
    for (const response of [first, second])
      expect(response && seen(response)).toEqual([403, missing("mcp", "own")]);
    expect(third && seen(third)).toEqual([403, missing("mcp", "own", "tasks")]);
    expect(runs).toEqual([]);
    const alone = await peer.post([free]);
    expect(await alone.text()).toContain("free");
  });

  it("counts the scopes of the token that a request brings, not those that the session began with", async () => {
    const { session, url, as } = await guarded();
    const { sessionId } = await session("ann", "mcp own");
    const less = new SessionClient(url, await as("ann", "mcp"));
    less.sessionId = sessionId;
    expect((await less.post({ id: 9, method: "tools/call", params: { name: "own" } })).status).toBe(403);
    const more = new SessionClient(url, await as("ann", "mcp own"));
    more.sessionId = sessionId;
    expect(await more.call("own")).toMatchObject({ result: text("own") });
  });

  it("may be without sessions, too", async () => {
    const { url, as } = await protectedServer({ scopes: { tasks: ["tasks"] } });
    const { headers } = await as("ann");
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/list", params: {} });
    const all = {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    expect((await fetch(url, { method: "POST", headers: all, body })).status).toBe(403);
  });
});

it("requires the scopes of the tasks methods for calls of polling tools", () => {
  const scopes = new Scopes({ tasks: ["tasks"], tools: { task_cancel: ["cancel"] } });
  const call = (name: unknown): object => ({ method: "tools/call", params: { name } });
  const isPollingTool = (name: string): boolean => name.startsWith("task_");
  expect([...scopes.neededFor(call("task_result"), isPollingTool)]).toEqual(["tasks"]);
  expect([...scopes.neededFor(call("task_cancel"), isPollingTool)]).toEqual(["tasks", "cancel"]);
  for (const name of ["job", 7]) expect([...scopes.neededFor(call(name), isPollingTool)]).toEqual([]);
});
