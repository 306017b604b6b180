import { expect, it } from "vitest";
import type { AdminAction } from "../../src/admin/admin.ts";
import {
  actionText,
  beforeIn,
  ranAgainAs,
  webhookOf,
} from "../../dashboard/src/pages/actions/action-text.ts";

const cancel: AdminAction = {
  seq: 1,
  at: 0,
  actor: "ann",
  action: "cancel",
  taskId: "t",
  tool: "a",
  detail: null,
};

it("says what was done in words, and of what it does not know its name", () => {
  expect(actionText(cancel)).toBe("Cancelled a task");
  expect(actionText({ ...cancel, action: "toString" })).toBe("toString");
});

it("finds what a detail names", () => {
  expect(ranAgainAs({ ...cancel, action: "retry", detail: { ranAgainAs: "u" } })).toBe("u");
  expect(ranAgainAs({ ...cancel, action: "retry", detail: { ranAgainAs: 5 } })).toBeNull();
  expect(ranAgainAs({ ...cancel, detail: { ranAgainAs: "u" } })).toBeNull();
  expect(webhookOf({ ...cancel, action: "resend", detail: { webhook: "w" } })).toBe("w");
  expect(webhookOf({ ...cancel, action: "resend", detail: null })).toBeNull();
});

it.each([
  ["before=12", 12],
  ["", undefined],
  ["before=", undefined],
  ["before=0", undefined],
  ["before=-1", undefined],
  ["before=1e3", undefined],
  ["before=12345678901234567", undefined],
])("reads the page %j", (query, before) => {
  expect(beforeIn(new URLSearchParams(query))).toBe(before);
});
