import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { decideAfterInterrupt } from "../../../src/cli/terminal/open-terminal.ts";
import { watchSignals } from "../../../src/cli/terminal/signal-watch.ts";
import type { ShownTask } from "../../../src/cli/terminal/terminal.ts";
import { FakeClock } from "../../client/fake-clock.ts";

const task = { taskId: "K7", tool: "count", watchCommand: "holdfast watch K7" };

interface Scene {
  readonly source: EventEmitter;
  readonly clock: FakeClock;
}

/** What is decided after `first`, when `act` happens once there is a pause. */
async function decided(
  about: ShownTask,
  act: (scene: Scene) => void,
  first: "SIGINT" | "SIGTERM" = "SIGINT",
): Promise<{ decision: string; lines: readonly string[] }> {
  const source = new EventEmitter();
  using watch = watchSignals(source, () => {});
  const clock = new FakeClock();
  const lines: string[] = [];
  source.emit(first);
  const decision = await decideAfterInterrupt(about, watch, clock, (line) => {
    lines.push(line);
    if (line.includes("Ctrl-C again")) queueMicrotask(() => act({ source, clock }));
  });
  expect(clock.armed).toBe(0);
  return { decision, lines };
}

it("says how to return to the task, waits for another Ctrl-C, and detaches", async () => {
  const { decision, lines } = await decided(task, ({ clock }) => clock.passDeadlines());
  expect(lines).toEqual([
    "The task continues. Come back to it with:\n  holdfast watch K7",
    "Press Ctrl-C again within 3 seconds to cancel the task.",
  ]);
  expect(decision).toBe("detach");
});

it("cancels at the second", async () => {
  const { decision, lines } = await decided(task, ({ source }) => source.emit("SIGINT"));
  expect(lines.at(-1)).toBe("Cancelling the task …");
  expect(decision).toBe("cancel");
});

it("says what happens to a server process that ends with the command", async () => {
  const { lines } = await decided({ ...task, serverEnds: true }, ({ clock }) => clock.passDeadlines());
  expect(lines).toEqual([
    expect.stringMatching(/^Its server stops with this command.*in memory.*\n {2}holdfast watch K7$/),
    "Press Ctrl-C again within 3 seconds to cancel the task.",
  ]);
});

it("does not wait after SIGTERM", async () => {
  const early = await decided(task, () => {}, "SIGTERM");
  expect([early.decision, early.lines.length]).toEqual(["detach", 1]);
  const late = await decided(task, ({ source }) => source.emit("SIGTERM"));
  expect(late.decision).toBe("detach");
});
