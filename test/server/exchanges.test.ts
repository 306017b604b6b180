import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { Exchanges } from "../../src/server/exchanges.ts";

const placeholder = (id: string | number, _meta = {}): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  result: { content: [], isError: true, _meta },
});
const serverInfo = { "io.modelcontextprotocol/serverInfo": { name: "a", version: "1" } };

it("replaces the placeholder of a request by its answer, once", () => {
  const exchanges = new Exchanges();
  exchanges.begin(1, {});
  exchanges.answer(1, { result: { taskId: "a" } });
  expect(exchanges.resolve(placeholder(1))).toEqual({ jsonrpc: "2.0", id: 1, result: { taskId: "a" } });
  expect(exchanges.resolve(placeholder(1))).toEqual(placeholder(1));
});

it("can make it an error", () => {
  const exchanges = new Exchanges();
  exchanges.begin("a", {});
  exchanges.answer("a", { error: { code: 1, message: "no" } });
  expect(exchanges.resolve(placeholder("a"))).toEqual({
    jsonrpc: "2.0",
    id: "a",
    error: { code: 1, message: "no" },
  });
});

it('tells 1 from "1"', () => {
  const exchanges = new Exchanges();
  exchanges.begin(1, { name: "number" });
  exchanges.begin("1", { name: "string" });
  exchanges.answer(1, { result: { from: "number" } });
  exchanges.answer("1", { result: { from: "string" } });
  expect(exchanges.params(1)).toEqual({ name: "number" });
  expect(exchanges.resolve(placeholder("1"))).toMatchObject({ id: "1", result: { from: "string" } });
  expect(exchanges.resolve(placeholder(1))).toMatchObject({ id: 1, result: { from: "number" } });
});

it("takes over the stamp of the placeholder, and nothing that the result itself says there", () => {
  const exchanges = new Exchanges();
  const resolved = (result: Record<string, unknown>): unknown => {
    exchanges.begin(1, {});
    exchanges.answer(1, { result });
    const message = exchanges.resolve(placeholder(1, serverInfo));
    return "result" in message ? message.result : undefined;
  };
  expect(resolved({})).toEqual({ _meta: serverInfo });
  expect(resolved({ _meta: { mine: 1 } })).toEqual({ _meta: { ...serverInfo, mine: 1 } });
  const own = { "io.modelcontextprotocol/serverInfo": { name: "b", version: "2" } };
  expect(resolved({ _meta: own })).toEqual({ _meta: own });
});

it("passes on all that is not an answer of ours", () => {
  const exchanges = new Exchanges();
  exchanges.begin(1, {});
  const progress = { jsonrpc: "2.0" as const, method: "notifications/progress", params: {} };
  const validation = placeholder(1);
  expect(exchanges.resolve(progress)).toBe(progress);
  expect(exchanges.resolve(validation)).toBe(validation);
  expect(exchanges.params(1)).toBeUndefined();
});

it("takes no answer to a request that was cancelled, or whose connection closed", () => {
  const exchanges = new Exchanges();
  for (const end of [() => exchanges.forget(1), () => exchanges.close()]) {
    exchanges.begin(1, {});
    end();
    exchanges.answer(1, { result: { taskId: "a" } });
    expect(exchanges.resolve(placeholder(1))).toEqual(placeholder(1));
  }
});
