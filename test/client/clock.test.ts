import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../src/client/clock.ts";

const never = new AbortController().signal;

describe("the machine's clock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("sleeps longer than one timer can", async () => {
    const thirtyDays = 30 * 86_400_000;
    let awake = false;
    const nap = systemClock.sleep(thirtyDays, never).then(() => {
      awake = true;
    });
    await vi.advanceTimersByTimeAsync(thirtyDays - 1);
    expect(awake).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await nap;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("clears the timer of an aborted sleep or a cleared deadline", async () => {
    const controller = new AbortController();
    const nap = systemClock.sleep(1000, controller.signal);
    const deadline = systemClock.deadline(1000);
    controller.abort(new Error("up"));
    deadline.clear();
    await expect(nap).rejects.toThrow("up");
    await expect(systemClock.sleep(0, controller.signal)).rejects.toThrow("up");
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([1000, 30 * 86_400_000])("lets a deadline of %i ms pass, and no sooner", async (ms) => {
    const deadline = systemClock.deadline(ms);
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(deadline.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(deadline.signal.aborted).toBe(true);
  });
});
