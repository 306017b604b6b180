import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { watchInterrupts } from "../../../src/cli/terminal/interrupts.ts";
import { leaveOrCancel } from "../../../src/cli/terminal/leave-or-cancel.ts";
import { FakeClock } from "../../client/fake-clock.ts";
import { RecordedDisplay } from "./recorded-display.ts";

interface Scene {
  /** What the server says to a cancel. */
  readonly cancel?: (signal: AbortSignal) => Promise<void>;
  readonly serverEnds?: boolean;
}

async function leave(
  act: (scene: { source: EventEmitter; clock: FakeClock; line: string }) => void,
  { cancel = async () => {}, serverEnds = false }: Scene = {},
): Promise<{ code: number; lines: readonly string[] }> {
  const source = new EventEmitter();
  using interrupts = watchInterrupts(source, () => {});
  const clock = new FakeClock();
  const display = new RecordedDisplay();
  display.onLine = (line) => queueMicrotask(() => act({ source, clock, line }));
  source.emit("SIGINT");
  const work = { kind: "task", comeBack: "holdfast watch K7", serverEnds, cancel } as const;
  const code = await leaveOrCancel(work, { display, interrupts, clock });
  expect(clock.armed).toBe(0);
  return { code, lines: display.lines };
}

describe("after Ctrl-C", () => {
  it("says how to come back, waits for another, and leaves", async () => {
    const { code, lines } = await leave(
      ({ clock, line }) => line.startsWith("doing") && clock.passDeadlines(),
    );
    expect(lines).toEqual([
      "say: The task goes on. Come back to it with: holdfast watch K7",
      "doing: Ctrl-C again within 3 seconds cancels the task",
      "left: left",
    ]);
    expect(code).toBe(130);
  });

  it("says what becomes of a server that ends with the command", async () => {
    const act = ({ clock, line }: { clock: FakeClock; line: string }): unknown =>
      line.startsWith("doing") && clock.passDeadlines();
    const { lines } = await leave(act, { serverEnds: true });
    expect(lines[1]).toMatch(/ends with this command.*in memory loses it/);
  });

  it("cancels at the second, and waits for the server's word", async () => {
    const { code, lines } = await leave(
      ({ source, line }) => line.includes("again") && source.emit("SIGINT"),
    );
    expect(lines.slice(-2)).toEqual(["doing: cancelling the task", "cancelled: cancelled"]);
    expect(code).toBe(4);
  });

  it("does not claim a cancel that nobody acknowledged", async () => {
    const { code, lines } = await leave(
      ({ source, clock, line }) => {
        if (line.includes("again")) source.emit("SIGINT");
        if (line.includes("cancelling")) clock.passDeadlines();
      },
      { cancel: waitFor },
    );
    expect(lines.at(-1)).toMatch(/^error: not cancelled .*within 10 seconds/);
    expect(code).toBe(130);
  });

  it("passes on why a cancel was refused", async () => {
    const { lines } = await leave(({ source, line }) => line.includes("again") && source.emit("SIGINT"), {
      cancel: async () => Promise.reject(new Error("no such task")),
    });
    expect(lines.at(-1)).toMatch(/no such task$/);
  });

  it("does not wait once SIGTERM comes, whether for a person or for a server", async () => {
    const early = await leave(({ source, line }) => line.includes("again") && source.emit("SIGTERM"));
    expect(early.code).toBe(143);
    const late = await leave(
      ({ source, line }) => {
        if (line.includes("again")) source.emit("SIGINT");
        if (line.includes("cancelling")) source.emit("SIGTERM");
      },
      { cancel: waitFor },
    );
    expect(late.code).toBe(143);
  });
});

it("says of a call that is no task that it is given up", async () => {
  const source = new EventEmitter();
  using interrupts = watchInterrupts(source, () => {});
  const display = new RecordedDisplay();
  source.emit("SIGINT");
  const code = await leaveOrCancel({ kind: "call" }, { display, interrupts, clock: new FakeClock() });
  expect(display.lines).toEqual([expect.stringMatching(/^left: gave the call up.*nothing to come back to/)]);
  expect(code).toBe(130);
});

it("leaves at once at SIGTERM", async () => {
  const source = new EventEmitter();
  using interrupts = watchInterrupts(source, () => {});
  const display = new RecordedDisplay();
  source.emit("SIGTERM");
  const work = { kind: "task", comeBack: "x", serverEnds: false, cancel: async () => {} } as const;
  expect(await leaveOrCancel(work, { display, interrupts, clock: new FakeClock() })).toBe(143);
  expect(display.lines).toHaveLength(2);
});

async function waitFor(signal: AbortSignal): Promise<void> {
  await new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
