import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { newPlace } from "../places/place.ts";
import { readLog, repeatedSteps, runsOf, type LogLine } from "./log.ts";
import { onlookerAt, type Leftovers } from "./onlooker.ts";
import { overlappingAttempts } from "./overlaps.ts";
import { seededRandom } from "./random.ts";
import { Rpc } from "./rpc.ts";
import { workersOf, type TreeResult } from "./tree-tools.ts";
import { Trees, type Tree } from "./trees.ts";
import { Victim } from "./victim.ts";

const kills = Number(process.env["CRASH_KILLS"] ?? (fullForm ? 150 : 4));
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
/** What is lost is found by a look at everything, once a minute: nothing is to need that. */
const patienceAtEndMs = 50_000;
const limitMs = 180_000 + kills * 9_000;

const nothing: Leftovers = { children: 0, tasks: 0, entries: 0, unfinished: 0, waits: 0 };

/** Whether a tree has come to what its leaves have come to: each of them once, by what is in the log. */
function problemsOf({ args, word, cancelled, ended, taskId }: Tree, lines: readonly LogLine[]): string[] {
  const text = ended?.result?.content[0].text ?? "";
  if (ended?.status === "cancelled") return cancelled === true ? [] : [`${taskId} was cancelled by itself`];
  if (ended?.status !== "completed") return [`${taskId} ended as ${JSON.stringify(ended)}`];
  if (args.failing !== null)
    return text === 'Tool "leaf" failed: withered' ? [] : [`${taskId} ended with ${text}`];
  const { leaves, below } = JSON.parse(text) as TreeResult;
  const worked = new Set(
    lines.filter(({ event, key }) => event === "kept" && key === "work").map(({ value }) => value),
  );
  const [beside = "", asked = ""] = below;
  const [answered = "", said] = asked.split(" ");
  const values = [...leaves, beside, answered];
  const isWhole = leaves.length === args.count && new Set(values).size === workersOf(args.count);
  if (!isWhole || said !== word || values.some((value) => !worked.has(value)))
    return [`${taskId} of ${JSON.stringify(args)} ended with ${text}`];
  return [];
}

it(
  `has each call of a tree come to its end once, and leaves nothing, through ${kills} kills (CRASH_SEED=${seed})`,
  { timeout: limitMs },
  async ({ onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-trees-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const random = seededRandom(seed);
    const place = await newPlace(folder);
    onTestFinished(() => place.remove());
    const logFile = join(folder, "log");
    const onlooker = onlookerAt(place.at);
    const trees = new Trees(random);
    const start = (): Victim => new Victim({ place, logFile, maxParkedFrames: Math.floor(random() * 4) });
    const rpcOf = async (victim: Victim): Promise<Rpc> => {
      const url = await victim.ready();
      if (url === undefined) throw new Error(`The server did not start: ${victim.stderr}`);
      return new Rpc(url);
    };

    for (let kill = 0; kill < kills; kill++) {
      trees.add(6);
      const startedAt = performance.now();
      const victim = start();
      onTestFinished(() => victim.kill());
      // Beside another process, the tasks of a tree run in both.
      const other = random() < 0.4 ? start() : undefined;
      onTestFinished(() => other?.kill());
      const dead = new AbortController();
      let driving: Promise<void> | undefined;
      // Some die while they start and recover, most while they work.
      if (random() < 0.85) driving = trees.drive(await rpcOf(victim), dead.signal);
      // On a slow machine a start takes longer, and so does work.
      const startMs = driving === undefined ? 0 : performance.now() - startedAt;
      await pause(random() * Math.max(320, startMs / 2));
      await victim.kill();
      dead.abort();
      await driving;
      if (other !== undefined) await pause(random() * 1_500);
      await other?.kill();
      expect([victim.stderr, other?.stderr ?? ""]).toEqual(["", ""]);
      expect(trees.violations).toEqual([]);
    }

    const last = start();
    onTestFinished(() => last.kill());
    await trees.drive(await rpcOf(last), AbortSignal.timeout(patienceAtEndMs));
    expect(trees.open).toEqual([]);
    await expect.poll(() => onlooker.leftovers(), { timeout: patienceAtEndMs }).toEqual(nothing);
    await last.kill();
    expect(last.stderr).toBe("");
    expect(await onlooker.leftovers()).toEqual(nothing);
    const lines = readLog(logFile);
    expect(trees.violations).toEqual([]);
    expect(trees.all.flatMap((tree) => problemsOf(tree, lines))).toEqual([]);
    expect(repeatedSteps(lines)).toEqual([]);
    expect(overlappingAttempts(lines)).toEqual([]);
    // Each call made one task.
    const most = trees.all.reduce((sum, { args }) => sum + workersOf(args.count), 0);
    expect(new Set(runsOf(lines, "work")).size).toBeLessThanOrEqual(most);
    const whole = trees.all.filter(({ args, cancelled }) => args.failing === null && cancelled !== true);
    const least = whole.reduce((sum, { args }) => sum + workersOf(args.count), 0);
    expect(new Set(runsOf(lines, "work")).size).toBeGreaterThanOrEqual(least);
    expect(trees.all.length).toBeGreaterThan(kills / 3);
  },
);
