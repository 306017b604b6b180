import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { admin, call, kinds, runAdmin, serve, somePlace, type Place } from "./some-place.ts";

const doc = "what the handler of this file does";

async function filled(place: Place): Promise<readonly string[]> {
  const runtime = await serve(place, (tools) => {
    tools.add("work", {}, async (_args, task) => {
      const made = await task.step("make", () => doc);
      await task.log("info", `made ${made}`);
      return { content: [{ type: "text", text: made }] };
    });
    tools.add("fail", {}, () => Promise.reject(new Error("no luck")));
  });
  const ids = [await call(runtime, "work", { n: 1 }), await call(runtime, "fail", { n: 2 })];
  const counted = async (): Promise<string> =>
    admin(place, "list", "--state", "completed", "--state", "failed");
  await expect.poll(counted).toContain(ids[0]);
  await expect.poll(counted).toContain(ids[1]);
  await runtime.stop();
  return ids;
}

function lines(text: string): readonly unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

describe.each(kinds)("on %s", (kind) => {
  it("prints a line for each task with all that is stored of it, newest first", async () => {
    const place = await somePlace(kind);
    const [work, fail] = await filled(place);
    const [second, first, ...others] = lines(await admin(place, "export"));
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      format: "holdfast-journal-1",
      taskId: work,
      tool: "work",
      principal: "ann",
      state: "settled",
      arguments: { n: 1 },
      entries: [{ key: "make", value: doc }],
      outcome: { kind: "result", body: { content: [{ text: doc }] } },
      finishedAt: expect.any(Number),
      log: [{ level: "info", text: `made ${doc}` }],
      output: [],
    });
    expect(second).toMatchObject({ taskId: fail, outcome: { body: { isError: true } } });
    expect(lines(await admin(place, "export", "--tool", "fail", "--json"))).toEqual([second]);
    expect(lines(await admin(place, "export", "--principal", "bob"))).toEqual([]);
    const recorded = await admin(place, "actions", "--json");
    expect(JSON.parse(recorded)).toMatchObject({
      actions: [{ action: "export", detail: { by: ["principal"] } }, { detail: { by: ["tool"] } }, {}],
    });
    expect(recorded).not.toContain("bob");
  });
});

it("says which tasks cannot be read, and prints the others", async () => {
  const place = await somePlace("SQLite");
  const [work = "", fail] = await filled(place);
  const db = new DatabaseSync(join(place.cwd, "tasks.db"), { timeout: 20_000 });
  db.prepare("UPDATE request SET arguments = '{' WHERE task_id = ?").run(work);
  db.close();
  const { code, stdout, stderr } = await runAdmin(place, "export");
  expect([code, stderr]).toEqual([3, expect.stringContaining(work)]);
  expect(lines(stdout)).toMatchObject([{ taskId: fail }]);
  expect((await runAdmin({ ...place, url: "http://host/admin" }, "export")).code).toBe(2);
});
