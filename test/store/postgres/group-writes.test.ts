import { expect, test } from "vitest";
import { WriteBatch } from "../../../src/store/postgres/group-writes.ts";

function sentBy(work: (batch: WriteBatch) => void): unknown[] {
  const batch = new WriteBatch();
  work(batch);
  return batch.statements.map(({ sql, values }) => [sql, values]);
}

test("writes that may go together are one statement, whose parameters are numbered through", () => {
  const sent = sentBy((batch) => {
    batch.together("INSERT INTO a SELECT $1, $2", 1, ["x"]);
    batch.together("UPDATE b SET c = $2 WHERE d = $1 OR e = $1", 2, 3);
    for (let n = 0; n < 8; n++) batch.together("DELETE FROM f WHERE g = $1", n);
  });
  expect(sent).toHaveLength(1);
  const [[sql, values]] = sent as [[string, unknown[]]];
  expect(sql).toMatch(
    /^WITH part_0 AS \(INSERT INTO a SELECT \$1, \$2\), part_1 AS \(UPDATE b SET c = \$4 WHERE d = \$3 OR e = \$3\), /,
  );
  expect(sql).toMatch(/ DELETE FROM f WHERE g = \$12$/);
  expect(values).toEqual([1, ["x"], 2, 3, 0, 1, 2, 3, 4, 5, 6, 7]);
});

test("a write that sees others is sent between those before and after it", () => {
  const sent = sentBy((batch) => {
    batch.together("one");
    batch.apart("two", 2);
    batch.together("three");
    batch.together("four");
  });
  expect(sent).toEqual([
    ["one", []],
    ["two", [2]],
    ["WITH part_0 AS (three) four", []],
  ]);
});

test("nothing is sent where nothing was written", () => {
  expect(sentBy(() => undefined)).toEqual([]);
});

test("a write that sees others cannot be a transaction by itself", () => {
  const batch = new WriteBatch();
  const guard = { sql: "SELECT 1 / $1::int", values: [0] };
  batch.together("INSERT INTO a SELECT $1", 1);
  expect(batch.guardedBy(guard)).toEqual({
    sql: "WITH part_0 AS (INSERT INTO a SELECT $1) SELECT * FROM (SELECT 1 / $2::int) AS guard",
    values: [1, 0],
  });
  batch.apart("UPDATE b SET c = 1");
  expect(batch.guardedBy(guard)).toBeUndefined();
});
