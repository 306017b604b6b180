import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

test("a server whose writer thread has ended is not ready any more, says why, and stops", async () => {
  const heard: unknown[] = [];
  const tasks = createTasks({ store: sqliteStore(temp.path()), onError: (error) => heard.push(error) });
  const started = once(process, "worker") as Promise<[Worker]>;
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const http = await serveHttp(server, { port: 0 });
  onTestFinished(() => http.close());
  const ready = async (): Promise<number> => (await fetch(new URL("/readyz", http.url))).status;
  expect(await ready()).toBe(200);
  const [thread] = await started;
  await thread.terminate();
  await vi.waitFor(async () => expect(await ready()).toBe(503), { timeout: 20_000 });
  expect(heard[0]).toMatchObject({
    code: "store_lost",
    message: expect.stringContaining("The writer thread has ended") as string,
  });
});

test("what a handler does after the writer thread has ended is not tried again and again", async () => {
  const tasks = createTasks({ store: sqliteStore(temp.path()), onError: () => undefined });
  const [gate, stepped] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()];
  tasks.tool("works", {}, async (_, task) => {
    await gate.promise;
    await task.step("s", () => "done").then(stepped.resolve, stepped.resolve);
    return "done";
  });
  const started = once(process, "worker") as Promise<[Worker]>;
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const http = await serveHttp(server, { port: 0 });
  onTestFinished(() => http.close());
  const client = await connect(http.url);
  onTestFinished(() => client.close());
  await client.startTool("works", {});
  const [thread] = await started;
  await thread.terminate();
  gate.resolve();
  expect(await stepped.promise).toMatchObject({ name: "HoldfastError" });
});
