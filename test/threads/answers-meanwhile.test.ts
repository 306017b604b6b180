import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, worker } from "holdfast";
import { connect } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import type * as exports from "./work.ts";

const work = worker<typeof exports>(new URL("./work.ts", import.meta.url));
const requests = 100;

it("answers requests while a step computes that only they can end", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-meanwhile-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [file, until] = [join(folder, "begun"), join(folder, "go")];
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("compute", {}, (_, task) =>
    task.step("compute", { worker: work, export: "computing" }, { file, until }),
  );
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "test", version: "1.0.0" })),
    { port: 0 },
  );
  onTestFinished(() => http.close());
  const client = await connect(http.url);
  onTestFinished(() => client.close());
  const call = client.callTool("compute", {});
  await vi.waitUntil(() => readFile(file, "utf8").catch(() => ""), { timeout: 60_000 });
  for (let n = 0; n < requests; n++) expect((await fetch(new URL("/healthz", http.url))).status).toBe(200);
  await writeFile(until, ""); // until now the thread has computed without a pause
  expect((await call).content).toEqual([{ type: "text", text: "computed" }]);
});
