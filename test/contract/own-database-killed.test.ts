import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { storeOnTables } from "holdfast/store";
import { expect, onTestFinished, test } from "vitest";
import { loggedDatabase } from "../../examples/own-database/logged-database.ts";

const program = fileURLToPath(new URL("./own-database-process.ts", import.meta.url));

/** Kills the process in the middle of its writes, after this many lines; adds to what it acknowledged. */
async function killAfter(
  lines: number,
  log: string,
  owner: string,
  known: Map<string, number>,
): Promise<void> {
  const child = spawn(process.execPath, [program, log, owner], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let read = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [name = "", writes] = line.split(" ");
    known.set(name, Number(writes));
    if (++read === lines) child.kill("SIGKILL");
  }
  await closed;
  expect(read).toBeGreaterThanOrEqual(lines);
}

test("a store on a database of one's own keeps what it acknowledged, whenever its process is killed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-own-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const log = join(folder, "tasks.log");
  const known = new Map<string, number>();
  for (const [round, lines] of [1, 2, 7, 40, 101, 260].entries())
    await killAfter(lines, log, `p${round}`, known);

  const store = storeOnTables(loggedDatabase(log));
  await store.open({ id: "last", handlers: [] });
  for (const [name, writes] of known) {
    const snapshot = await store.snapshot(`task-${name}`);
    const entries = await store.journalEnds(`task-${name}`, ["step"]);
    expect([name, snapshot !== undefined]).toEqual([name, true]);
    // What was not acknowledged may be there as well, but whole.
    const state = snapshot?.task.state;
    const found = state === "settled" ? 3 : entries.length > 0 ? 2 : 1;
    expect(found).toBeGreaterThanOrEqual(writes);
    expect(snapshot?.outcome?.body).toBe(state === "settled" ? `"${name}"` : undefined);
    expect(entries.map(({ value }) => value)).toEqual(found > 1 ? [`"${name}"`] : []);
  }
  const unfinished = await store.unfinished("", 9_999);
  expect((await store.renew()).gone).toContain("p5");
  expect(unfinished.every(({ owner }) => owner !== null)).toBe(true);
  await store.close();
});
