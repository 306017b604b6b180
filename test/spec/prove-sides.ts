import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeEach, type RunnerTask as Task, type RunnerTestFile } from "vitest";
import { provenIds } from "./coverage.ts";
import { driven, type Part } from "./driven.ts";
import { canProve, isForBoth, sidesDriven, sidesOf, type Side } from "./sides.ts";

// A set-up file of vitest: a test that names rows has to drive the side that each of them is for.

let current: RunnerTestFile | undefined;
/** For each row that is for both sides, the sides at which the tests of this file have shown it. */
const shown = new Map<string, Set<Side>>();

/** Processes that ran at some time in this test. */
let children: ChildProcess[] = [];

subscribe("child_process", (message) => {
  children.push((message as { process: ChildProcess }).process);
});

beforeEach(({ task }) => {
  if (current !== task.file) shown.clear();
  current = task.file;
  for (const part of Object.keys(driven) as Part[]) driven[part] = false;
  children = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
});

afterEach(({ task }) => {
  const ids = [...provenIds(JSON.stringify(task.name))];
  if (sidesOf(task.file.name).length === 0 || task.result?.state === "fail") return;
  for (const part of children.flatMap(({ spawnargs }) => spawnargs.flatMap((file) => partsOf(file)))) {
    driven[part] = true;
  }
  for (const id of ids.filter(isForBoth)) {
    shown.set(id, new Set([...(shown.get(id) ?? []), ...sidesDriven(driven)]));
  }
  const open = ids.filter((id) => !canProve(id, driven));
  if (open.length > 0) throw new Error(`Drives nothing that ${open.join(", ")} could be proved of.`);
});

afterAll(() => {
  if (current === undefined || current.tasks.some(isIncomplete)) return;
  const sides = sidesOf(current.name);
  const open = [...shown].filter(([, has]) => !sides.every((side) => has.has(side)));
  if (open.length > 0) {
    throw new Error(
      `Shows at one side alone what is for ${sides.join(" and ")}: ${open.map(([id]) => id).join(", ")}.`,
    );
  }
});

/** Whether something of a file was left out, as by `-t`, or failed. */
function isIncomplete(task: Task): boolean {
  return task.type === "suite"
    ? task.tasks.some(isIncomplete)
    : task.mode !== "run" || task.result?.state !== "pass";
}

/** What a program drives: which entries of the package it loads, itself or by files beside it. */
function partsOf(file: string, seen = new Set<string>()): Part[] {
  if (!/\.m?[jt]s$/.test(file) || !existsSync(file) || seen.has(file)) return [];
  seen.add(file);
  if (file.endsWith("/dist/cli.js")) return ["client"];
  const imports = readFileSync(file, "utf8").matchAll(/(?:from|import) "(?<name>[^"]+)"/g);
  return [...imports].flatMap(({ groups }): Part[] => {
    const name = groups?.["name"] ?? "";
    if (name.startsWith(".")) return partsOf(join(dirname(file), name), seen);
    if (name === "holdfast/client") return ["client"];
    return ["holdfast", "holdfast/http", "holdfast/stdio"].includes(name) ? ["server"] : [];
  });
}
