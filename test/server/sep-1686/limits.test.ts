import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { withTask } from "../../../src/generation/sep-1686.ts";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { about } from "./sep.ts";

function tools(tasks: Tasks): void {
  tasks.tool("add", {}, () => text("3"));
  tasks.tool("wait", {}, async (_, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return text("over");
  });
}

const http = { anonymous: "shared" } as const;
const limited = { error: { code: -32000 } };

async function open(options: Parameters<typeof serve>[0]["options"]): Promise<SessionClient> {
  const served = await serve({ tools, http, ...(options && { options }) });
  return SessionClient.open(served.http.url);
}

const call = (taskId: string, name = "add"): object => withTask({ name, arguments: {} }, { taskId });

it("bounds how many tasks one principal has at a time [S-090]", async () => {
  const peer = await open({ maxUnfinishedPerPrincipal: 1 });
  const reader = await peer.begin("tools/call", call("first", "wait"));
  expect(await reader.message()).toMatchObject({ method: "notifications/tasks/created" });
  expect(await peer.request("tools/call", call("second"))).toMatchObject(limited);
});

it("bounds the rates of calls, polls, lists and guesses [S-089]", async () => {
  const rates = { callsPerMinute: 2, pollsPerInterval: 2, listsPerMinute: 1, missesPerMinute: 2 };
  const peer = await open({ pollIntervalMs: 3_600_000, rates });
  await peer.request("tools/call", call("a"));
  await peer.request("resources/read", withTask({ uri: "test://a" }, { taskId: "b" }));
  expect(await peer.request("tools/call", call("c"))).toMatchObject({ error: { code: -32000 } });
  for (let i = 0; i < 2; i += 1) await peer.request("tasks/get", about("a"));
  expect(await peer.request("tasks/get", about("a"))).toMatchObject({ error: { code: -32000 } });
  await peer.request("tasks/list");
  expect(await peer.request("tasks/list")).toMatchObject({ error: { code: -32000 } });
  for (const method of ["tasks/result", "tasks/delete"]) await peer.request(method, about("nowhere"));
  for (const method of ["tasks/result", "tasks/delete"]) {
    expect(await peer.request(method, about("nowhere"))).toMatchObject({ error: { code: -32000 } });
  }
});

it("sends all of a task on the stream of its request, and the answers about it as JSON", async () => {
  const peer = await open({});
  const reader = await peer.begin("tools/call", call("mine"));
  const [created, answer, ...rest] = await reader.rest();
  expect(created).toMatchObject({ method: "notifications/tasks/created" });
  expect(answer).toMatchObject({ result: text("3") });
  expect(rest).toEqual([]);
  for (const method of ["tasks/get", "tasks/delete"]) {
    const response = await peer.post({ id: method, method, params: about("mine") });
    expect(response.headers.get("content-type")).toContain("application/json");
  }
});

it("ends the stream of a request that is cancelled, without an answer", async () => {
  const peer = await open({});
  const response = await peer.post({ id: 77, method: "tools/call", params: call("mine", "wait") });
  const body = response.text();
  await peer.post({ method: "notifications/cancelled", params: { requestId: 77 } });
  expect(await body).not.toContain('"result"');
  for (;;) {
    const { result } = await peer.request("tasks/get", about("mine"));
    if ((result as { status: string }).status === "cancelled") break;
  }
});
