import { expect, it } from "vitest";
import { Registry } from "../../src/runtime/tool/registry.ts";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { recognisedMs, recognisedMsOfAsked } from "../../src/server/dispatch/merge.ts";

const day = 24 * 3_600_000;

function registry(...tools: Omit<ToolConfig, "inputSchema">[]): Registry {
  const all = new Registry();
  for (const [index, config] of tools.entries())
    all.add(`tool-${index}`, config, async () => ({ content: [] }));
  return all;
}

it.each([
  ["the server's own ttl", [{}], day, day],
  ["as long as a result is kept, where there is no ttl", [{}, { ttlMs: 2 * day }], undefined, day / 2],
  ["the least of the tools", [{ ttlMs: 1_500 }, { ttlMs: 2_000 }, {}], day, 1_500],
  ["without end, where all are", [{ ttlMs: null }, {}], null, Infinity],
  ["of tools that make tasks alone", [{ ttlMs: 5_000 }, { ttlMs: 1, task: "forbidden" }], day, 5_000],
  ["the server's own, where a tool may still come", [], day, day],
] as const)("tells for how long every call is recognised: %s [A-48]", (_what, tools, ttlMs, expected) => {
  expect(recognisedMs(registry(...tools), { keepMs: day / 2, ttlMs })).toBe(expected);
});

it("counts the longest life that a client may ask for [A-15 A-48]", () => {
  const options = { keepMs: day, ttlMs: null, maxTtlMs: 3_600_000 };
  expect(recognisedMsOfAsked(registry({}), options)).toBe(3_600_000);
  expect(recognisedMsOfAsked(registry({ ttlMs: 1_500 }), options)).toBe(1_500);
});
