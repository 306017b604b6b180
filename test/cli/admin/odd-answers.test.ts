import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { createTasks } from "holdfast";
import { adminToken, serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { changed, controls, oddValue } from "../odd-values.ts";
import { folder } from "../run-cli.ts";
import { runMain } from "../run-main.ts";

const token = "of-the-operators-0123456789";
const env = { HOLDFAST_ADMIN_TOKEN: token };

/** The admin endpoint of a server with a task that failed, whose answers go through `change`. */
async function endpoint(change: (answer: unknown) => unknown): Promise<string> {
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("load", { description: "Loads", inputSchema: z.object({}) }, async (_, task) => {
    await task.step("look", () => 1);
    throw new Error("no tape");
  });
  const admin = { path: "/admin", authenticate: adminToken(token, "on-call") };
  const server = tasks.server(() => new McpServer({ name: "s", version: "1" }));
  const real = await serveHttp(server, { port: 0, anonymous: "shared", admin });
  onTestFinished(() => real.close());
  await runMain(["call", real.url, "load"], { env: { HOLDFAST_STATE: await folder() } });
  const http = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const sent = await text(request);
      const { method = "GET", url = "/" } = request;
      const got = await fetch(new URL(url, real.url), {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(sent !== "" && { body: sent }),
      });
      const body = await got.text();
      response.writeHead(got.status, { "content-type": "application/json" });
      response.end(got.ok && body !== "" ? JSON.stringify(change(JSON.parse(body))) : body);
    };
    answer().catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => void http.close());
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/admin`;
}

const commands = [
  "list",
  "show ID",
  "counts",
  "failures load",
  "incidents",
  "webhooks",
  "actions",
  "activity",
  "callers",
  "latency load",
  "nodes",
  "sessions",
  "top --once",
  "pause load",
  "retry ID",
  "retry --all --dry-run",
  "bulk JOB",
];

it("prints whatever an admin endpoint answers, and never takes it for a fault of its own", async () => {
  let faults: readonly { readonly path: readonly number[]; readonly value: unknown }[] = [];
  const change = (answer: unknown): unknown =>
    faults.reduce<unknown>((before, { path, value }) => changed(before, path, value), answer);
  const url = await endpoint(change);
  const listed = await runMain(["admin", url, "list"], { env });
  const [id = ""] = listed.stdout.split("\t");
  const previewed = await runMain(["admin", url, "retry", "--all", "--dry-run", "--json"], { env });
  const { job } = JSON.parse(previewed.stdout) as { readonly job: string };
  const run = fc.asyncProperty(
    fc.constantFrom(...commands),
    fc.array(fc.record({ path: fc.array(fc.nat(20), { maxLength: 4 }), value: oddValue }), {
      minLength: 1,
      maxLength: 3,
    }),
    fc.constantFrom<readonly string[]>([], ["--json"]),
    fc.constantFrom(undefined, 80),
    async (command, given, json, columns) => {
      faults = given;
      const words = command.split(" ").map((word) => (word === "ID" ? id : word === "JOB" ? job : word));
      const ended = await runMain(["admin", url, ...words, ...json], { env, ...(columns && { columns }) });
      if (ended.code === 70) throw new Error(`exit code 70: ${ended.stderr}${ended.stdout}`);
      if (columns !== undefined) expect(ended.stdout).not.toMatch(controls);
      expect(ended.stderr).not.toMatch(controls);
    },
  );
  faults = [{ path: [], value: { tasks: 5 } }];
  expect(await runMain(["admin", url, "list"], { env })).toMatchObject({
    code: 6,
    stderr: expect.stringContaining("(list: tasks must be a list, not 5)") as string,
  });
  await fc.assert(run, { numRuns: Number(process.env["HOLDFAST_RUNS"] ?? 100) });
});
