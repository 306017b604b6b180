import { describe, expect, it } from "vitest";
import { expiryTime, pollDelay, retryDelay, fallbackDelay } from "../../src/client/task/poll-limits.ts";
import { retryAfterHeaderMs } from "../../src/client/reply/retry.ts";
import type { RemoteTask } from "../../src/client/task/remote-task.ts";

const task: RemoteTask = {
  taskId: "t",
  status: "working",
  createdAt: "2026-10-01T00:00:00Z",
  lastUpdatedAt: "2026-10-01T00:00:10Z",
  ttlMs: 60_000,
  pollIntervalMs: 2000,
};

describe("the delay", () => {
  it("of polls is at least the requested interval, and at most a tenth longer [X-050]", () => {
    expect(pollDelay(task, 250, 0)).toBe(2000);
    expect(pollDelay(task, 250, 0.999_999)).toBe(2200);
    expect(pollDelay(task, 3000, 0)).toBe(3000);
  });

  it("of polls beside pushes is four intervals within bounds, and at least the requested interval [X-050]", () => {
    const delays = [250, 2000, 5000, 15_000, 20_000, 90_000].map((pollIntervalMs) =>
      fallbackDelay({ ...task, pollIntervalMs }, 0, 0),
    );
    expect(delays).toEqual([15_000, 15_000, 20_000, 60_000, 60_000, 90_000]);
    expect(fallbackDelay(task, 250, 0.999_999)).toBe(16_500);
  });

  it("of retries doubles up to a limit, and respects Retry-After", () => {
    expect([1, 2, 3, 4, 10, 1000].map((failures) => retryDelay(failures, 0.999_999))).toEqual([
      250, 500, 1000, 2000, 15_000, 15_000,
    ]);
    expect(retryDelay(1, 0)).toBe(125);
    expect(retryDelay(1, 0, 60_000)).toBe(60_000);
    // Everybody whom a server told so at once would come back at once.
    expect(retryDelay(1, 0.999_999, 60_000)).toBe(66_000);
  });

  it("of Retry-After is read as seconds or as a date", () => {
    const now = Date.UTC(2026, 9, 1);
    expect(retryAfterHeaderMs("12", now)).toBe(12_000);
    expect(retryAfterHeaderMs("Thu, 01 Oct 2026 00:01:00 GMT", now)).toBe(60_000);
    expect(retryAfterHeaderMs("Wed, 30 Sep 2026 00:00:00 GMT", now)).toBe(0);
    expect(retryAfterHeaderMs("soon", now)).toBeUndefined();
    expect(retryAfterHeaderMs(null, now)).toBeUndefined();
  });
});

describe("the expiry time", () => {
  it("counts from the last contact, minus the age in the server's timestamps [X-054]", () => {
    expect(expiryTime(task, 1_000_000)).toBe(1_000_000 + 50_000);
  });

  it("is never for a task without ttl", () => {
    expect(expiryTime({ ...task, ttlMs: null }, 0)).toBe(Infinity);
  });

  it("ignores invalid timestamps", () => {
    expect(expiryTime({ ...task, lastUpdatedAt: "yesterday" }, 0)).toBe(60_000);
    expect(expiryTime({ ...task, lastUpdatedAt: "2020-01-01T00:00:00Z" }, 0)).toBe(60_000);
  });
});
