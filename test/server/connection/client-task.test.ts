import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { followClientTask } from "../../../src/server/connection/client-task.ts";
import { Connection } from "../../../src/server/connection/connection.ts";
import { onePipe } from "../../../src/server/streams.ts";
import { FakeClock } from "../../../src/testing/clocks.ts";

type Sent = { readonly id: string; readonly method: string };

const working = { taskId: "c1", status: "working", pollInterval: 1_000 };

/** A client's task that is followed on a connection whose other end is the test. */
function following(): {
  sent: Sent[];
  clock: FakeClock;
  answer: (id: string | undefined, result: object) => void;
  stop: AbortController;
  cancelled: () => number;
  end: Promise<unknown>;
} {
  const connection = new Connection(null, onePipe);
  const sent: Sent[] = [];
  connection.connected({
    send: async (message) => void sent.push(message as unknown as Sent),
    afterAnswer: () => undefined,
  });
  const clock = new FakeClock();
  const stop = new AbortController();
  let cancels = 0;
  const method = "sampling/createMessage";
  const question = {
    connection,
    clock,
    signal: stop.signal,
    method,
    params: {},
    via: () => undefined,
  } as const;
  const end = followClientTask(question, "c1", working, () => void (cancels += 1));
  end.catch(() => undefined);
  const answer = (id: string | undefined, result: object): void =>
    void connection.received({ jsonrpc: "2.0", id, result } as JSONRPCMessage);
  return { sent, clock, answer, stop, cancelled: () => cancels, end };
}

it("asks again what was not answered in time, and no longer expects that answer", async () => {
  const { sent, clock, answer, end } = following();
  await clock.advance(1_000);
  expect(sent.map(({ method }) => method)).toEqual(["tasks/get"]);
  for (let lost = 1; lost <= 3; lost += 1) {
    await clock.advance(10_000);
    await clock.advance(2_000);
    expect(sent).toHaveLength(1 + lost);
  }
  answer(sent[0]?.id, { ...working, status: "failed" }); // of a question that was given up
  answer(sent[3]?.id, { ...working, status: "completed" });
  await clock.advance(0);
  expect(sent.at(-1)).toMatchObject({ method: "tasks/result" });
  await clock.advance(12_000);
  answer(sent.at(-1)?.id, { model: "m" });
  expect(await end).toMatchObject({ result: { model: "m" } });
  expect(sent.slice(4).map(({ method }) => method)).toEqual(["tasks/result", "tasks/result"]);
});

it.each([
  ["in a pause", 0],
  ["while a poll is out", 1_000],
  ["after polls that nobody answered", 50_000],
])("cancels the client's task once when the question is withdrawn %s", async (_when, ms) => {
  const { clock, stop, cancelled, end } = following();
  await clock.advance(ms);
  stop.abort(new Error("withdrawn"));
  await expect(end).rejects.toThrow("withdrawn");
  await clock.advance(60_000);
  expect(cancelled()).toBe(1);
});
