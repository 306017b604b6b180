import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import type { Admin } from "../../src/admin/operations.ts";

interface Feed {
  readonly isLive: boolean;
}

/** Not by its path alone: its types are those of a browser. */
const source = new URL("../../dashboard/src/live/change-feed.ts", import.meta.url).href;
const { ChangeFeed } = (await import(source)) as {
  readonly ChangeFeed: new (admin: Pick<Admin, "changes">, reader: string) => Feed;
};

const changes: Admin["changes"] = async function* ({ signal } = {}) {
  yield { tasks: null };
  await new Promise((resolve) => signal?.addEventListener("abort", resolve));
};

it("takes the stream over from a window that does not answer, and gives it up to one that takes it", async () => {
  vi.stubGlobal("document", Object.assign(new EventTarget(), { hidden: false }));
  vi.useFakeTimers({ toFake: ["setInterval"] });
  // A window that reads, and was stopped: by a dialog, a debugger or the browser.
  const stopped = navigator.locks.request("holdfast changes a", () => new Promise(() => undefined));
  const lost = stopped.then(
    () => "kept",
    () => "lost",
  );
  const feed = new ChangeFeed({ changes }, "a");
  vi.advanceTimersByTime(15_000);
  await setImmediate();
  expect(feed.isLive).toBe(false);
  vi.advanceTimersByTime(15_000);
  expect(await lost).toBe("lost");
  await vi.waitUntil(() => feed.isLive);

  const took = Promise.withResolvers<void>();
  const other = navigator.locks.request("holdfast changes a", { steal: true }, () => took.promise);
  await vi.waitUntil(() => !feed.isLive);
  took.resolve();
  await other;
  await vi.waitUntil(() => feed.isLive);
  const ofOthers = new ChangeFeed({ changes }, "b");
  await vi.waitUntil(() => ofOthers.isLive);
});
