import { expect, test } from "vitest";
import { Lifecycle } from "../../src/store/lifecycle.ts";

test("every close waits for the end of the one that runs, and that runs once", async () => {
  const lifecycle = new Lifecycle();
  await lifecycle.open(() => undefined);
  const end = Promise.withResolvers<void>();
  const events: string[] = [];
  const action = async (): Promise<void> => {
    events.push("closing");
    await end.promise;
    events.push("closed");
  };
  const first = lifecycle.close(action).then(() => events.push("first"));
  const second = lifecycle.close(action).then(() => events.push("second"));
  expect(() => lifecycle.assertOpen()).toThrow(expect.objectContaining({ code: "store_closed" }));
  await new Promise(setImmediate);
  end.resolve();
  await Promise.all([first, second]);
  expect(events).toEqual(["closing", "closed", "first", "second"]);
});

test("an open that failed may be tried again", async () => {
  const lifecycle = new Lifecycle();
  await expect(
    lifecycle.open(() => {
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  expect(() => lifecycle.assertOpen()).toThrow(expect.objectContaining({ code: "store_closed" }));
  await lifecycle.open(() => undefined);
  lifecycle.assertOpen();
});

test("what was never open, or failed to open, closes with nothing to do", async () => {
  const lifecycle = new Lifecycle();
  const opening = lifecycle.open(() => Promise.reject(new Error("no")));
  const closing = lifecycle.close(() => expect.unreachable());
  await expect(opening).rejects.toThrow("no");
  await closing;
  await expect(lifecycle.open(() => undefined)).rejects.toMatchObject({ code: "store_closed" });
});
