import { expect, onTestFinished, test } from "vitest";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { limitsOf, principalKey, totalKey } from "../../../src/store/postgres/task-sql.ts";
import { aHandler, createQueued } from "../../../src/testing/sample-task.ts";
import { FreshSchema } from "../../postgres/test-database.ts";

const none = { unfinished: null, retained: null };

test("of several limits on the same tasks the lowest counts", () => {
  const limits = limitsOf([
    { principal: "ann", quota: { total: { unfinished: 9, retained: null }, perPrincipal: none } },
    { principal: "ann", quota: { total: { unfinished: 900, retained: 800 }, perPrincipal: none } },
  ]);
  expect(limits.get(totalKey)).toEqual({ unfinished: 9, retained: 800 });
  expect(limits.get(principalKey("ann"))).toEqual(none);
});

test("owners that make tasks at the same time keep to a quota exactly, be it far away at first", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  const stores = await Promise.all(
    ["one", "two", "three"].map(async (id) => {
      const store = postgresStore(fresh.url, { schema: fresh.schema });
      await store.open({ id, handlers: [aHandler] });
      onTestFinished(() => store.close());
      return store;
    }),
  );
  onTestFinished(() => fresh.drop());
  const [most, each] = [700, 300];
  const quota = { total: { unfinished: most, retained: null }, perPrincipal: none };
  const results = await Promise.all(
    stores.flatMap((store, of) =>
      Array.from({ length: each }, (_, n) => store.write({ ...createQueued(`${of}-${n}`), quota })),
    ),
  );
  expect(results.filter(({ ok }) => ok)).toHaveLength(most);
  expect(results.filter((result) => !result.ok && result.reason === "quota")).toHaveLength(
    each * stores.length - most,
  );
});
