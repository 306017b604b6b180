import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";

const longest = 2 ** 31 - 1;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it.each([0, 1, longest - 1, longest, longest + 1, 3 * longest + 7])(
  "a timer of %s ms runs once, then and not before",
  (ms) => {
    const run = vi.fn<() => void>();
    systemClock.after(ms, run);
    if (ms > 0) {
      vi.advanceTimersByTime(ms - 1);
      expect(run).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
    } else {
      vi.advanceTimersByTime(0);
    }
    expect(run).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(4 * longest);
    expect(run).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  },
);

it("is called off in each of the parts that a long timer has", () => {
  for (const passed of [0, longest, 2 * longest]) {
    const run = vi.fn<() => void>();
    const cancelTimer = systemClock.after(3 * longest, run);
    vi.advanceTimersByTime(passed);
    cancelTimer();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(3 * longest);
    expect(run).not.toHaveBeenCalled();
  }
});

it("keeps the process alive only where it is told to, in each part of a long timer", () => {
  const armed: boolean[] = [];
  const { setTimeout: arm } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run: () => void, ms?: number) => {
    const timer = arm(run, ms);
    const unref = timer.unref.bind(timer);
    const index = armed.push(true) - 1;
    timer.unref = () => {
      armed[index] = false;
      return unref();
    };
    return timer;
  });
  systemClock.after(longest + 1, () => undefined);
  vi.advanceTimersByTime(longest + 1);
  expect(armed).toEqual([false, false]);
  systemClock.after(longest + 1, () => undefined, "keep alive");
  vi.advanceTimersByTime(longest + 1);
  expect(armed).toEqual([false, false, true, true]);
  vi.restoreAllMocks();
});
