import { describe, expect, it } from "vitest";
import { createTasks } from "../../src/server/tasks.ts";
import { exportJournal, type JournalRecording } from "../../src/store/export-journal.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { checkReplay, type ReplayCheck } from "../../src/testing/check-replay.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";

const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };
const scan: Handler = ({ url }) =>
  url === "b" ? Promise.reject(new Error("no host")) : text(`${String(url)} is fine`);
const asks: Handler = async (_, task) => text((await task.elicit("go", question)).action);

const calls = (...urls: readonly string[]): { tool: string; arguments: { url: string } }[] =>
  urls.map((url) => ({ tool: "scan", arguments: { url } }));

const audit =
  (...urls: readonly string[]): Handler =>
  async (_, task) => {
    const results = await task.all("scan", calls(...urls));
    const failure = await task.call("bad", "scan", { url: "b" }).then(() => "fine", String);
    await task.call("asks", "asks");
    return text(`${results.length} ${failure}`);
  };

/** Of a task that has come to a question of a task below it. */
async function recorded(): Promise<JournalRecording> {
  const process = await Process.started({ tools: { scan, asks, audit: audit("a", "c") } });
  const id = await process.callId("audit");
  await process.asked(id);
  return JSON.parse(JSON.stringify(await exportJournal(process.store, id))) as JournalRecording;
}

async function check(handler: Handler): Promise<ReplayCheck> {
  const tasks = createTasks({ store: memoryStore() });
  const never: Handler = () => Promise.reject(new Error("It has run."));
  for (const name of ["scan", "asks"]) tasks.tool(name, {}, never);
  tasks.tool("audit", {}, handler);
  return checkReplay(tasks, await recorded());
}

describe("the recording of a task that calls tools", () => {
  it("replays with the results that they had, and runs none of them", async () => {
    expect(await check(audit("a", "c"))).toMatchObject({
      ok: true,
      end: "waits",
      changed: [],
      unreached: [],
    });
  });

  it("says which call is another one now", async () => {
    const { ok, changed } = await check(audit("a", "d"));
    expect(ok).toBe(false);
    expect(changed).toMatchObject([{ problem: expect.stringContaining('["scan",1]') as string }]);
  });
});
