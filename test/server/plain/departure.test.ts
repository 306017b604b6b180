import { McpError, ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { departureAfter, departureByReason } from "../../../src/server/plain/plain-policies.ts";

it.each([
  String(McpError.fromError(ErrorCode.RequestTimeout, "Request timed out", { timeout: 60_000 })),
  String(McpError.fromError(ErrorCode.RequestTimeout, "Maximum total timeout exceeded", {})),
  String(new SdkError(SdkErrorCode.RequestTimeout, "Request timed out", { timeout: 60_000 })),
  String(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
  "timed out after 5.0s",
  "context deadline exceeded",
  "request timeout",
  "Time-out",
  "time out",
])("takes %j for the words of a client whose time is over", (reason) => {
  expect(departureByReason(reason)).toBe("timed_out");
});

it.each([
  undefined,
  "",
  "User cancelled",
  "context canceled",
  "caller cancelled",
  String(new DOMException("This operation was aborted", "AbortError")),
  "It is time to go out",
  ["Request timed out"],
  { toString: () => "Request timed out" },
  new Error("Request timed out"),
])("takes %j for a cancel", (reason) => {
  expect(departureByReason(reason)).toBe("cancelled");
});

it("looks at a reason of any length in no time to speak of", () => {
  expect(departureByReason("tim".repeat(1_000_000))).toBe("cancelled");
});

it("takes a client that waited for more than five seconds for one whose time is over", () => {
  expect([0, 5_000, 5_001, 60_000].map(departureAfter)).toEqual([
    "cancelled",
    "cancelled",
    "timed_out",
    "timed_out",
  ]);
});
