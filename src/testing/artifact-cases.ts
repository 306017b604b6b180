import assert from "node:assert/strict";
import type { CommandResult } from "../task/command.ts";
import type { ArtifactPieces, TaskStore } from "../store/store.ts";
import { createRunning, noon } from "./sample-task.ts";
import { assertMembers, storeCases } from "./store-case.ts";

const taskA = "task-a";

const held = { now: noon + 1, id: taskA, token: "t1" } as const;

function write(
  store: TaskStore,
  key: string,
  seq: number,
  body: string,
  token = "t1",
): Promise<CommandResult<"write_piece">> {
  return store.write({ ...held, token, type: "write_piece", key, seq, body });
}

function end(
  store: TaskStore,
  key: string,
  ended: { readonly value: string | null; readonly error: string | null },
): Promise<CommandResult<"record_step">> {
  return store.write({ ...held, type: "record_step", key, artifact: true, begunAt: noon + 9, ...ended });
}

const stored = { value: '{"bytes":3}', error: null };

/** The pieces of an artifact that are stored, up to the fourth. */
async function read(
  { pieces }: { readonly pieces: ArtifactPieces },
  key: string,
): Promise<readonly string[]> {
  const found = await Promise.all([0, 1, 2, 3].map((seq) => pieces.read(taskA, key, seq)));
  return found.map((body) => body ?? "-");
}

export const artifactCases = storeCases("pieces", {
  "the first piece of an artifact enters the journal, and its end closes it": async ({ store }) => {
    await store.write(createRunning("a"));
    assertMembers(await write(store, "f", 0, "YWI="), {
      ok: true,
      task: { openArtifacts: 1, journalled: true, version: 2 },
    });
    assertMembers(await store.journalEntry(taskA, "f"), {
      kind: "artifact",
      doneAt: null,
      begunAt: noon + 1,
    });
    assertMembers(await write(store, "f", 1, "Yw=="), { task: { openArtifacts: 1, version: 3 } });
    assertMembers(await end(store, "f", stored), { ok: true, task: { openArtifacts: 0, version: 4 } });
    assertMembers(await store.journalEntry(taskA, "f"), { kind: "artifact", doneVersion: 4, ...stored });
    assert.deepEqual(await read(store, "f"), ["YWI=", "Yw==", "-", "-"]);
    assert.deepEqual(await read(store, "g"), ["-", "-", "-", "-"]);
  },
  "an artifact that begins again has none of its old pieces, and others keep theirs": async ({ store }) => {
    await store.write(createRunning("a"));
    await Promise.all([
      ...["0", "1", "2"].map((body, seq) => write(store, "f", seq, body)),
      write(store, "g", 0, "g"),
    ]);
    assertMembers(await write(store, "f", 0, "new"), { task: { openArtifacts: 2 } });
    assert.deepEqual(await read(store, "f"), ["new", "-", "-", "-"]);
    assert.deepEqual(await read(store, "g"), ["g", "-", "-", "-"]);
    await Promise.all([write(store, "f", 1, "x"), write(store, "f", 0, "y"), write(store, "f", 2, "z")]);
    assert.deepEqual(await read(store, "f"), ["y", "-", "z", "-"]);
  },
  "a piece that is written twice is stored once, as it came last": async ({ store }) => {
    await store.write(createRunning("a"));
    await write(store, "f", 0, "0");
    await Promise.all([write(store, "f", 1, "1"), write(store, "f", 1, "2")]);
    assert.deepEqual(await read(store, "f"), ["0", "2", "-", "-"]);
  },
  "an artifact that has ended takes no more pieces, and no other entry under its name": async ({ store }) => {
    await store.write(createRunning("a"));
    await write(store, "f", 0, "0");
    await end(store, "f", stored);
    assert.deepEqual(await write(store, "f", 0, "1"), { ok: false, reason: "duplicate" });
    assert.deepEqual(await end(store, "f", stored), { ok: false, reason: "duplicate" });
    await store.write({ ...held, type: "record_step", key: "s", value: "1", error: null });
    assert.deepEqual(await write(store, "s", 0, "1"), { ok: false, reason: "duplicate" });
    assert.deepEqual(await read(store, "f"), ["0", "-", "-", "-"]);
  },
  "only the attempt that holds the task writes pieces": async ({ store }) => {
    await store.write(createRunning("a"));
    assert.deepEqual(await write(store, "f", 0, "0", "t2"), { ok: false, reason: "fenced" });
    assert.deepEqual(await read(store, "f"), ["-", "-", "-", "-"]);
  },
  "an artifact that fails keeps no pieces, and a retry of the handler forgets it": async ({ store }) => {
    await store.write(createRunning("a"));
    await write(store, "f", 0, "0");
    assertMembers(await end(store, "f", { value: null, error: "{}" }), { task: { openArtifacts: 0 } });
    assert.deepEqual(await read(store, "f"), ["-", "-", "-", "-"]);
    assertMembers(await store.journalEntry(taskA, "f"), { kind: "artifact", error: "{}" });
    await store.write({ ...held, type: "retry", until: noon, statusMessage: "failed" });
    assert.equal(await store.journalEntry(taskA, "f"), undefined);
  },
  "the end of a task keeps whole artifacts, and no piece of others; its deletion removes all": async ({
    store,
  }) => {
    await store.write(createRunning("a"));
    await store.write(createRunning("b"));
    await store.write({ ...held, id: "task-b", type: "write_piece", key: "half", seq: 0, body: "b" });
    await write(store, "whole", 0, "w");
    await end(store, "whole", stored);
    await write(store, "half", 0, "h");
    const outcome = { kind: "result", body: "{}" } as const;
    assertMembers(await store.write({ ...held, type: "settle", outcome }), { task: { openArtifacts: 0 } });
    assert.deepEqual(await read(store, "whole"), ["w", "-", "-", "-"]);
    assert.deepEqual(await read(store, "half"), ["-", "-", "-", "-"]);
    assert.deepEqual(await write(store, "half", 1, "h"), { ok: false, reason: "finished" });
    await store.write({ type: "delete", now: noon + 3, id: taskA });
    assert.deepEqual(await read(store, "whole"), ["-", "-", "-", "-"]);
    assert.equal(await store.pieces.read("task-b", "half", 0), "b");
  },
  "the names of artifacts can be any text": async ({ store }) => {
    await store.write(createRunning("a"));
    const odd = "\ud800 \u0000 é";
    await write(store, odd, 0, "YQ==");
    assert.deepEqual(await read(store, odd), ["YQ==", "-", "-", "-"]);
  },
});
