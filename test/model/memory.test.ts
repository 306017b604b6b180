import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { CommandResult } from "../../src/task/command.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { fullForm } from "../full-form.ts";
import { commandNames } from "./arbitrary-command.ts";
import { follow, type Place } from "./follow.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { arbitraryMoves } from "./moves.ts";
import { StoreSubject } from "./store-subject.ts";

function place(): Place {
  const database = memoryDatabase();
  return {
    open: (id, handlers) => StoreSubject.open(memoryStore(database), id, handlers),
    kill: async (id) => database.kill(id),
    outlivesKill: false,
    revives: false,
    wholeGroups: true,
  };
}

test("memory stores of one database do what the model does", { timeout: modelTimeoutMs }, async () => {
  const seen = new Set<string>();
  const waits = new Set<string>();
  const property = fc.asyncProperty(arbitraryMoves(60), (moves) =>
    follow(place(), moves, {
      around: (what) => waits.add(what),
      done: (type, answer) => {
        if ("rejected" in answer) seen.add(answer.rejected);
        else seen.add("ok" in answer && !answer.ok ? answer.reason : `${type}: done`);
        if ("woken" in answer && answer.woken > 0) waits.add(`${type}: some`);
        if ("heldBack" in answer) for (const saw of claimsOf(answer)) waits.add(`${type}: ${saw}`);
        if ("isNew" in answer) waits.add(`${type}: ${eventOf(answer)}`);
        if ("task" in answer) waits.add(`${type}: ${waitOf(answer.task)}`);
      },
    }),
  );
  await fc.assert(property, modelRuns(fullForm ? 2_000 : 200));
  // Fewer runs do not come to all of it.
  if (!fullForm) return;
  // Sequences that never get anywhere would prove nothing.
  const refusals = [
    "unknown",
    "finished",
    "fenced",
    "state",
    "duplicate",
    "conflict",
    "taken",
    "not_due",
    "awaited",
    "quota",
    "full",
    "store_lost",
  ];
  const done = [...commandNames, "put_message", "take_messages"].map((name) => `${name}: done`);
  expect([...seen].sort()).toEqual([...done, ...refusals].sort());
  expect([...waits]).toEqual(expect.arrayContaining(waitsToSee));
});

/** Where a command leaves a task that waits, or that waited. */
function waitOf({ state, lane, waiting, runAfter, openInputs }: TaskRecord): string {
  if (state === "queued") return lane ?? (waiting ? "parked" : "pausing");
  if (runAfter === null) return state;
  return openInputs === 0 ? "rests" : "rests with a question";
}

/** What became of an event. */
function eventOf({ isNew, ended }: Extract<CommandResult<"send_event">, { ok: true }>): string {
  if (!isNew) return "known";
  return ended === null ? "kept" : "taken";
}

/** What a claim was about. */
function claimsOf({ tasks, turns, heldBack }: CommandResult<"claim">): readonly string[] {
  const principals = new Set(tasks.map(({ principal }) => principal));
  const lanes = tasks.filter(({ limited }) => limited).map(() => "counted");
  return [
    ...lanes,
    ...(heldBack ? ["held back"] : []),
    ...(principals.size > 1 ? ["several principals"] : []),
    ...(turns.rounds.length > 1 && tasks.length > 1 ? ["several priorities"] : []),
  ];
}

const waitsToSee = [
  "claim: counted",
  "claim: held back",
  "claim: several principals",
  "claim: several priorities",
  "mark: rests",
  "mark: rests with a question",
  "mark: running",
  "sleep: rests",
  "sleep: running",
  "open_input: rests with a question",
  "open_input: running",
  "release: parked",
  "release: recovered",
  "park: parked",
  "park: woken",
  "answer_inputs: woken",
  "request_cancel: woken",
  "request_cancel: recovered",
  "wake: some",
  "retry: pausing",
  "retry: recovered",
  "release: pausing",
  "retry_step: rests",
  "call_tool: rests",
  "wait_event: rests",
  "wait_event: running",
  "send_event: known",
  "send_event: kept",
  "send_event: taken",
  "send_event: woken",
  "call_tool: another is made",
  "open_input: another is asked",
  "answer_inputs: another is asked",
  "cancel: another is asked less, and its call ends",
  "request_cancel: another is to be cancelled",
  "settle: another is to be cancelled",
  "expire: another is to be cancelled",
  "settle: another is woken",
  "settle: another goes on running",
  "cancel: another is woken",
];
