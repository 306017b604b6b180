/** Sample tasks and calls for the cases of the store contract. */

import type { TaskCommand, CommandResult } from "../task/command.ts";
import type { NewTask, TaskRequest } from "../task/record.ts";
import type { HandlerName } from "../task/queue.ts";
import type { TaskStore, TaskChange, ListedEntry } from "../store/store.ts";
import type { JournalEntry } from "../task/journal.ts";

/** The time of everything in the samples, unless a case sets another. */
export const noon = Date.UTC(2026, 10, 1, 12);

export const sampleRequest: TaskRequest = {
  origin: { session: "s1", requestId: 7, capabilities: { elicitation: {} } },
  arguments: '{"month":"2026-10"}',
  prepared: null,
};

/** A handler that runs the samples, and one that does not. */
export const aHandler: HandlerName = { method: "tools/call", tool: "publish" };

export const noHandler: HandlerName = { method: "tools/call", tool: "withdraw" };

/** The owner that the store of a case is opened for. */
export const owner = "owner-1";

/** A task with the id `task-NAME`, and made-up values for what is not given. */
export function sampleTask(name: string, members: Partial<NewTask> = {}): NewTask {
  const id = `task-${name}`;
  return {
    id,
    wireId: id,
    generation: "2026-07-28",
    scope: "",
    principal: "ann",
    method: "tools/call",
    tool: "publish",
    idempotencyKey: null,
    requestHash: "hash",
    requiredScopes: [],
    expiry: { from: "created", ms: 60_000 },
    runUntil: null,
    pollIntervalMs: 1000,
    statusMessage: null,
    ...members,
  };
}

export function createQueued(name: string, members: Partial<NewTask> = {}): TaskCommand<"create"> {
  return { type: "create", now: noon, task: sampleTask(name, members), request: sampleRequest, token: null };
}

/** Creates a task that already runs under the token `t1`. */
export function createRunning(name: string, members: Partial<NewTask> = {}): TaskCommand<"create"> {
  return { ...createQueued(name, members), token: "t1" };
}

/** The handler of the task `task-OF` calls a tool under the key `call-NAME`, which creates the task `task-NAME`. */
export function callTool(
  of: string,
  name: string,
  members: Partial<NewTask> = {},
): TaskCommand<"call_tool"> & { readonly token: string } {
  return {
    type: "call_tool",
    now: noon + 1,
    id: `task-${of}`,
    token: "t1",
    key: `call-${name}`,
    requestHash: "h",
    child: sampleTask(name, { generation: "child", ...members }),
    request: { ...sampleRequest, arguments: `"${name}"` },
    cancelGraceMs: 20,
  };
}

/** A finished step with which a task begins. */
export const kept: JournalEntry = {
  key: "render",
  kind: "step",
  method: null,
  request: null,
  requestHash: null,
  value: '{"pages":1}',
  error: null,
  deadlineAt: null,
  tries: 0,
  begunAt: noon - 5,
  doneAt: noon - 1,
  doneVersion: 1,
};

export function startTask(name: string): TaskCommand<"start"> {
  return { type: "start", now: noon + 2, id: `task-${name}`, token: "t1" };
}

/** Running tasks, each called by the one before it. */
export async function callInChain(store: TaskStore, ...names: readonly string[]): Promise<void> {
  for (const [index, name] of names.entries()) {
    const above = names[index - 1];
    await store.write(above === undefined ? createRunning(name) : callTool(above, name));
    if (above !== undefined) await store.write(startTask(name));
  }
}

/** A running sample task asks a question. */
export function askAs(name: string, key: string): TaskCommand<"open_input"> {
  const input = { key, method: "elicitation/create", params: `{"message":"${name}"}` } as const;
  const held = { now: noon + 3, id: `task-${name}`, token: "t1" };
  return { ...held, type: "open_input", input, requestHash: "h", deadlineAt: null };
}

/** It ends with a result. */
export function settleAs(name: string, body = "{}"): TaskCommand<"settle"> {
  const outcome = { kind: "result", body } as const;
  return { type: "settle", now: noon + 9, id: `task-${name}`, token: "t1", outcome };
}

const ended = { now: noon + 9, id: "task-b" };

const outcome = { kind: "error", body: '{ "code":-1 }' } as const;

const expired = { outcome, statusMessage: "", visibleUntil: 0 };

/** Ways in which the task `task-b` ends, and the error of the call that its parent gets. */
export const callEnds: readonly (readonly [
  TaskCommand<"settle" | "fail" | "expire" | "cancel">,
  string | null,
])[] = [
  [settleAs("b", '{ "n":1.0 }'), null],
  [
    { ...settleAs("b"), outcome: { kind: "error_result", body: '{ "isError":true }' } },
    '{"reason":"failed","result":{ "isError":true }}',
  ],
  [{ ...settleAs("b"), outcome }, '{"reason":"failed","error":{ "code":-1 }}'],
  [{ ...expired, ...ended, type: "expire" }, '{"reason":"expired","error":{ "code":-1 }}'],
  [{ ...ended, type: "cancel" }, '{"reason":"cancelled"}'],
];

/** The changes that a store reports from now on, without gaps. */
export function changesOf(store: TaskStore): readonly TaskChange[] {
  const seen: TaskChange[] = [];
  store.subscribe((changes) => {
    if (changes !== "gap") seen.push(...changes);
  });
  return seen;
}

/** All entries on the pages of a task's journal, in the order of first writes. */
export async function listedJournal(store: TaskStore, id: string, limit = 3): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = [];
  for (let from: string | null = ""; from !== null;) {
    const page = await store.journal(id, from, limit);
    entries.push(...page.entries);
    from = page.next;
  }
  return entries.sort((a, b) => a.place - b.place);
}

/** A task's journal, in the order of first writes. */
export async function wholeJournal(store: TaskStore, id: string): Promise<JournalEntry[]> {
  const listed = await listedJournal(store, id);
  const entries = await Promise.all(listed.map(({ key }) => store.journalEntry(id, key)));
  return entries.flatMap((entry) => entry ?? []);
}

const backoff = { baseMs: 0, maxMs: 0, maxCrashes: 9 };

/** Takes over, at noon, the tasks of owners that are gone, as a runtime does at its start and once a second. */
export async function reclaimGone(store: TaskStore): Promise<void> {
  const { gone } = await store.renew();
  for (const goneOwner of gone) {
    for (let after: string | null = ""; after !== null;) {
      const result: CommandResult<"reclaim"> = await store.write({
        type: "reclaim",
        now: noon,
        owner: goneOwner,
        after,
        limit: 100,
        backoff,
      });
      after = result.ok ? result.next : null;
    }
  }
}
