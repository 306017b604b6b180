import { expect, onTestFinished, test } from "vitest";
import { openAdmin } from "../../src/admin/create-admin.ts";
import { postgresStore } from "holdfast/postgres";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { Pair } from "./pair.ts";

const patience = { timeout: 60_000 };

test("lists, counts and charts come from a replica with how far it is behind, and what actions depend on from the primary server", async () => {
  const pair = await Pair.start("asynchronous");
  onTestFinished(() => pair[Symbol.asyncDispose]());
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("add", { inputSchema: undefined }, () => ({ content: [{ type: "text", text: "42" }] })),
    options: { store: postgresStore(pair.wire.url), pollIntervalMs: 100 },
  });
  const client = new StatelessClient(http.url);
  const completed = async (): Promise<string> => {
    const id = await client.start("add");
    expect(await client.ended(id)).toMatchObject({ status: "completed" });
    return id;
  };
  const before = await completed();
  const opened = await openAdmin(postgresStore(pair.wire.url, { readUrl: pair.standby.url }));
  onTestFinished(() => opened.close());
  const { admin } = opened;
  const idsShown = async (): Promise<readonly string[]> =>
    (await admin.list()).tasks.map(({ id }) => id).toSorted();

  // It first has to have this process among the owners.
  await expect.poll(async () => (await admin.list()).behindMs, patience).toBe(0);
  expect(await idsShown()).toEqual([before]);
  expect(await admin.counts()).toMatchObject({ behindMs: 0, tools: [{ tool: "add", completed: 1 }] });
  expect(await admin.activity()).toMatchObject({ behindMs: 0 });

  pair.replication.fallSilent();
  const after = await completed();
  const acts = admin.as("ann");
  await acts.pause("add");
  const page = await admin.list();
  expect(page.tasks.map(({ id }) => id)).toEqual([before]);
  expect(page.behindMs).toBeGreaterThan(0);
  expect(await admin.counts()).toMatchObject({
    behindMs: expect.any(Number) as number,
    tools: [{ tool: "add", completed: 1, paused: { actor: "ann" } }],
  });
  expect(await admin.show(after)).toMatchObject({ id: after, state: "completed" });
  expect(await admin.actions()).toMatchObject([{ action: "pause", tool: "add" }]);
  expect(await acts.bulk("delete", { states: ["completed"] }, { dryRun: true })).toMatchObject({
    done: expect.arrayContaining([before, after]) as string[],
  });

  await pair.standby.stop("fast");
  const whole = await admin.list();
  expect(whole.behindMs).toBeUndefined();
  expect(await idsShown()).toEqual([before, after].toSorted());
});

test("a readUrl that leads to a server that is no replica of this store is not read", async () => {
  const pair = await Pair.start("asynchronous");
  onTestFinished(() => pair[Symbol.asyncDispose]());
  await pair.lose();
  await pair.ask("select pg_promote()", pair.standby);
  await pair.until("select 1 where not pg_is_in_recovery()", pair.standby);
  await pair.primary.start();
  for (const readUrl of [pair.standby.url, pair.primary.url]) {
    const opened = await openAdmin(postgresStore(pair.primary.url, { readUrl }));
    const page = await opened.admin.list();
    await opened.close();
    expect(page).toEqual({ tasks: [], next: null });
  }
});
