import { remoteAdmin } from "holdfast/client";
import { expect, it } from "vitest";
import type { Admin } from "../../src/admin/operations.ts";
import { Process } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

/** What the types do not allow. */
const misuse = (value: unknown): never => value as never;

const refusals: readonly (readonly [string, (admin: Admin) => Promise<unknown>, string])[] = [
  [
    "a filter that is none",
    (admin) => admin.list(misuse({ state: "failed" })),
    'The request has no "state". Did you mean states?',
  ],
  [
    "a state that is none",
    (admin) => admin.list(misuse({ states: ["broken"] })),
    'states.0 must be one of queued, waiting, running, input_required, blocked, completed, failed, cancelled, not "broken".',
  ],
  ["too small a number", (admin) => admin.failures("load", 0), "limit must be at least 1, not 0."],
  [
    "too large a number",
    (admin) => admin.activity({ minutes: 361 }),
    "minutes must be at most 360, not 361.",
  ],
  ["a part of a number", (admin) => admin.actions({ limit: 1.5 }), "limit must be a whole number, not 1.5."],
  ["something else than options", (admin) => admin.list(misuse("failed")), "The options must be an object."],
  ["no name", (admin) => admin.as("ann").pause(""), "tool must not be empty."],
  ["nothing", (admin) => admin.as("ann").extend("a", misuse(undefined)), "until is missing."],
  ["a time that is none", (admin) => admin.as("ann").extend("a", NaN), "until must be a number, not NaN."],
  [
    "an answer that is none",
    (admin) => admin.as("ann").answer("a", misuse([])),
    "answers must be an object, not [].",
  ],
  [
    "arguments that are none",
    (admin) => admin.as("ann").retry("a", { arguments: 5 }),
    "arguments must be an object, not 5.",
  ],
  [
    "a filter of many that is none",
    (admin) => admin.as("ann").bulk("cancel", misuse({ state: "failed" })),
    'selection has no "state".',
  ],
];

it.each(refusals)("refuses %s in one sentence, here and before it is sent", async (_, ask, message) => {
  const far = remoteAdmin("http://127.0.0.1:1/admin", { token: "t" });
  for (const admin of [adminOf(await Process.started({ tools: {} })), far])
    await expect(ask(admin)).rejects.toMatchObject({ code: "invalid_params", message });
});
