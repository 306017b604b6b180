import { expect, test } from "vitest";
import { countTasks, EndedCounts } from "../../../src/admin/count-tasks.ts";
import { adminStateOf } from "../../../src/admin/select-tasks.ts";
import { postgresAdmin } from "../../../src/store/postgres/postgres-admin.ts";
import { putMany } from "./many-tasks.ts";
import { SomeSchema } from "./some-schema.ts";

test("a sample tells about how many tasks of each tool there are in each state", async () => {
  await using schema = await SomeSchema.create();
  await putMany(schema, 60_000);
  const { database, names } = schema;
  const admin = postgresAdmin(names, () => ({ database }));
  const groups = await admin.estimate();
  const about = (of: (group: (typeof groups)[number]) => boolean): number =>
    groups.filter(of).reduce((sum, { tasks }) => sum + tasks, 0);
  const [whole] = await database.query(
    `SELECT count(*) FILTER (WHERE tool = 'tool-3' AND outcome_kind = 'result'), count(*) FILTER (WHERE state = 'running'), count(*),
      pg_relation_size('${names.task}'::regclass) / 8192 FROM ${names.task}`,
  );
  const [completed = 0, running = 0, all = 0, pages = 0] = (whole ?? []).map(Number);
  expect(pages).toBeGreaterThan(1_000); // so that it is a sample
  for (const [found, exact] of [
    [about((group) => group.tool === "tool-3" && adminStateOf(group) === "completed"), completed],
    [about(({ state }) => state === "running"), running],
    [about(() => true), all],
  ] as const) {
    expect(found).toBeGreaterThan(0.8 * exact);
    expect(found).toBeLessThan(1.2 * exact);
  }

  // More than 10,000 have not ended: the newest of them are no longer all that is counted.
  const { tools } = await countTasks(admin, new EndedCounts(10_000, () => 0), admin);
  const tool = tools.find((each) => each.tool === "tool-3");
  expect(tool?.estimated).toContain("queued");
  const [row] = await database.query(
    `SELECT count(*) FROM ${names.task} WHERE tool = 'tool-3' AND state = 'queued' AND lane IS NOT NULL AND open_inputs IS NULL`,
  );
  expect(tool?.queued).toBeGreaterThan(0.6 * Number(row?.[0]));
  expect(tool?.queued).toBeLessThan(1.4 * Number(row?.[0]));
});
