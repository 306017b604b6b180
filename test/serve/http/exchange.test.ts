import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { exchange } from "../../../src/serve/http/exchange.ts";
import { Sender } from "../../../src/serve/http/send.ts";
import type { ToolSource } from "../../../src/serve/source.ts";
import { clientOf, gateway, until } from "../mcp/gateway.ts";
import { json, service } from "../openapi/jobs.ts";

const sender = new Sender(["127.0.0.1"]);

/** Tools whose calls are one request to the service. */
function requests(url: string): ToolSource {
  const tool = (name: string, mayRepeat: boolean) => ({
    name,
    config: { onCrash: "resume" as const },
    handler: async (_: object, task: Parameters<typeof exchange>[0]) => {
      const { status, text } = await exchange(task, {
        sender,
        key: "request",
        request: (key) => ({ method: "POST", url: `${url}/${name}`, headers: { "idempotency-key": key } }),
        mayRepeat,
        retries: 5,
        maxBytes: 1_000,
        cancel: ({ headers }) => ({
          method: "DELETE",
          url: `${url}${headers["location"] ?? ""}`,
          headers: {},
        }),
      });
      return { content: [{ type: "text" as const, text: `${status} ${text ?? ""}` }] };
    },
  });
  const tools = [tool("once", false), tool("again", true)];
  return {
    name: "requests",
    open: async ({ setTools }) => {
      setTools(tools);
      return { close: async () => undefined };
    },
  };
}

it(
  "after a restart sends what may be repeated again, with the same key, and says that of another nothing is known",
  { timeout: 60_000 },
  async () => {
    const { url, received } = await service(({ url: at }, response, times) => {
      if (at === "/again" && times > 1) json(response, 200, "done"); // else it takes its time
    });
    const folder = await mkdtemp(join(tmpdir(), "holdfast-exchange-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const start = () =>
      gateway([requests(url)], { store: sqliteStore(join(folder, "tasks.db")), stopDeadlineMs: 50 });
    const first = await start();
    const client = await clientOf(first);
    const [once, again] = [await client.startTool("once"), await client.startTool("again")];
    await until(() => received.length === 2);
    await client.close();
    await first.close();
    const second = await clientOf(await start(), { serverName: once.reference?.server ?? "" });
    expect(await (await second.resume(again.reference)).result()).toMatchObject({
      content: [{ text: '200 "done"' }],
    });
    const lost = await (await second.resume(once.reference)).result();
    expect(lost).toMatchObject({ isError: true });
    expect(JSON.stringify(lost)).toContain("not known whether the request had an effect");
    const [one, other] = received.filter(({ url: at }) => at === "/again");
    expect(other?.headers["idempotency-key"]).toBe(one?.headers["idempotency-key"]);
    expect(received.filter(({ url: at }) => at === "/once")).toHaveLength(1);
  },
);

it("ends the work at the service when the task is cancelled", { timeout: 60_000 }, async () => {
  const { url, received } = await service((_, response) => json(response, 202, {}, { location: "/jobs/1" }));
  const client = await clientOf(await gateway([requests(url)]));
  const handle = await client.startTool("once");
  await until(() => received.some(({ method }) => method === "GET"));
  await handle.cancel();
  await until(() => received.some(({ method, url: at }) => method === "DELETE" && at === "/jobs/1"));
});
