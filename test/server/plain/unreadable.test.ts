import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { rest } from "../../../src/testing/clocks.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { type StartedServer, startServer } from "../../kit/server.ts";
import { Job } from "./job.ts";

const damages = {
  record: "UPDATE task SET progress = 'damaged'",
  result: "DELETE FROM outcome",
};

it.each([
  ["record", {}],
  ["record", { joinCalls: true }],
  ["result", {}],
  ["result", { joinCalls: true }],
] as const)("begins a call anew if the %s of its earlier task is damaged %o", async (damaged, options) => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-plain-unreadable-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "tasks.db");
  const start = (job: Job): Promise<StartedServer> =>
    startServer((tasks) => job.add(tasks, options), { store: sqliteStore(path), stopDeadlineMs: 1 });

  const lost = new Job();
  const first = await start(lost);
  const streams = new FakeStreams();
  const caller = await InMemorySession.open(first.server, { streams });
  const call = caller.call("job");
  await lost.begun.promise;
  streams.break(call);
  if (damaged === "result") {
    lost.end();
    await caller.result(call);
  }
  await first.server.stop();
  const db = new DatabaseSync(path);
  expect(db.prepare(damages[damaged]).run().changes).toBe(1);
  db.close();

  const job = new Job();
  const second = await start(job);
  const session = await InMemorySession.open(second.server);
  const calls = [session.call("job"), session.call("job")];
  await job.begun.promise;
  await session.request("tools/list");
  await rest();
  job.end();
  for (const each of calls) expect(await session.result(each)).toMatchObject({ content: [{ type: "text" }] });
  expect(job.runs).toBe("joinCalls" in options ? 1 : 2);
  // Its result was delivered, so the next one is a new call again.
  await session.result(session.call("job"));
  expect(job.runs).toBe("joinCalls" in options ? 2 : 3);
});
