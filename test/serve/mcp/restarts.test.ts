import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TasksOptions, type Tasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { mcpUpstream } from "../../../src/serve/mcp/mcp-upstream.ts";
import { clientOf, gateway, until } from "./gateway.ts";

const deadline = 30_000;
const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** A server whose tools wait until the test lets them go on. */
class Upstream {
  calls = 0;
  readonly tasks: Tasks;
  url = "";
  close = async (): Promise<void> => undefined;
  #gate = Promise.withResolvers<string>();

  constructor(options: Partial<TasksOptions> = {}) {
    this.tasks = createTasks({ store: memoryStore(), pollIntervalMs: 50, ...options });
    this.tasks.tool("job", { onCrash: "resume", park: false }, async (_, task) => {
      this.calls++;
      const { content } = await task.elicit("go", { message: "Go?", requestedSchema: yesNo });
      return text(`went: ${JSON.stringify(content)}`);
    });
  }

  async start(port = 0): Promise<this> {
    const http = await serveHttp(
      this.tasks.server(() => {
        const server = new McpServer({ name: "upstream", version: "1.0.0" });
        const wait = async () => {
          this.calls++;
          return text(await this.#gate.promise);
        };
        server.registerTool("direct", {}, wait);
        server.registerTool("look", { annotations: { readOnlyHint: true } }, wait);
        return server;
      }),
      { port, anonymous: "shared" },
    );
    this.url = http.url;
    this.close = async () => http.close();
    onTestFinished(() => {
      this.go("too late");
      return http.close();
    });
    return this;
  }

  go(said: string): void {
    this.#gate.resolve(said);
  }
}

/** A user who does not answer. */
const never = () => new Promise<never>(() => undefined);

const yesNo = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "holdfast-gateway-"));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

it.each([
  ["2026-07-28", "2025-11-25"],
  ["2025-11-25", "2026-07-28"],
  ["2025-06-18", "2026-07-28"],
] as const)(
  "finds the upstream's task again after a restart of the gateway: %s there, %s here",
  { timeout: deadline },
  async (there, here) => {
    const upstream = await new Upstream().start();
    const database = join(await folder(), "tasks.db");
    const start = () =>
      gateway([mcpUpstream("up", { url: upstream.url, protocolVersion: there })], {
        store: sqliteStore(database),
      });
    const first = await start();
    const client = await clientOf(first, { protocolVersion: here, onInput: never });
    const { reference } = await client.startTool("job");
    await until(async () => (await first.tasks.admin.list({ states: ["input_required"] })).tasks.length > 0);
    await client.close();
    await first.close();
    const second = await clientOf(await start(), {
      protocolVersion: here,
      serverName: reference?.server ?? "",
      onInput: async () => ({ action: "accept", content: { ok: true } }),
    });
    const handle = await second.resume(reference);
    expect(await handle.result()).toMatchObject(text('went: {"ok":true}'));
    expect(upstream.calls).toBe(1);
  },
);

it(
  "fails honestly if a restart loses the answer to a direct call, and makes one again that only reads",
  { timeout: deadline },
  async () => {
    const upstream = await new Upstream().start();
    const database = join(await folder(), "tasks.db");
    const start = () =>
      gateway([mcpUpstream("up", { url: upstream.url })], {
        store: sqliteStore(database),
        stopDeadlineMs: 50,
      });
    const first = await start();
    const client = await clientOf(first);
    const direct = await client.startTool("direct");
    const look = await client.startTool("look");
    await until(() => upstream.calls === 2);
    await client.close();
    await first.close();
    const second = await clientOf(await start(), { serverName: direct.reference?.server ?? "" });
    await until(() => upstream.calls === 3);
    upstream.go("looked");
    const lost = await (await second.resume(direct.reference)).result();
    expect(lost).toMatchObject({ isError: true });
    expect(JSON.stringify(lost)).toContain("not known whether the call had an effect");
    expect(await (await second.resume(look.reference)).result()).toMatchObject(text("looked"));
    expect(upstream.calls).toBe(3);
  },
);

it("waits through a restart of the upstream", { timeout: deadline }, async () => {
  const store = join(await folder(), "upstream.db");
  const upstream = await new Upstream({ store: sqliteStore(store) }).start();
  const { url } = upstream;
  const client = await clientOf(await gateway([mcpUpstream("up", { url })]), {
    onInput: async () => {
      await asked.promise;
      return { action: "accept", content: { ok: true } };
    },
  });
  const asked = Promise.withResolvers<void>();
  const result = client.callTool("job");
  await until(() => upstream.calls === 1);
  await upstream.close();
  await new Upstream({ store: sqliteStore(store) }).start(Number(new URL(url).port));
  asked.resolve();
  expect(await result).toMatchObject(text('went: {"ok":true}'));
});

it("cancels the upstream's task with its own", { timeout: deadline }, async () => {
  const upstream = await new Upstream().start();
  const client = await clientOf(await gateway([mcpUpstream("up", { url: upstream.url })]), {
    onInput: never,
  });
  const handle = await client.startTool("job");
  await until(() => upstream.calls === 1);
  await handle.cancel();
  await until(async () => (await upstream.tasks.admin.list({ states: ["cancelled"] })).tasks.length === 1);
});
