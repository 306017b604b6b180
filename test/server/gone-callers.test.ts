import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { text, withTasks, withoutTasks } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { watchedStore } from "../runtime/watched-store.ts";

it.each([withTasks, withoutTasks])(
  "begins no call whose client has left before, with %o",
  async (capabilities) => {
    const tasks = createTasks({ store: memoryStore() });
    let runs = 0;
    for (const task of ["optional", "forbidden"] as const) {
      tasks.tool(task, { task }, () => {
        runs += 1;
        return text("ran");
      });
    }
    await tasks.start();
    const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
    const handler = createFetchHandler(server, { allowedHosts: "any" });
    onTestFinished(async () => {
      await handler.close();
      await tasks.stop();
    });
    const url = "http://localhost/mcp";
    await new StatelessClient(url, (at, init) => handler.fetch(new Request(at, init))).call("forbidden");
    expect(runs).toBe(1);
    const statuses: number[] = [];
    const left = new StatelessClient(url, async (at, init) => {
      const request = new Request(at, { ...init, signal: AbortSignal.abort() });
      statuses.push((await handler.fetch(request)).status);
      return Response.json({});
    });
    await left.call("optional", {}, { capabilities });
    await left.call("forbidden", {}, { capabilities });
    expect({ runs, statuses }).toEqual({ runs: 1, statuses: [499, 499] });
  },
);

it("reads no task for a poll whose client has left, in any generation, and does what else it asked for", async () => {
  const unknown = "01a22759c305rqZG5UcWP36dEyiTYxK_UA"; // what is read for others is read of other ids
  let reads = 0;
  const store = watchedStore(memoryStore(), (call, id) => {
    if (id === unknown || call === "list") reads += 1;
  });
  const tasks = createTasks({ store, stopDeadlineMs: 100, rates: { pollsPerInterval: null } });
  tasks.tool("waits", {}, async (_, task) => {
    await task.sleep("for long", 3_600_000);
    return text("done");
  });
  await tasks.start();
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const handler = createFetchHandler(server, { allowedHosts: "any", anonymous: "shared" });
  onTestFinished(async () => {
    await handler.close();
    await tasks.stop();
  });
  let signal: AbortSignal | undefined;
  const send = async (at: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await handler.fetch(new Request(at, { ...init, ...(signal && { signal }) }));
    return signal === undefined ? response : Response.json({ status: response.status });
  };
  const url = "http://localhost/mcp";
  const peer = new StatelessClient(url, send);
  const session = await SessionClient.open(url, {}, send);
  const id = await peer.start("waits");
  const { result } = await session.request("tools/call", { name: "waits", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const poll = async (): Promise<number> => {
    reads = 0;
    await peer.send("tasks/get", { taskId: unknown });
    for (const method of ["tasks/get", "tasks/result", "tasks/list"])
      await session.post({ id: method, method, params: { taskId: unknown } });
    return reads;
  };
  expect(await poll()).toBeGreaterThanOrEqual(3);
  signal = AbortSignal.abort();
  expect(await poll()).toBe(0);
  await peer.send("tasks/cancel", { taskId: id });
  await session.post({ id: "cancel", method: "tasks/cancel", params: { taskId } });
  signal = undefined;
  expect((await peer.send("tasks/get", { taskId: id })).result).toMatchObject({ status: "cancelled" });
  expect(await session.request("tasks/get", { taskId })).toMatchObject({ result: { status: "cancelled" } });
});
