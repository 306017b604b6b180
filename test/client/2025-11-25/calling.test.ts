import { expect, it } from "vitest";
import { sent, setUpCore, task, taskCapabilities, taskId, tool } from "./core-peer.ts";

const created = { result: { task: task("working") } };

it("calls with a task where server and tool take it, and may say for how long [C-017 C-018 C-020 C-021]", async () => {
  const { peer, client } = await setUpCore();
  peer.always("tools/list", {
    result: { tools: [tool("publish_report", "optional"), tool("long", "required")] },
  });
  peer.always("tools/call", created);
  await client.startTool("publish_report", { month: "2026-10" });
  const handle = await client.startTool("long", {}, { ttlMs: 60_000 });
  expect(handle.reference).toEqual({ server: "transport", generation: "2025-11-25", taskId });
  const [first, second] = peer.params("tools/call");
  expect(first).toMatchObject({ name: "publish_report", arguments: { month: "2026-10" }, task: {} });
  expect(second).toMatchObject({ name: "long", task: { ttl: 60_000 } });
  expect(peer.of("tools/list")).toHaveLength(1);
});

it("calls without a task where the tool takes none, or is not listed [C-015 C-D-003]", async () => {
  const { peer, client } = await setUpCore();
  peer.always("tools/list", {
    result: {
      tools: [
        tool("plain"),
        tool("never", "forbidden"),
        { ...tool("draft"), annotations: { taskHint: "never" } },
      ],
    },
  });
  peer.always("tools/call", { result: sent });
  for (const name of ["plain", "never", "draft", "hidden"]) expect(await client.callTool(name)).toEqual(sent);
  for (const params of peer.params("tools/call")) expect(params).not.toHaveProperty("task");
});

it.each([
  ["declares none", { tools: {} }, "2025-11-25"],
  ["has them for nothing that is called", { tools: {}, tasks: { list: {} } }, "2025-11-25"],
  [
    "says false, as a draft did",
    { tools: {}, tasks: { requests: { tools: { call: false } } } },
    "2025-11-25",
  ],
  ["speaks an earlier revision", taskCapabilities, "2025-06-18"],
])(
  "makes no tasks on a server that %s, whatever its tools say [C-007 C-008 C-009 C-014 C-D-002]",
  async (_, declared, version) => {
    const { peer, client } = await setUpCore({}, declared, version);
    peer.always("tools/call", { result: sent });
    const handle = await client.startTool("publish_report", {}, { ttlMs: 5 });
    expect(handle.reference).toBeNull();
    expect(await handle.result()).toEqual(sent);
    expect(peer.params("tools/call")[0]).not.toHaveProperty("task");
    expect(peer.of("tools/list")).toEqual([]);
  },
);

it("takes a plain result from a server that ignores the wish for a task", async () => {
  const { peer, client } = await setUpCore();
  peer.script("tools/call", { result: sent });
  expect(await client.callTool("publish_report")).toEqual(sent);
});

it("looks through all pages of the list, and again once the server says that it changed", async () => {
  const { peer, client } = await setUpCore();
  peer.script("tools/list", { result: { tools: [tool("a")], nextCursor: "2" } }, (params) => {
    expect(params).toEqual({ cursor: "2" });
    return { result: { tools: [tool("publish_report", "required")] } };
  });
  peer.always("tools/call", created);
  await client.startTool("publish_report");
  peer.always("tools/list", { result: { tools: [tool("publish_report", "forbidden")] } });
  peer.notify("notifications/tools/list_changed", {});
  peer.always("tools/call", { result: sent });
  await peer.settled(client);
  await client.startTool("publish_report");
  expect(peer.params("tools/call").map((params) => "task" in params)).toEqual([true, false]);
  expect(peer.of("tools/list")).toHaveLength(3);
});

it.each([
  ["required", "forbidden"],
  ["forbidden", "required"],
])("calls once in the other way when a tool that was %s is %s by now", async (before, after) => {
  const { peer, client } = await setUpCore();
  peer.script("tools/list", { result: { tools: [tool("publish_report", before)] } });
  peer.always("tools/list", { result: { tools: [tool("publish_report", after)] } });
  const refused = { error: { code: -32601, message: "Not like this" } };
  peer.script("tools/call", refused, after === "required" ? created : { result: sent });
  const handle = await client.startTool("publish_report");
  expect(handle.taskId).toBe(after === "required" ? taskId : null);
  peer.script("tools/call", refused);
  await expect(client.startTool("publish_report")).rejects.toMatchObject({
    code: "rpc",
    error: refused.error,
  });
  expect(peer.of("tools/call")).toHaveLength(3);
});

it("gives on what the server suggests to tell a model, and nothing where it suggests nothing [C-027]", async () => {
  const { peer, client } = await setUpCore();
  const _meta = { "io.modelcontextprotocol/model-immediate-response": "Rendering has begun." };
  peer.script("tools/call", { result: { task: task("working"), _meta } }, created);
  expect(await client.startTool("publish_report")).toMatchObject({
    immediateResponse: "Rendering has begun.",
  });
  const silent = await client.startTool("publish_report");
  expect(silent.immediateResponse).toBeUndefined();
});

it("hears of progress for as long as the task runs, and not after it [C-105 C-108 B-137]", async () => {
  const { peer, client } = await setUpCore();
  peer.script("tools/call", created);
  const reports: unknown[] = [];
  const handle = await client.startTool(
    "publish_report",
    {},
    { onProgress: (report) => reports.push(report) },
  );
  const meta = peer.params("tools/call")[0]?.["_meta"] as { progressToken: unknown };
  const report = (progress: number): void =>
    peer.notify("notifications/progress", {
      progressToken: meta.progressToken,
      progress,
      total: 3,
      message: "page",
    });
  report(1);
  peer.script("tasks/get", () => {
    report(2);
    return { result: task("completed") };
  });
  peer.script("tasks/result", { result: sent });
  await handle.result();
  report(3);
  await peer.settled(client);
  expect(reports).toEqual([1, 2].map((progress) => ({ progress, total: 3, message: "page" })));
});

it.each([
  [
    "throws",
    () => {
      throw new Error("mine");
    },
  ],
  ["rejects", async () => Promise.reject(new Error("mine"))],
])("hears of the progress of a plain call, and survives a listener that %s", async (_, fail) => {
  const { peer, client } = await setUpCore({}, { tools: {} });
  const faults: Error[] = [];
  client.sdk.onerror = (error) => faults.push(error);
  peer.script("tools/call", (params) => {
    const { progressToken } = params["_meta"] as { progressToken: unknown };
    for (const progress of [1, 2]) peer.notify("notifications/progress", { progressToken, progress });
    return { result: sent };
  });
  const reports: unknown[] = [];
  const onProgress = (report: unknown): unknown => {
    reports.push(report);
    return fail();
  };
  expect(await client.callTool("publish_report", {}, { onProgress })).toEqual(sent);
  expect(reports).toEqual([{ progress: 1 }, { progress: 2 }]);
  expect(faults).toHaveLength(2);
});

it("refuses a ttl that is no duration", async () => {
  const { client } = await setUpCore();
  await expect(client.startTool("publish_report", {}, { ttlMs: -1 })).rejects.toThrow(RangeError);
  await expect(client.startTool("publish_report", {}, { ttlMs: Infinity })).rejects.toThrow(RangeError);
});

it("speaks one version alone where it is told so, and says so when there is no such version", async () => {
  const { peer, client } = await setUpCore({ protocolVersion: "2025-11-25" });
  expect(client.sdk.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  expect(peer.of("server/discover")).toEqual([]);
  const other = setUpCore({ protocolVersion: "2025-11-25" }, {}, "2025-06-18");
  await expect(other).rejects.toMatchObject({ code: "protocol" });
  const unheard = "2023-01-01" as "2025-11-25";
  await expect(setUpCore({ protocolVersion: unheard })).rejects.toThrow(RangeError);
});

it("declares what it can answer in the handshake, and no extension that the revision does not have", async () => {
  const { peer } = await setUpCore({ onInput: async () => ({ action: "cancel" }) });
  expect(peer.params("initialize")[0]).toMatchObject({ protocolVersion: "2025-11-25" });
  const experimental = { "holdfast/taskLines": {} };
  expect(peer.params("initialize")[0]?.["capabilities"]).toEqual({ elicitation: { form: {} }, experimental });
});
