import { expect, it, onTestFinished, vi } from "vitest";
import { EventStreams } from "../../../src/server/http/admin-endpoint.ts";

/** What follows something, and says whether it still does. */
class Followed {
  following = 0;

  async *events(): AsyncGenerator<number, void, undefined> {
    this.following++;
    try {
      for (let count = 0; ; count++) yield count;
    } finally {
      this.following--;
    }
  }
}

const streams = (): EventStreams => {
  const made = new EventStreams((error) => expect.unreachable(String(error)));
  onTestFinished(() => made.close());
  return made;
};

it("follows nothing any more for a client that left before it read", async () => {
  const followed = new Followed();
  const answer = await streams().answer(() => followed.events(), new AbortController().signal);
  expect(followed.following).toBe(1);
  await answer.body?.cancel();
  await expect.poll(() => followed.following).toBe(0);
});

it("follows nothing any more for a client that is gone, and whose stream nobody cancels", async () => {
  const followed = new Followed();
  const gone = new AbortController();
  await streams().answer(() => followed.events(), gone.signal);
  gone.abort();
  await expect.poll(() => followed.following).toBe(0);
});

it("follows nothing any more for a client that has not read for long", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const followed = new Followed();
  const answer = await streams().answer(() => followed.events(), new AbortController().signal);
  const reader = answer.body?.getReader();
  await reader?.read();
  await reader?.read();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(followed.following).toBe(0);
  await reader?.read(); // the next one was there
  expect((await reader?.read())?.done).toBe(true);
});

it("ends its streams as it closes, though what they follow does not answer", async () => {
  const made = streams();
  async function* hangs(): AsyncGenerator<number, void, undefined> {
    yield 1;
    await new Promise<never>(() => undefined);
  }
  const answer = await made.answer(hangs, new AbortController().signal);
  const reader = answer.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  const next = reader?.read();
  made.close();
  expect((await next)?.done).toBe(true);
});
