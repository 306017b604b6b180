import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, it } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";
import { bodyOf, nobody, text, type Handler } from "./harness.ts";

const files = useTempDirectory();
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const call = { ...nobody, arguments: {}, origin: { capabilities: { elicitation: {} } } };
const running = new Set<Runtime>();

afterEach(async () => {
  for (const runtime of running) await runtime.stop();
  running.clear();
});

/** A server of one slot on the file. */
async function serve(tools: Record<string, Handler>, errors: unknown[] = []): Promise<Runtime> {
  const registry = new Registry();
  for (const [name, handler] of Object.entries(tools))
    registry.add(name, { onCrash: "resume", park: false }, handler);
  const options = { concurrency: 1, stopDeadlineMs: 0 };
  const onError = (error: unknown): void => void errors.push(error);
  const runtime = createRuntime({ store: sqliteStore(files.path()), registry, options, onError });
  await runtime.start();
  running.add(runtime);
  return runtime;
}

async function stop(runtime: Runtime): Promise<void> {
  await runtime.stop();
  running.delete(runtime);
}

function damage(sql: string, ...values: string[]): void {
  const db = new DatabaseSync(files.path(), { timeout: 5_000 });
  db.prepare(sql).run(...values);
  db.close();
}

async function create(runtime: Runtime, tool: string): Promise<string> {
  return (await runtime.create({ ...call, tool })).task.id;
}

async function settled(runtime: Runtime, id: string): Promise<Record<string, unknown>> {
  await expect.poll(async () => (await runtime.get(id, nobody)).task.state).toBe("settled");
  return bodyOf(await runtime.get(id, nobody));
}

/** What is told of a damaged task: its id, once. */
const named = (id: string): unknown =>
  expect.objectContaining({ code: "task_unreadable", message: expect.stringContaining(id) as string });

it("tasks whose request or journal is damaged fail, are reported once, and give their slot to the next one", async () => {
  const damages = [
    "UPDATE journal SET kind = 'later' WHERE task_id = ?",
    "UPDATE journal SET value = '{' WHERE task_id = ?",
    "UPDATE journal SET done_at = 9007199254740993 WHERE task_id = ?",
    "UPDATE request SET origin = '{' WHERE task_id = ?",
    "UPDATE request SET arguments = '{' WHERE task_id = ?",
    "DELETE FROM request WHERE task_id = ?",
  ];
  const first = await serve({
    work: async (__, task) => {
      await task.step("done", () => 1);
      await task.elicit("q", question);
      return text("worked");
    },
  });
  const damaged = await Promise.all(damages.map(() => create(first, "work")));
  const healthy = await create(first, "work");
  await expect.poll(async () => (await first.get(healthy, nobody)).inputs.length).toBe(1);
  await stop(first);
  for (const [place, sql] of damages.entries()) damage(sql, damaged[place] ?? "");

  const errors: unknown[] = [];
  const replays: Handler = async (_, task) => text(String(await task.step("done", () => 2)));
  const second = await serve({ work: replays }, errors);
  expect(await settled(second, healthy)).toEqual(text("1"));
  for (const id of damaged) expect(await settled(second, id)).toMatchObject({ code: -32603 });
  expect(errors).toHaveLength(damaged.length);
  expect(errors).toEqual(expect.arrayContaining(damaged.map(named)));
});

/** A task that waits for an answer after the steps `a` to `d`, in whose journal `sql` happens before the next start. */
async function waitingTask(sql: string): Promise<string> {
  const first = await serve({
    work: async (__, task) => {
      for (const key of ["a", "b", "c", "d"]) await task.step(key, () => key);
      await task.elicit("q", question);
      return text("worked");
    },
  });
  const id = await create(first, "work");
  await expect.poll(async () => (await first.get(id, nobody)).inputs.length).toBe(1);
  await stop(first);
  damage(sql, id);
  return id;
}

it.each([
  ["is not JSON", "UPDATE journal SET value = '{' WHERE task_id = ? AND key = 'c'"],
  ["has an error that is not JSON", "UPDATE journal SET error = '{' WHERE task_id = ? AND key = 'c'"],
  ["cannot be read", "UPDATE journal SET value = char(0xfffe) || '{' WHERE task_id = ? AND key = 'c'"],
])("a handler that comes to a step that %s writes nothing more, whatever it catches", async (_, sql) => {
  const id = await waitingTask(sql);
  const errors: unknown[] = [];
  const caught: unknown[] = [];
  const ran: string[] = [];
  const ended = Promise.withResolvers<void>();
  const runtime = await serve(
    {
      work: async (__, task) => {
        const other = task.step("other", () => ended.promise);
        try {
          for (const key of ["a", "b", "c", "d"]) await task.step(key, () => ran.push(key));
        } catch (error) {
          caught.push(error, task.signal.aborted);
        }
        await task.step("undo", () => ran.push("undo")).catch((error: unknown) => caught.push(error));
        ended.resolve();
        await other.catch((error: unknown) => caught.push(error));
        return text("ended as if nothing were wrong");
      },
    },
    errors,
  );
  expect(await settled(runtime, id)).toMatchObject({
    code: -32603,
    message: "The stored data of this task is damaged, so the task cannot run.",
  });
  await expect.poll(() => caught.length).toBe(4);
  const fenced: unknown = expect.objectContaining({ code: "fenced" });
  expect(caught).toEqual([fenced, true, fenced, fenced]);
  expect(ran).toEqual([]);
  expect(errors).toEqual([named(id)]);
});

it("a task that has lost a step that its handler comes to fails too", async () => {
  const id = await waitingTask("UPDATE journal SET value = '1' WHERE task_id = ?");
  const errors: unknown[] = [];
  const replays: Handler = async (_, task) => {
    await task.step("a", () => "again");
    damage("DELETE FROM journal WHERE task_id = ? AND key = 'd'", id);
    await task.step("new", () => 1); // from here on nothing is read ahead
    return text(String(await task.step("d", () => "again")));
  };
  const runtime = await serve({ work: replays }, errors);
  expect(await settled(runtime, id)).toMatchObject({ code: -32603 });
  expect(errors).toEqual([named(id)]);
});

it("a task that is deleted while its handler replays is told of, and not reported as damaged", async () => {
  const id = await waitingTask("UPDATE journal SET value = '1' WHERE task_id = ?");
  const errors: unknown[] = [];
  const reason = Promise.withResolvers<unknown>();
  const replays: Handler = async (_, task) => {
    await task.step("a", () => "again");
    await task.step("new", () => 1);
    damage("DELETE FROM journal WHERE task_id = ?", id);
    damage("DELETE FROM task WHERE id = ?", id);
    await task.step("d", () => "again").catch(reason.resolve);
    return text("ended");
  };
  await serve({ work: replays }, errors);
  expect(await reason.promise).toMatchObject({ code: "fenced", message: `Task ${id} was deleted.` });
  expect(errors).toEqual([]);
});

it("a task whose record is damaged while its step runs gives its slot to the next one", async () => {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const errors: unknown[] = [];
  const runtime = await serve(
    {
      works: async (_, task) => {
        await task.step("s", () => (begun.resolve(), gate.promise));
        return text("worked");
      },
      hello: () => text("hi"),
    },
    errors,
  );
  const damaged = await create(runtime, "works");
  const next = await create(runtime, "hello");
  await begun.promise;
  damage("UPDATE task SET progress = 'damaged' WHERE id = ?", damaged);
  gate.resolve();
  expect(await settled(runtime, next)).toEqual(text("hi"));
  expect(errors).toEqual([named(damaged)]);
});

it("an answer that was damaged ends its own question, and no other", async () => {
  const errors: unknown[] = [];
  const runtime = await serve(
    {
      asks: async (_, task) => {
        const ends = await Promise.allSettled([task.elicit("a", question), task.elicit("b", question)]);
        return text(ends.map(({ status }) => status).join());
      },
    },
    errors,
  );
  const id = await create(runtime, "asks");
  await expect.poll(async () => (await runtime.get(id, nobody)).inputs.length).toBe(2);
  damage(
    "UPDATE journal SET done_at = 9007199254740993, kind = 'input' WHERE task_id = ? AND key = ?",
    id,
    "a",
  );
  const value = JSON.stringify({ action: "accept", content: {} });
  const answer = (key: string) => runtime.answer(id, nobody, [{ key, value }]);
  await expect(answer("a")).rejects.toMatchObject({ code: "task_unreadable" });
  await answer("b");
  expect(await settled(runtime, id)).toEqual(text("rejected,fulfilled"));
  expect(errors).toEqual([named(id)]);
});
