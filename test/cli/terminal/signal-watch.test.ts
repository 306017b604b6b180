import { spawnSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { watchSignals } from "../../../src/cli/terminal/signal-watch.ts";

function setup(): { source: EventEmitter; killed: string[]; interrupts: ReturnType<typeof watchSignals> } {
  const source = new EventEmitter();
  const killed: string[] = [];
  return { source, killed, interrupts: watchSignals(source, (signal) => killed.push(signal)) };
}

it("distinguishes a first Ctrl-C from a second, as a signal or as a key", () => {
  const { source, interrupts, killed } = setup();
  expect(interrupts.signal.aborted).toBe(false);
  source.emit("SIGINT");
  expect([interrupts.signal.aborted, interrupts.again.aborted]).toEqual([true, false]);
  interrupts.press();
  expect(interrupts.again.aborted).toBe(true);
  expect(interrupts.terminated.aborted).toBe(false);
  expect(killed).toEqual([]);
});

it("ends the process at the third, and leaves no listener behind", () => {
  const { source, killed } = setup();
  for (let press = 0; press < 3; press++) source.emit("SIGINT");
  expect(killed).toEqual(["SIGINT"]);
  expect(source.eventNames()).toEqual([]);
});

it("aborts on SIGTERM, and ends the process on a second one", () => {
  const { source, interrupts, killed } = setup();
  source.emit("SIGTERM");
  expect([interrupts.signal.aborted, interrupts.terminated.aborted]).toEqual([true, true]);
  expect(interrupts.again.aborted).toBe(false);
  source.emit("SIGTERM");
  expect(killed).toEqual(["SIGTERM"]);
});

it.each([
  ["linux", { status: null, signal: "SIGINT" }],
  ["win32", { status: 130, signal: null }],
] as const)("ends as one ended by Ctrl-C does: %s", (platform, end) => {
  const module = new URL("../../../src/cli/terminal/signal-watch.ts", import.meta.url).href;
  const script = `import { endBySignal } from "${module}"; endBySignal("SIGINT", "${platform}");`;
  const { status, signal } = spawnSync(process.execPath, ["--input-type=module", "--eval", script]);
  expect({ status, signal }).toEqual(end);
});

it("removes its listeners when disposed", () => {
  const { source, interrupts } = setup();
  expect(source.eventNames()).toEqual(["SIGINT", "SIGTERM"]);
  interrupts[Symbol.dispose]();
  expect(source.eventNames()).toEqual([]);
});
