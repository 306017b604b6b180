import { setTimeout as pause } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect, type TaskClientError } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import { fullForm } from "../full-form.ts";

const count = fullForm ? 200 : 20;

const cases = (["2026-07-28", "2025-11-25"] as const).flatMap((version) =>
  (["cancelOnAbort", "signal", "timeoutMs"] as const).map((by) => [version, by] as const),
);

/** The task that the error of a call names. */
function taskOf(error: unknown): string | undefined {
  const { reference } = (error ?? {}) as Partial<TaskClientError>;
  return reference?.taskId ?? undefined;
}

it.each(cases)(
  "leaves no task that nobody can name of calls that are aborted at once: %s, %s",
  { timeout: 60_000 },
  async (protocolVersion, by) => {
    const store = memoryStore();
    const tasks = createTasks({ store, stopDeadlineMs: 0 });
    tasks.tool("endless", {}, async (_args, task) => {
      await task.sleep("wait", 3_600_000);
      return "over";
    });
    const server = tasks.server(() => new McpServer({ name: "endless", version: "1.0.0" }));
    const http = await serveHttp(server, { port: 0, anonymous: "shared" });
    onTestFinished(async () => http.close());
    const client = await connect(http.url, { protocolVersion });
    onTestFinished(async () => client.close());

    const named = new Set<string>();
    const call = async (at: number): Promise<void> => {
      const afterMs = 1 + Math.random() * (at % 2 === 0 ? 40 : 400);
      const controller = new AbortController();
      const options =
        by === "timeoutMs"
          ? { timeoutMs: Math.ceil(afterMs) }
          : { signal: controller.signal, cancelOnAbort: by === "cancelOnAbort" };
      const ending = client.callTool("endless", {}, options).then(
        () => expect.fail("it has a result"),
        (error: unknown) => error,
      );
      await pause(afterMs);
      controller.abort(new Error("enough"));
      const id = taskOf(await ending);
      if (id !== undefined) named.add(id);
    };
    await Promise.all(Array.from({ length: count }, async (_, at) => call(at)));
    await vi.waitUntil(async () => (await store.unfinished("", 1_000)).every(({ id }) => named.has(id)), {
      timeout: 30_000,
    });
    // Those that are named can be reached.
    for (const taskId of named) {
      const reference = { server: http.url, generation: protocolVersion, taskId };
      await (await client.resume(reference)).cancel();
    }
    await vi.waitUntil(async () => (await store.unfinished("", 1_000)).length === 0, { timeout: 30_000 });
  },
);
