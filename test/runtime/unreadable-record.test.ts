import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { nobody, text } from "./harness.ts";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-unreadable-"));
});
afterEach(() => rm(directory, { recursive: true }));

const path = (): string => join(directory, "tasks.db");

/** A runtime of its own on the file; its tool ends as soon as `open` resolves. */
function runtimeOn(open: Promise<void>, errors: unknown[] = []): Runtime {
  const registry = new Registry();
  registry.add("tool", { onCrash: "resume" }, async () => {
    await open;
    return text("done");
  });
  const options = { stopDeadlineMs: 0 };
  return createRuntime({
    store: sqliteStore(path()),
    registry,
    options,
    onError: (error) => errors.push(error),
  });
}

it("a task whose record was damaged is told of at the start, and the others run", async () => {
  const first = runtimeOn(new Promise(() => undefined));
  await first.start();
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) {
    const call = { ...nobody, tool: "tool", arguments: {}, origin: { capabilities: {} } };
    ids.push((await first.create(call)).task.id);
  }
  await first.stop();
  const damaged = ids[1] ?? "";
  const db = new DatabaseSync(path());
  db.prepare("UPDATE task SET progress = 'damaged' WHERE id = ?").run(damaged);
  db.close();

  const errors: unknown[] = [];
  const second = runtimeOn(Promise.resolve(), errors);
  await second.start();
  try {
    for (const id of ids.filter((each) => each !== damaged)) {
      await expect.poll(async () => (await second.get(id, nobody)).task.state).toBe("settled");
    }
    expect(errors).toMatchObject([
      { code: "task_unreadable", message: expect.stringContaining(damaged) as string },
    ]);
    await expect(second.get(damaged, nobody)).rejects.toMatchObject({ code: "task_unreadable" });
    expect(await second.list(nobody, { limit: 9 })).toHaveLength(2);
  } finally {
    await second.stop();
  }
});
