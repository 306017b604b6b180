import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";
import { EverythingServer } from "../conformance/everything-server.ts";
import { ticketOf } from "../server/plain/job.ts";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { patienceMs, raw, sdkV1, sdkV2, type Place, type PlainClient } from "./plain-clients.ts";

const env = { EVERYTHING_PLAIN: "ticket", EVERYTHING_PLAIN_DEADLINE_MS: "200", HOLDFAST_STORE: "memory:" };

let server: EverythingServer;
beforeAll(() => {
  server = new EverythingServer({ env });
});
afterAll(() => server.stop());

const clients: Readonly<Record<string, (place: Place) => Promise<PlainClient>>> = {
  "SDK v2's client": sdkV2,
  "SDK v1's client": sdkV1,
  "JSON-RPC of 2025-06-18": raw("2025-06-18"),
  "JSON-RPC of 2024-11-05": raw("2024-11-05"),
};

describe.each(Object.keys(clients))("%s, which knows no tasks", { timeout: 60_000 }, (name) => {
  it.each(fullForm ? ["http", "stdio"] : ["http"])(
    "gets over %s what takes longer than it waits, once",
    async (way) => {
      const client = await clients[name]?.(way === "http" ? { url: await server.url } : { env });
      if (client === undefined) throw new Error("There is no such client.");
      const folder = await mkdtemp(join(tmpdir(), "holdfast-plain-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const path = join(folder, "lines.txt");
      const job = { path, count: 3, delayMs: Math.ceil(patienceMs * 0.35) };

      expect(await client.names()).toEqual(
        expect.arrayContaining(["append_lines", "task_result", "task_list"]),
      );
      const first = ticketOf(await client.call("append_lines", job));
      // As models do that were cut off.
      const second = ticketOf(await client.call("append_lines", job));
      expect(second.reference).toBe(first.reference);
      let result = await client.call("task_result", { reference: first.reference });
      let asked = 1;
      while (ticketOf(result).status === "working") {
        result = await client.call("task_result", { reference: first.reference });
        asked++;
      }
      expect(asked).toBeGreaterThan(1);
      expect(result).toMatchObject({ content: [{ type: "text", text: "done 3" }] });
      const lines = (await readFile(path, "utf8")).trim().split("\n");
      expect(lines.map((line) => line.split(" ")[0])).toEqual(["1", "2", "3"]);
    },
  );
});

it("SDK v2's client answers by its own rounds what a durable call asks", { timeout: 60_000 }, async () => {
  const waits = new EverythingServer();
  onTestFinished(async () => void (await waits.stop()));
  const client = new Client(
    { name: "plain", version: "1.0.0" },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  const asked: string[] = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { confirm: true } };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(await waits.url)));
  onTestFinished(() => client.close());
  const { tools } = await client.listTools();
  expect(tools.some(({ name }) => name.startsWith("task_"))).toBe(false);
  const result = await client.callTool({ name: "confirm_delete", arguments: { filename: "a.txt" } });
  expect(asked).toHaveLength(1);
  expect(JSON.stringify(result.content)).toContain("a.txt");
  expect(result.isError).not.toBe(true);
});
