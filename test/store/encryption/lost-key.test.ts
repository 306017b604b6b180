import type { Tasks } from "holdfast";
import { memoryDatabase, memoryStore } from "holdfast/memory";
import { encryptedStore, type TaskStore } from "holdfast/store";
import { expect, it } from "vitest";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

type Wrap = (store: TaskStore) => TaskStore;

const withKey =
  (id: string, byte: number): Wrap =>
  (store) =>
    encryptedStore(store, { keys: [{ id, key: Buffer.alloc(32, byte) }] });

function tools(tasks: Tasks): void {
  tasks.tool("asks", {}, async (_, task) => {
    await task.elicit("sure", { message: "Sure?", requestedSchema: { type: "object", properties: {} } });
    return text("asked");
  });
  tasks.tool("hangs", {}, (_, task) => task.step("hangs", () => new Promise<never>(() => undefined)));
  tasks.tool("works", {}, async (_, task) => text(await task.step("work", () => "done")));
}

/** A task that a server with the key "k1" left when it stopped, and another server on the same store. */
async function leftTo(
  wrap: Wrap,
): Promise<{ peer: StatelessClient; hangs: string; works: string; errors: unknown[] }> {
  const database = memoryDatabase();
  const before = withKey("k1", 1)(memoryStore(database));
  const first = await serve({ tools, options: { store: before } });
  const leaving = new StatelessClient(first.http.url);
  const hangs = await leaving.start("hangs", {});
  const works = await leaving.start("works", {});
  await leaving.ended(works);
  await first.http.close();
  const { http, errors } = await serve({ tools, options: { store: wrap(memoryStore(database)) } });
  return { peer: new StatelessClient(http.url), hangs, works, errors };
}

const cannotDecrypt =
  "The stored data of this task cannot be decrypted with the keys of this server, so the task cannot run.";
const cannotRead = "The stored data of this task cannot be read.";

it("where the key is lost, its tasks fail when they are to run, and others go on", async () => {
  const { peer, hangs, works, errors } = await leftTo(withKey("k2", 2));
  const failed = await peer.until(hangs, "failed");
  expect(failed).toMatchObject({ status: "failed", error: { code: -32603, message: cannotDecrypt } });
  const problem = 'it is encrypted with the key "k1", which this process does not have';
  await expect.poll(() => errors.map(String).join(" ")).toContain(problem);
  // What it came to cannot be read: that is an error, and no result.
  const read = await peer.send("tasks/get", { taskId: works });
  expect(read.error).toEqual({ code: -32603, message: cannotRead });
  expect(JSON.stringify(await peer.ended(await peer.start("works", {})))).toContain("done");
});

it("a task whose question needs a lost key says so to who asks for it or answers, until it is cancelled", async () => {
  const database = memoryDatabase();
  const first = await serve({ tools, options: { store: withKey("k1", 1)(memoryStore(database)) } });
  const before = new StatelessClient(first.http.url);
  const taskId = await before.start("asks", {});
  await before.until(taskId, "input_required");
  await first.http.close();
  const { http } = await serve({ tools, options: { store: withKey("k2", 2)(memoryStore(database)) } });
  const peer = new StatelessClient(http.url);
  const inputResponses = { sure: { action: "accept", content: {} } };
  for (const answer of [
    await peer.send("tasks/get", { taskId }),
    await peer.send("tasks/update", { taskId, inputResponses }),
  ])
    expect(answer.error).toEqual({ code: -32603, message: cannotRead });
  await peer.result("tasks/cancel", { taskId });
  expect(["failed", "cancelled"]).toContain((await peer.ended(taskId))["status"]);
});

it("says that a key is not the one that its id names", async () => {
  const database = memoryDatabase();
  const first = withKey("k1", 1)(memoryStore(database));
  await first.open({ id: "a", handlers: [] });
  await first.close();
  const other = withKey("k1", 2)(memoryStore(database));
  await expect(other.open({ id: "b", handlers: [] })).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringContaining('"k1"') as string,
  });
});
