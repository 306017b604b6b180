import { ProtocolError } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished, vi } from "vitest";
import { TaskCallError } from "../../src/index.ts";
import { decodeError, encodeError } from "../../src/runtime/stored-values.ts";
import { callErrorOf } from "../../src/runtime/tool/tool-errors.ts";
import { outcomeOfThrow } from "../../src/runtime/tool/tool-outcome.ts";
import {
  callEndOf,
  type CallFailure,
  expiredError,
  errorOutcome,
  errorResult,
  type Outcome,
} from "../../src/task/outcome.ts";

const maxBytes = 10_000;

function errorOf(outcome: Outcome | null, expired = false): TaskCallError {
  return callErrorOf("scan", JSON.parse(callEndOf(outcome, expired).error ?? "") as CallFailure);
}

const disk = { code: -32000, message: "The disk is full.", data: { path: "/srv/secret" } };

it.each([
  ["a result that says so", errorOf(errorResult("No host.")), 'Tool "scan" failed: No host.'],
  ["an error", errorOf(errorOutcome(disk)), 'Tool "scan" failed: The disk is full.'],
  [
    "its end of life",
    errorOf(errorOutcome(expiredError), true),
    'Tool "scan" did not end in time: The task expired before it ended.',
  ],
  ["a cancel", errorOf(null), 'The call to tool "scan" was cancelled.'],
  [
    "a result without text",
    callErrorOf("scan", { reason: "failed", result: { isError: true, content: [] } }),
    'Tool "scan" failed.',
  ],
])("tells the client of the calling tool of %s, and no more", (_, error, message) => {
  expect(outcomeOfThrow(error, maxBytes)).toEqual(errorResult(message));
});

it.each([
  ["a result", errorOf(errorResult("No host."))],
  ["an error", errorOf(errorOutcome(disk))],
  ["neither", errorOf(null)],
])("is the same from the journal, with %s", (_, error) => {
  const again = decodeError(encodeError(error, maxBytes));
  expect(again).toBeInstanceOf(TaskCallError);
  expect(again).toEqual(error);
  const { tool, reason, result, error: details } = again as TaskCallError;
  expect({ tool, reason, result, details }).toEqual({
    tool: "scan",
    reason: error.reason,
    result: error.result,
    details: error.error,
  });
});

it("keeps what failed and how where its result is too large for the journal", () => {
  const error = errorOf(errorResult("x".repeat(maxBytes)));
  const again = decodeError(encodeError(error, maxBytes));
  expect(again).toMatchObject({ name: "TaskCallError", tool: "scan", reason: "failed", result: undefined });
  expect(again.message).toBe(error.message);
  expect(again.message.length).toBeLessThan(1_100);
});

it("takes no other error of the name for one", () => {
  const foreign = Object.assign(new Error("odd"), { name: "TaskCallError", data: { tool: 1 } });
  const again = decodeError(encodeError(foreign, maxBytes));
  expect(again).not.toBeInstanceOf(TaskCallError);
  expect(again).toMatchObject({ name: "TaskCallError", message: "odd" });
});

it.each([
  ["its message", (text: string) => new Error(text)],
  ["its data", (text: string) => new ProtocolError(-32000, "Failed", { rows: [text] })],
])("writes no JSON of an error that is too large by %s", (_, made) => {
  const stringify = vi.spyOn(JSON, "stringify");
  onTestFinished(() => stringify.mockRestore());
  const outcome = outcomeOfThrow(made("x".repeat(50_000)), maxBytes);
  expect(JSON.parse(outcome.body)).toMatchObject({
    message: `The tool failed with an error of more than ${maxBytes} bytes.`,
  });
  const written = stringify.mock.results.map(({ value }) => String(value).length);
  expect(Math.max(...written)).toBeLessThan(maxBytes);
});
