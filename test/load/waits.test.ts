import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { completed, sent, working } from "../client/answers.ts";
import type { Answer, SeenRequest } from "../client/scripted-server.ts";
import { ScriptedStream } from "../client/scripted-stream.ts";
import { setUp } from "../client/setup.ts";
import { fullForm } from "../full-form.ts";

const count = fullForm ? 10_000 : 1_000;
const perStream = 500;

/** Of a wait, with its task's state and its poll's timer; generous. */
const mostBytes = 32_768;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const told = ({ params }: SeenRequest): Answer => working({ taskId: params["taskId"], pollIntervalMs: 1000 });

it(`${count} waits share few streams and polls, and hold little`, { timeout: 300_000 }, async () => {
  const { server, client, clock } = await setUp({ listen: true });
  clock.hold();
  const ids = Array.from({ length: count }, (_, n) => `task-${n}`);
  const streams = Array.from({ length: Math.ceil(count / perStream) }, () => new ScriptedStream());
  const steps = ids.map(() => told);
  server.script("tasks/get", ...steps);
  server.script("subscriptions/listen", ...streams);
  const reference = { server: server.url, generation: "2026-07-28" };
  const base = heap();
  let ended = 0;
  const waits = ids.map(async (taskId) => {
    const handle = await client.resume({ ...reference, taskId });
    const result = await handle.result();
    ended++;
    return result;
  });
  const results = Promise.all(waits);
  results.catch(() => undefined);
  await server.sees("tasks/get", count);
  for (const _ of streams) (await clock.nap(10)).wake();
  await server.sees("subscriptions/listen", streams.length);
  const asked = server.of("subscriptions/listen").map(({ params }) => {
    const { taskIds } = params["notifications"] as { taskIds: string[] };
    return taskIds;
  });
  expect(asked.flat().toSorted()).toEqual(ids.toSorted());
  await Promise.all(streams.map(async (stream, place) => stream.acknowledge(asked[place])));
  server.seen.length = 0;
  streams[0]?.push(working({ taskId: ids[0], statusMessage: "seen", pollIntervalMs: 1000 }));
  const held = (heap() - base) / count;
  console.log(`load: a wait of ${count} holds ${Math.round(held)} bytes`);
  expect(held).toBeLessThan(mostBytes);
  // One timer each, for the safety net, and one for a stream that is not acknowledged yet; nothing else goes on.
  expect(clock.armed).toBeLessThanOrEqual(count + streams.length);
  expect(server.seen).toEqual([]);
  streams.forEach((stream, place) => {
    for (const taskId of asked[place] ?? []) stream.push(completed(sent, { taskId }));
  });
  await results;
  await Promise.all(streams.map(({ left }) => left));
  expect(ended).toBe(count);
  expect(server.of("tasks/get")).toEqual([]);
  expect(clock.armed).toBe(0);
});
