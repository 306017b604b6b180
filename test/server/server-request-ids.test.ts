import { expect, it } from "vitest";
import { ServerRequestIds } from "../../src/server/http/sessions/request-ids.ts";

const first = new ServerRequestIds("11111111", false);
const ids = new ServerRequestIds("1234567e", true);
const jsonrpc = "2.0" as const;
const result = {};

it("names requests of the SDK, and their cancels, for the client, and leaves other messages as they are", () => {
  const request = { jsonrpc, id: 3, method: "roots/list" };
  expect(ids.sent(request)).toEqual({ ...request, id: "1234567e-3" });
  const cancel = { jsonrpc, method: "notifications/cancelled", params: { requestId: 3, reason: "late" } };
  expect(ids.sent(cancel)).toEqual({ ...cancel, params: { requestId: "1234567e-3", reason: "late" } });
  const ours = { jsonrpc, id: "holdfast-1234567e-1", method: "roots/list" };
  const answer = { jsonrpc, id: 3, result };
  for (const message of [ours, answer]) expect(ids.sent(message)).toBe(message);
  for (const message of [request, cancel]) expect(first.sent(message)).toBe(message);
});

it("passes on the answers to requests of this process only", () => {
  expect(ids.received({ jsonrpc, id: "1234567e-3", result })).toEqual({ jsonrpc, id: 3, result });
  for (const id of [3, "3", "11111111-3", "holdfast-11111111-3"]) {
    expect(ids.received({ jsonrpc, id, result })).toBeUndefined();
  }
  for (const id of ["1234567e-3", "holdfast-1234567e-3"]) {
    expect(first.received({ jsonrpc, id, result })).toBeUndefined();
  }
  const request = { jsonrpc, id: 3, method: "ping" };
  const ours = { jsonrpc, id: "holdfast-1234567e-1", result };
  for (const message of [request, ours, { jsonrpc, id: "of nobody", result }]) {
    expect(ids.received(message)).toBe(message);
  }
  const plain = { jsonrpc, id: 3, result };
  expect(first.received(plain)).toBe(plain);
});

it("tells whose requests they are", () => {
  const all = [3, "3", "1234567e-3", "holdfast-1234567e-3", "11111111-3", "holdfast-11111111-3", "of nobody"];
  const of = (which: ServerRequestIds): unknown =>
    all.map((id) => (which.isOurs(id) ? "ours" : which.isOfAnother(id) ? "another's" : "nobody's"));
  expect(of(first)).toEqual(["ours", "ours", "another's", "another's", "ours", "ours", "nobody's"]);
  expect(of(ids)).toEqual(["another's", "another's", "ours", "ours", "another's", "another's", "nobody's"]);
});
