import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { followerOf, waitFor } from "../../src/runtime/wait-for.ts";

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

describe("a wait", () => {
  it("leaves no listener on its signal, whether it ends while it begins, later, or with the signal", async () => {
    const { signal } = new AbortController();
    await waitFor((done) => {
      done();
      return () => undefined;
    }, signal);
    await waitFor((done) => {
      setImmediate(done);
      return () => undefined;
    }, signal);
    const fails = waitFor(() => {
      throw new Error("cannot begin");
    }, signal);
    await expect(fails).rejects.toThrow("cannot begin");
    expect(listeners(signal)).toBe(0);

    const ends = new AbortController();
    const waits = waitFor(() => () => undefined, ends.signal);
    ends.abort("over");
    await expect(waits).rejects.toBe("over");
    expect(listeners(ends.signal)).toBe(0);
  });

  it("is cancelled when its signal aborts, also while it begins, and does not begin after that", async () => {
    const seen: string[] = [];
    const controller = new AbortController();
    const waits = waitFor(() => {
      controller.abort("over");
      return () => seen.push("cancelled");
    }, controller.signal);
    await expect(waits).rejects.toBe("over");
    const late = waitFor(() => {
      seen.push("begun");
      return () => undefined;
    }, controller.signal);
    await expect(late).rejects.toBe("over");
    expect(seen).toEqual(["cancelled"]);
  });
});

it("a follower aborts with its signal until it is released, and leaves no listener there", () => {
  const followed = new AbortController();
  const { controller, release } = followerOf(followed.signal);
  const released = followerOf(followed.signal);
  released.release();
  followed.abort("over");
  expect([controller.signal.aborted, controller.signal.reason]).toEqual([true, "over"]);
  expect(released.controller.signal.aborted).toBe(false);
  release();
  expect(listeners(followed.signal)).toBe(0);
  expect(followerOf(followed.signal).controller.signal.aborted).toBe(true);
});
