import { createTasks } from "holdfast";
import { jwtVerifier } from "holdfast/auth";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { readOptions, settingsOf } from "../../src/options/options.ts";
import { backoffOptions } from "../../src/runtime/clock.ts";
import { runtimeSettings } from "../../src/runtime/options.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { resolveSdkV1Options } from "../../src/sdk-v1/options.ts";
import { millisecondsOf, type TimeSpan } from "../../src/task/time.ts";

it.each<[TimeSpan, number]>([
  [0, 0],
  [1.5, 1.5],
  ["250ms", 250],
  ["90s", 90_000],
  ["15m", 900_000],
  ["1.5h", 5_400_000],
  ["3d", 3 * 86_400_000],
  ["1w", 7 * 86_400_000],
])("%s is %d ms", (span, ms) => {
  expect(millisecondsOf(span)).toBe(ms);
});

const wrong = ["", "5", "3 d", "1y", "d", "-1s", "1e3s", "Infinitys", -1, Number.NaN, Infinity];

it.each(wrong)("%j is no length of time", (span) => {
  expect(() => millisecondsOf(span)).toThrow(
    `${typeof span === "string" ? JSON.stringify(span) : span} is not a length of time`,
  );
  const bad = span as number;
  expect(() => createTasks({ store: memoryStore(), keepMs: bad })).toThrow("keepMs must be a length of time");
  expect(() => resolveSdkV1Options({ store: memoryStore(), ttlMs: bad })).toThrow(
    "ttlMs must be a length of time",
  );
  const issuer = { issuer: "https://a.example", audience: "a", jwks: { keys: [] } };
  expect(() => jwtVerifier({ ...issuer, timeoutMs: bad })).toThrow("timeoutMs must be a length of time");
});

it("is in milliseconds wherever code reads options", () => {
  expect(runtimeSettings({ keepMs: "2d", ttlMs: null, pollIntervalMs: 500 })).toMatchObject({
    keepMs: 2 * 86_400_000,
    ttlMs: null,
    pollIntervalMs: 500,
  });
  expect(settingsOf(backoffOptions, { firstMs: "1m" })).toMatchObject({ firstMs: 60_000 });
  expect(readOptions(backoffOptions, { maxMs: "1h" })).toEqual({ maxMs: 3_600_000 });
  const registry = new Registry();
  registry.add(
    "slow",
    { ttlMs: "1w", timeoutMs: "5m", inputTimeoutMs: null, retry: { attempts: 2 } },
    () => "done",
  );
  expect(registry.get("slow")).toMatchObject({
    ttlMs: 7 * 86_400_000,
    timeoutMs: 300_000,
    inputTimeoutMs: null,
  });
  expect(resolveSdkV1Options({ store: memoryStore(), ttlMs: "1d", maxTtlMs: null })).toMatchObject({
    ttlMs: 86_400_000,
    maxTtlMs: null,
  });
});

it("is checked within the bounds of its option", () => {
  expect(() => createTasks({ store: memoryStore(), keepMs: "10ms" })).toThrow("of at least 1s");
  expect(() => createTasks({ store: memoryStore(), minTtlMs: "2d", maxTtlMs: "1d" })).toThrow("minTtlMs");
});
