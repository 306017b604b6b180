import assert from "node:assert/strict";
import type { NodeReports } from "../store/node-reports.ts";
import { createQueued, createRunning } from "./sample-task.ts";
import { ownerCases, storeCases } from "./store-case.ts";

/** The reports of all minutes, as `owner minute body`, in the order in which they are read. */
async function said(reports: NodeReports, first = 0, last = 1_000, limit = 99): Promise<readonly string[]> {
  const found = await reports.between(first, last, limit);
  return found.map(({ owner, minute, body }) => `${owner} ${minute} ${body}`);
}

export const reportCases = [
  ...storeCases("reports", {
    "an owner's last report of each minute is kept, newest minute first": async ({ store }) => {
      const { reports } = store;
      if (reports === undefined) return;
      assert.deepEqual(await said(reports), []);
      await reports.write({ minute: 100, body: '"a"' }, 0);
      await reports.write({ minute: 102, body: '"c \\u0000\ud83d\ude00"' }, 0);
      await reports.write({ minute: 101, body: '"b"' }, 0);
      await reports.write({ minute: 101, body: '"b2"' }, 0);
      const all = ['owner-1 102 "c \\u0000\ud83d\ude00"', 'owner-1 101 "b2"', 'owner-1 100 "a"'];
      assert.deepEqual(await said(reports), all);
      assert.deepEqual(await said(reports, 100, 101), all.slice(1));
      assert.deepEqual(await said(reports, 100, 101, 1), all.slice(1, 2));
      assert.deepEqual(await said(reports, 103, 200), []);
    },
    "reports of minutes before the oldest one are forgotten": async ({ store }) => {
      const { reports } = store;
      if (reports === undefined) return;
      for (const minute of [100, 101, 102]) await reports.write({ minute, body: "{}" }, 0);
      await reports.write({ minute: 103, body: "{}" }, 102);
      assert.deepEqual(await said(reports), ["owner-1 103 {}", "owner-1 102 {}"]);
    },
    "the owner lives, and has so many running tasks": async ({ store }) => {
      const { reports } = store;
      if (reports === undefined) return;
      assert.deepEqual(await reports.owners(99), [{ id: "owner-1", running: 0 }]);
      await store.write(createQueued("a"));
      for (const name of ["b", "c", "d"]) await store.write(createRunning(name));
      assert.deepEqual(await reports.owners(99), [{ id: "owner-1", running: 3 }]);
      const [owner] = await reports.owners(2);
      assert.ok((owner?.running ?? 9) <= 2);
    },
  }),
  ...ownerCases("reports", {
    "owners say what they say side by side, and all hear of it": async ({ store, join }) => {
      const { reports } = store;
      if (reports === undefined) return;
      const other = await join();
      assert.ok(other.store.reports);
      await reports.write({ minute: 100, body: '"a"' }, 0);
      await other.store.reports.write({ minute: 100, body: '"b"' }, 0);
      const both = ['owner-1 100 "a"', `${other.owner} 100 "b"`].toSorted();
      assert.deepEqual((await said(reports)).toSorted(), both);
      assert.deepEqual((await said(other.store.reports)).toSorted(), both);
    },
    "an owner that is gone does not live, and what it said stays": async ({ store, join, kill }) => {
      const { reports } = store;
      if (reports === undefined) return;
      const other = await join();
      await other.store.reports?.write({ minute: 100, body: "{}" }, 0);
      await other.store.write(createRunning("b"));
      const ids = async (): Promise<readonly string[]> =>
        (await reports.owners(99)).map(({ id, running }) => `${id} ${running}`).toSorted();
      assert.deepEqual(await ids(), ["owner-1 0", `${other.owner} 1`].toSorted());
      await kill(other.owner);
      assert.deepEqual(await ids(), ["owner-1 0"]);
      assert.deepEqual(await said(reports), [`${other.owner} 100 {}`]);
    },
  }),
];
