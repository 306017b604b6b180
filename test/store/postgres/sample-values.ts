import type { SqlValue } from "../../../src/store/postgres/database.ts";
import { apart, firstTime } from "./many-tasks.ts";

/** A time at which some dozens of many tasks are due. */
const now = firstTime + 100 * apart;
const limit = 50;
const id = (n: number): string => `task-${String(n).padStart(9, "0")}`;
const some = [id(1_800), id(5_418), id(27_009)];

/** A column of so many values. */
const all = (value: string | number | null, length = some.length): SqlValue =>
  Array.from({ length }, () => value);

const handler = ["tools/call", "tool-3"];
const changed: readonly SqlValue[] = [
  all(null),
  all("running"),
  all("owner-1"),
  all(null),
  all(null),
  all(now),
  all(0),
  all("{}"),
];
const entry: readonly SqlValue[] = [
  all("key-1"),
  all("input"),
  all("roots/list"),
  ...Array.from({ length: 7 }, () => all(null)),
  all(0),
];

/** What each statement is given where its plan is looked at; behind a space may stand what these values are of. */
export const samples: Readonly<Record<string, readonly SqlValue[]>> = {
  "write.insertTasks": [
    ["new-1", "new-2", "new-3"],
    all(null),
    all("plain"),
    all(""),
    all("ann"),
    all("tools/call"),
    all("tool-3"),
    ...changed,
  ],
  "write.insertRequests": [["new-1"], ["{}"], ["{}"], [null], ["s"], ["1"]],
  "write.insertChildren": [["new-1"], ["new-2"], ["new-3"], ["k"]],
  "write.updateTasks": [some, ...changed],
  "write.upsertJournal": [some, ...entry],
  "write.deleteFailures": [some],
  "write.insertOutcomes": [["new-1"], ["result"], ["{}"]],
  "write.insertEvents": [["new-1"], ["event"], ["{}"], [null]],
  "write.forgetEvents": [[1, 2, 3]],
  "write.deleteEvents": [[1, 2, 3]],
  "write.insertSecrets": [["name"], ["value"]],
  "write.deleteTasks": [some],
  "write.deleteChildren": [some],
  "write.deleteRequests": [some],
  "write.deleteJournals": [some],
  "write.deleteOutcomes": [some],
  "write.deleteEventsOf": [some],
  "write.deleteMessagesOf": [some],

  "fact.lockTasks": [some, some],
  "fact.lockChildren": [[id(180), id(181)]],
  "fact.entries": [some, all("key-1")],
  "fact.calls": [some],
  "fact.keyedTasks": [
    ["principal-3", "principal-999", ""],
    ["key-3", "key-999", "key-21"],
  ],
  "fact.takenIds": [some],
  "fact.takenWireIds": [all("sep-1686"), ["scope-5", "scope-10", "scope-15"], ["wire-5", "wire-10", "x"]],
  "fact.firstEvent": [some[0] ?? "", "event"],
  "fact.firstEventWait": [some[0] ?? "", "event", now],
  "fact.knownEvent": [some[0] ?? "", "d-1"],
  "fact.countEvents": [some[0] ?? ""],
  "fact.lockDeletable": [now, limit],
  "fact.lockToWake": [now, limit],
  "fact.lockRunning": ["owner-2", id(10), now, limit],
  "fact.secret": ["name"],

  "read.task": [id(7)],
  "read.snapshot": [id(18)],
  "read.snapshot of a finished one": [id(20)],
  "read.idByWireId": ["sep-1686", "scope-10", "wire-10"],
  "read.keyed": [
    "principal-3",
    ["key-3", '\ufffe"key-3'],
    ["key-3\u{10ffff}", '\ufffe"key-3\u{10ffff}'],
    limit,
  ],
  "read.request": [id(18)],
  "read.journal": [id(18), "", limit],
  "read.journalEnds": [id(18), ["key-1", "key-2", "x"]],
  "read.journalEntry": [id(18), "key-1"],
  "read.owned": ["plain", "principal-3", "\u{10ffff}", now, limit],
  "read.owned of nobody": ["plain", null, "\u{10ffff}", now, limit],
  "read.ofScope": ["sep-1686", "scope-10", "\u{10ffff}", now, limit],
  "read.ownedOfScope": ["sep-1686", "scope-10", "principal-10", "\u{10ffff}", now, limit],
  "read.ofGeneration": ["plain", id(90_000), now, limit],
  "read.unfinished": [id(50_000), limit],
  "read.due": [now, limit],
  "read.nextSweep": [now, Number.MAX_SAFE_INTEGER],
  "read.queuedHandlers": [],
  "read.ownerHandlers": [],
  "read.readyLines": [...handler, limit],
  "read.readyHeads": [...handler, ["", "owner-0"], ["", "principal-3"], ["new", "woken"], 3],
  "read.waiting": [...handler, now, "", limit],
};
