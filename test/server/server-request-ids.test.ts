import { expect, it } from "vitest";
import { ServerRequestIds } from "../../src/server/http/sessions/server-request-ids.ts";

const ids = new ServerRequestIds("log");
const jsonrpc = "2.0" as const;

it("names requests of the SDK, and their cancels, for the client, and leaves other messages as they are", () => {
  const request = { jsonrpc, id: 3, method: "roots/list" };
  expect(ids.sent(request)).toEqual({ ...request, id: "log-3" });
  const cancel = { jsonrpc, method: "notifications/cancelled", params: { requestId: 3, reason: "late" } };
  expect(ids.sent(cancel)).toEqual({ ...cancel, params: { requestId: "log-3", reason: "late" } });
  const ours = { jsonrpc, id: "holdfast-a-1", method: "roots/list" };
  const answer = { jsonrpc, id: 3, result: {} };
  for (const message of [ours, answer]) expect(ids.sent(message)).toBe(message);
});

it("passes on the answers to requests of this process only", () => {
  const result = {};
  expect(ids.received({ jsonrpc, id: "log-3", result })).toEqual({ jsonrpc, id: 3, result });
  for (const id of [3, "3"]) expect(ids.received({ jsonrpc, id, result })).toBeUndefined();
  const ours = { jsonrpc, id: "holdfast-a-1", result };
  const request = { jsonrpc, id: 3, method: "ping" };
  for (const message of [ours, request]) expect(ids.received(message)).toBe(message);
});
