import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tasks } from "holdfast";
import type { HttpServer } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient, type WireResponse } from "../kit/stateless-client.ts";
import { form } from "./prepare-caller.ts";

/** Two servers on one file, each an owner of its own. */
async function twoServers(
  tools: (tasks: Tasks) => void,
): Promise<readonly [here: HttpServer, there: HttpServer]> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-shared-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const start = async (): Promise<HttpServer> => {
    const options = { store: sqliteStore(join(folder, "tasks.db")) };
    return (await serve({ tools, options, http: { anonymous: "shared" } })).http;
  };
  return [await start(), await start()];
}

async function until(is: () => Promise<boolean>): Promise<void> {
  while (!(await is())) await new Promise(setImmediate);
}

it("serves a session at two servers, which pass on answers and tell each other of its end", async () => {
  const servers = await twoServers((tasks) =>
    tasks.tool("asks", {}, async (_args, task) => {
      const { content } = await task.elicit("name", form("Name?"));
      return text(String(content?.["name"]));
    }),
  );
  const version = { version: "2025-06-18" };
  const here = await SessionClient.open(servers[0].url, version);
  const there = Object.assign(new SessionClient(servers[1].url, version), { sessionId: here.sessionId });
  const stream = await here.begin("tools/call", { name: "asks", arguments: {} });
  const question = await stream.message();
  const answer = { action: "accept", content: { name: "Ann" } };
  expect((await there.post({ id: question?.["id"], result: answer })).status).toBe(202);
  expect(await stream.message()).toMatchObject({ result: text("Ann") });
  await here.send("DELETE");
  await until(async () => (await there.post({ id: 1, method: "ping" })).status === 404);
});

it("starts a call again at another server while somebody waits at the first, and joins it when that has stopped", async () => {
  const ids: string[] = [];
  const gate = Promise.withResolvers<void>();
  const [here, there] = await twoServers((tasks) =>
    tasks.tool("job", { plain: "wait", onCrash: "resume" }, async (_args, task) => {
      ids.push(task.id);
      await gate.promise;
      return text(task.id);
    }),
  );
  const call = (server: HttpServer): Promise<WireResponse> =>
    new StatelessClient(server.url).call("job", {}, { capabilities: {} });
  const lost = call(here).catch(() => undefined);
  await until(async () => ids.length === 1);
  const beside = call(there);
  await until(async () => ids.length === 2);
  await here.close();
  await lost;
  const joined = call(there);
  await until(async () => ids.length === 3);
  gate.resolve();
  expect([(await beside).result, (await joined).result]).toMatchObject([
    text(ids[1] ?? ""),
    text(ids[0] ?? ""),
  ]);
  expect(ids[2]).toBe(ids[0]);
});
