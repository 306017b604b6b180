import { memoryStore } from "holdfast/memory";
import type { TaskStore } from "holdfast/store";
import { HoldfastError } from "holdfast";
import { expect, it } from "vitest";
import { watchedStore } from "../runtime/watched-store.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

const said = "This store does not keep logs and outputs of tasks, which task.log and task.output need.";

/** A store as an author may write it, without what it may leave out. */
function withoutLogs(): TaskStore {
  const { logs, ...store } = watchedStore(memoryStore());
  expect(logs).toBeDefined();
  return store;
}

/** `fails` does not expect that nothing can be logged; `copes` says what it was refused with. */
async function served() {
  const { http, errors } = await serve({
    options: { store: withoutLogs() },
    http: { anonymous: "shared" },
    tools: (tasks) => {
      tasks.tool("fails", {}, async (_, task) => {
        await task.log("info", "begins");
        return text("done");
      });
      tasks.tool("reports", {}, async (_, task) => {
        task.progress(Number.NaN);
        await task.step("work", () => undefined);
        return text("done");
      });
      const copes = async (append: () => Promise<void>) => {
        try {
          await append();
          return text("appended");
        } catch (error) {
          return text(error instanceof HoldfastError ? `${error.code}: ${error.message}` : String(error));
        }
      };
      tasks.tool("logs", {}, (_, task) => copes(() => task.log("info", "begins")));
      tasks.tool("puts_out", {}, (_, task) => copes(() => task.output("page 1")));
      // Its task is made while it runs.
      tasks.tool("logs_early", { promoteAfterMs: 60_000 }, async (_, task) => {
        const early = await copes(() => task.log("info", "begins"));
        await task.step("go on", () => undefined);
        return early;
      });
    },
  });
  return { peer: new StatelessClient(http.url), url: http.url, errors };
}

it("fails a handler that appends and does not expect that, and says why", async () => {
  const { peer } = await served();
  const task = await peer.ended(await peer.start("fails"));
  expect(task).toMatchObject({ status: "failed", error: { code: -32_603, message: said } });
});

it("ends a task whose report had no place in a log either", async () => {
  const { peer, errors } = await served();
  const task = await peer.ended(await peer.start("reports"));
  expect(task).toMatchObject({ status: "completed", result: text("done") });
  expect(errors).toEqual([]);
});

it.each(["logs", "puts_out", "logs_early"])("lets a handler that does go on: %s", async (tool) => {
  const { peer } = await served();
  const task = await peer.ended(await peer.start(tool));
  expect(task).toMatchObject({ status: "completed", result: text(`configuration: ${said}`) });
});

it("says to whoever reads a task's log that there is none, and of another task nothing", async () => {
  const { peer, url, errors } = await served();
  const id = await peer.start("logs");
  const session = await SessionClient.open(url);
  const created = await session.request("tools/call", { name: "logs", task: {} });
  const { taskId } = (created["result"] as { task: { taskId: string } }).task;
  const inSession = async (uri: string) => (await session.request("resources/read", { uri }))["error"];
  const in2026 = async (uri: string) =>
    (await peer.send("resources/read", { uri }, { headers: { "Mcp-Name": uri } })).error;
  for (const [name, read] of [
    [id, in2026],
    [taskId, inSession],
  ] as const) {
    for (const list of ["log", "output?after=3"]) {
      const message = "The store of this server does not keep logs and outputs of tasks.";
      expect(await read(`task://${name}/${list}`)).toEqual({ code: -32_602, message });
    }
    const uri = "task://unknown/log";
    expect(await read(uri)).toEqual({ code: -32_602, message: `Resource not found: ${uri}`, data: { uri } });
  }
  expect(errors).toEqual([]);
});
