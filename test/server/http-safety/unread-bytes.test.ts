import { expect, it } from "vitest";
import { OutgoingStream } from "../../../src/server/http/outgoing-stream.ts";
import { type Backlog, UnreadBytes } from "../../../src/server/http/unread-bytes.ts";
import { TaskStream } from "../../../src/server/http/task-listeners.ts";
import { LineFeed } from "../../../src/server/listen/feeds.ts";
import { Listening } from "../../../src/server/listen/listening.ts";
import type { Principal } from "../../../src/server/limits.ts";
import { rest } from "../../../src/testing/clocks.ts";
import { Process } from "../../runtime/harness.ts";

/** Room for 100 bytes, and who was cut off so far. */
function budget() {
  const unread = new UnreadBytes(100);
  const cut: string[] = [];
  const open = (holder: Principal, name: string, bytes: number): Backlog => {
    const backlog = unread.open(holder, () => cut.push(name));
    backlog.hold(bytes);
    return backlog;
  };
  return { unread, cut, open };
}

it("counts what waits for each, and for all", () => {
  const { unread, cut, open } = budget();
  const first = open("ann", "first", 30);
  const second = open("ann", "second", 20);
  open(null, "other", 10);
  expect([unread.bytes, unread.of("ann"), unread.of(null)]).toEqual([60, 50, 10]);
  first.hold(5);
  second.end();
  second.hold(40); // its end has come
  expect([unread.bytes, unread.of("ann"), cut]).toEqual([15, 5, []]);
});

it("cuts off the one of who has most that took nothing for longest", () => {
  const { unread, cut, open } = budget();
  open("bob", "bob's", 20);
  const moving = open("ann", "moving", 40);
  open("ann", "stalled", 30);
  moving.hold(35);
  open("bob", "bob's next", 20);
  expect([cut, unread.of("ann"), unread.of("bob")]).toEqual([["stalled"], 35, 40]);
  open("carl", "carl's", 40);
  expect(cut).toEqual(["stalled", "bob's"]);
});

it("cuts off as many as it takes, also of who needs the room, and not what has just begun", () => {
  const { unread, cut, open } = budget();
  for (let n = 0; n < 10; n++) open("ann", `${n}`, 10);
  open("ann", "large", 45);
  expect([cut, unread.bytes]).toEqual([["0", "1", "2", "3", "4"], 95]);
  open("bob", "bob's", 10);
  expect(cut).toEqual(["0", "1", "2", "3", "4", "5"]);
});

it("lets a few large answers be read at once, by turns of who asks, between turns of the event loop", async () => {
  const { unread, cut, open } = budget();
  for (const name of ["carl's first", "carl's next"]) open("carl", name, 40);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = async (holder: Principal, name: string): Promise<void> => {
    ends.push(await unread.reserve(holder, 10, new AbortController().signal));
    begun.push(name);
  };
  for (const name of ["1", "2", "3", "4", "5", "6"]) void ask("ann", name);
  void ask("bob", "bob's");
  await rest();
  expect(begun).toEqual(["1", "2", "3", "4"]);
  // There is room before they are read.
  expect([unread.of("ann"), unread.bytes, cut]).toEqual([40, 80, ["carl's first"]]);
  setImmediate(() => begun.push("another event"));
  for (const end of ends.splice(0, 3)) end();
  await rest();
  expect(begun.slice(4)).toEqual(["another event", "5", "bob's", "6"]);
  for (const end of ends.splice(0)) end();
  await rest();
  expect(unread.of("ann") + unread.of("bob")).toBe(0);
  await ask("ann", "7");
});

it("stops waiting to read an answer that is not wanted any more, and disconnects nobody for it", async () => {
  const { unread, cut, open } = budget();
  const wanted = new AbortController().signal;
  const ends = await Promise.all(["1", "2", "3", "4"].map(() => unread.reserve("ann", 1, wanted)));
  for (const name of ["first", "next"]) open("bob", name, 45);
  const leaving = new AbortController();
  const left = [unread.reserve("ann", 40, leaving.signal), unread.reserve("carl", 40, leaving.signal)];
  const begun = unread.reserve("dora", 1, wanted);
  leaving.abort(new Error("gone"));
  for (const each of left) await expect(each).rejects.toThrow("gone");
  await expect(unread.reserve("ann", 40, leaving.signal)).rejects.toThrow("gone");
  for (const end of ends) end();
  (await begun)();
  await rest();
  expect([cut, unread.bytes]).toEqual([[], 90]);
  // All turns are free again.
  await Promise.all(["1", "2", "3", "4"].map(() => unread.reserve("ann", 1, wanted)));
});

it("takes nothing from another for one who has as much", () => {
  const { cut, open } = budget();
  open("bob", "bob's", 40);
  open("ann", "ann's", 40);
  open("ann", "ann's next", 40);
  expect(cut).toEqual(["ann's"]);
});

it("cuts off one that grows where it has waited for longest itself", () => {
  const { unread, cut, open } = budget();
  const growing = open("ann", "growing", 30);
  open("ann", "other", 30);
  open("bob", "bob's", 35);
  growing.hold(40);
  expect([cut, unread.bytes]).toEqual([["growing"], 65]);
  growing.hold(50);
  growing.end();
  expect([cut, unread.bytes]).toEqual([["growing"], 65]);
});

it("lets one through that is larger than all that may wait, as half of it", () => {
  const { unread, cut, open } = budget();
  open("bob", "bob's", 45);
  const large = open("ann", "large", 1_000);
  expect([cut, unread.of("ann")]).toEqual([[], 50]);
  large.hold(20);
  expect(unread.of("ann")).toBe(20);
});

const chunks = (...texts: string[]): ReadableStream<Uint8Array> => {
  const all = texts.map((text) => new TextEncoder().encode(text));
  return new ReadableStream({
    start(controller) {
      for (const chunk of all) controller.enqueue(chunk);
      controller.close();
    },
  });
};

it("counts what waits on a stream until it is read, also after its end", async () => {
  const unread = new UnreadBytes(100);
  const count = (cut: () => void): Backlog => unread.open("ann", cut);
  const ends: string[] = [];
  const onEnd = (end: string): void => void ends.push(end);
  const stream = new OutgoingStream({ count });
  stream.whenEnded(onEnd);
  stream.relay(chunks("one", "three"));
  const reader = stream.readable.getReader();
  await rest();
  expect([unread.bytes, ends]).toEqual([8, ["complete"]]);
  expect((await reader.read()).value).toHaveLength(3);
  await rest();
  expect(unread.bytes).toBe(5);
  expect((await reader.read()).value).toHaveLength(5);
  expect((await reader.read()).done).toBe(true);
  expect([unread.bytes, ends]).toEqual([0, ["complete"]]);
});

it("breaks a stream that is cut off, and drops what waits when its client is gone", async () => {
  const unread = new UnreadBytes(100);
  const count = (cut: () => void): Backlog => unread.open("ann", cut);
  const ends: string[] = [];
  const onEnd = (end: string): void => void ends.push(end);
  const sources = [new TransformStream<Uint8Array, Uint8Array>(), chunks("x".repeat(80))] as const;
  const writer = sources[0].writable.getWriter();
  const stream = new OutgoingStream({ count });
  stream.whenEnded(onEnd);
  stream.relay(sources[0].readable);
  const stalled = stream.readable;
  await writer.write(new Uint8Array(40));
  await rest();
  expect(unread.bytes).toBe(40);
  const leaving = new AbortController();
  new OutgoingStream({ signal: leaving.signal, count }).relay(sources[1]);
  unread.open("bob", () => undefined).hold(5);
  await writer.write(new Uint8Array(20));
  await rest();
  await expect(stalled.getReader().read()).rejects.toThrow("is not reading");
  expect([ends, unread.bytes]).toEqual([["abandoned"], 55]);
  leaving.abort();
  expect(unread.bytes).toBe(5);
});

it("counts what waits on a stream about tasks, and gives up its tasks when it is cut off", async () => {
  const unread = new UnreadBytes(100);
  let closed = false;
  const { runtime } = await Process.started({ tools: {} });
  const nothing = { accepted: { taskIds: undefined, uris: [] }, missed: 0 };
  const listening = new Listening([new LineFeed(runtime)], nothing, () => (closed = true));
  const errorOf = (): { code: number; message: string } => ({ code: 0, message: "" });
  const sdk = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`: ${"x".repeat(40)}\n\n`)),
  });
  const out = new OutgoingStream({ count: (cut) => unread.open("ann", cut) });
  new TaskStream(out, listening, 1, errorOf).relay(sdk);
  await rest();
  expect([unread.of("ann"), closed]).toEqual([44, false]);
  for (const bytes of [40, 20]) unread.open("ann", () => undefined).hold(bytes);
  expect([unread.of("ann"), closed]).toEqual([60, true]);
  await expect(out.readable.getReader().read()).rejects.toThrow("is not reading");
});
