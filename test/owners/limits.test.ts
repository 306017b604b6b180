import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { fullForm } from "../full-form.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { newPlace } from "../places/place.ts";

const script = fileURLToPath(new URL("./limited-process.ts", import.meta.url));

interface Note {
  readonly what: "begun" | "ended";
  readonly step: string;
  readonly pid: number;
  readonly at: number;
}

const minuteMs = 60_000;
/** So many starts take a minute more for each 60 of them. */
const most = fullForm ? 190 : 70;
const kills = fullForm ? 12 : 5;

/** The most that ran at a time, where those of a killed process ended with it. */
function mostAtOnce(notes: readonly Note[], killed: ReadonlyMap<number, number>): number {
  const changes: { readonly at: number; readonly by: number }[] = [];
  for (const { what, step, pid, at } of notes.filter((note) => note.what === "begun")) {
    const end = notes.find((note) => note.what === "ended" && note.step === step && note.pid === pid);
    changes.push(
      { at, by: what === "begun" ? 1 : 0 },
      { at: end?.at ?? killed.get(pid) ?? Infinity, by: -1 },
    );
  }
  let running = 0;
  let highest = 0;
  for (const { by } of changes.sort((a, b) => a.at - b.at || a.by - b.by)) {
    running += by;
    highest = Math.max(highest, running);
  }
  return highest;
}

it(`three processes that are killed ${kills} times keep to one limit`, { timeout: 900_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-limits-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const place = await newPlace(folder);
  onTestFinished(() => place.remove());
  const log = join(folder, "log");
  const killed = new Map<number, number>();
  const start = async (): Promise<{ child: ChildProcess; url: string }> => {
    const child = spawn(process.execPath, [script, place.at, log], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [url] = (await once(child.stdout, "data")) as [Buffer];
    return { child, url: String(url).trim() };
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    killed.set(child.pid ?? 0, Date.now());
    await place.killed(child.pid ?? 0);
  };
  const notes = async (): Promise<readonly Note[]> =>
    (await readFile(log, "utf8").catch(() => ""))
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Note);
  const starts = async (): Promise<readonly Note[]> => (await notes()).filter(({ what }) => what === "begun");
  const until = async (count: number): Promise<void> =>
    void (await vi.waitUntil(async () => (await starts()).length >= count, {
      timeout: 300_000,
      interval: 50,
    }));

  const processes = [await start(), await start(), await start()];
  for (const [index, { url }] of processes.entries())
    await new StatelessClient(url).call("call", { name: `task${index}`, steps: most });
  for (let round = 1; round <= kills; round++) {
    await until(Math.floor((round * most) / (kills + 1)));
    const [first] = processes.splice(0, 1);
    if (first !== undefined) await kill(first.child);
    processes.push(await start());
  }
  await until(most);
  for (const { child } of processes) await kill(child);

  const times = (await starts()).map(({ at }) => at).sort((a, b) => a - b);
  expect(times.length).toBeGreaterThanOrEqual(most);
  const fullest = Math.max(
    ...times.map((from) => times.filter((at) => at >= from && at < from + minuteMs).length),
  );
  expect(fullest).toBeLessThanOrEqual(61);
  expect(fullest).toBeGreaterThan(50); // or the limit would not have mattered
  expect(mostAtOnce(await notes(), killed)).toBeLessThanOrEqual(4);
});
