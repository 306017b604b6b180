import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { LiveDisplay } from "../../../src/cli/terminal/live-display.ts";
import type { RemoteTask } from "../../../src/client/task/remote-task.ts";
import { FakeClock } from "../../client/fake-clock.ts";

const task: RemoteTask = {
  taskId: "t1",
  status: "completed",
  createdAt: "2026-10-01T10:00:00Z",
  lastUpdatedAt: "2026-10-01T12:05:00Z",
  ttlMs: null,
  result: { content: [] },
};

/** What stays on the screen. */
async function told(show: (display: LiveDisplay, clock: FakeClock) => void): Promise<string> {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const clock = new FakeClock();
  const display = new LiveDisplay(stream as unknown as NodeJS.WriteStream, {
    clock,
    unicode: false,
    asks: false,
  });
  show(display, clock);
  display.end();
  stream.end();
  return stripVTControlCharacters(await text(stream));
}

it("shows how long the task took, not the command that fetched its outcome", async () => {
  const shown = await told((display) => {
    display.started({ taskId: "t1", tool: "render", watchCommand: "" });
    display.update(task);
  });
  expect(shown).toContain("* render completed after 2h 05m\n");
});

it("shows how long a task has run since an earlier command started it", async () => {
  const shown = await told((display, clock) => {
    display.started({ taskId: "t1", tool: "render", watchCommand: "", startedAt: clock.now() - 190_000 });
    display.update({ ...task, status: "working", lastUpdatedAt: task.createdAt });
  });
  expect(shown).toContain("render 3m 10s");
});

it("does not count the time to connect", async () => {
  const shown = await told((display, clock) => {
    display.connecting("reports");
    clock.set(60_000);
    display.calling("render");
  });
  expect(shown).toContain("calling render 0s");
});

it("shows how long a task has run that was started elsewhere, by its server's clock", async () => {
  const since = async (ahead: number): Promise<string> =>
    told((display, clock) => {
      const createdAt = new Date(clock.now() - ahead).toISOString();
      display.started({ taskId: "t1", tool: undefined, watchCommand: "" });
      display.update({ ...task, status: "working", tool: "render", createdAt, lastUpdatedAt: createdAt });
    });
  expect(await since(190_000)).toContain("render 3m 10s");
  // A clock that is ahead says nothing.
  expect(await since(-190_000)).toContain("render 0s");
});

it("shows that the server is away in place of what it said, until it answers", async () => {
  const shown = await told((display) => {
    display.calling("render");
    display.update({ ...task, status: "working", statusMessage: "page 3", lastUpdatedAt: task.createdAt });
    display.trouble("server unreachable, trying again");
    display.trouble(undefined);
  });
  expect(shown).toMatch(
    /render - page 3 0s.*render - server unreachable, trying again 0s.*render - page 3 0s/s,
  );
});

it("says whose question it is where it cannot be asked", async () => {
  const shown = await told((display) => {
    display.connecting("reports");
    display.calling("render");
    display.update({ ...task, status: "input_required", inputRequests: {} });
  });
  expect(shown).toContain("reports, tool render, asks a question. Answer with:\n  holdfast answer t1\n");
});
