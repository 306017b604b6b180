import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { text, withTasks, withoutTasks } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

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
