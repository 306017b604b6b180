import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createTasks } from "holdfast";
import { expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { newPlace } from "../places/place.ts";
import { storeAt } from "../places/store-at.ts";
import { EventStreams, type Sender } from "./event-streams.ts";
import { readLog, repeatedSteps } from "./log.ts";
import { overlappingAttempts } from "./overlaps.ts";
import { seededRandom } from "./random.ts";
import { Rpc } from "./rpc.ts";
import { Victim } from "./victim.ts";

const kills = Number(process.env["CRASH_KILLS"] ?? (fullForm ? 150 : 4));
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
/** What is lost is found by a look at everything, once a minute: nothing is to need that. */
const patienceAtEndMs = 50_000;
const limitMs = 180_000 + kills * 9_000;

it(
  `gives each event to one wait, in order, through ${kills} kills (CRASH_SEED=${seed})`,
  { timeout: limitMs },
  async ({ onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-events-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const random = seededRandom(seed);
    const place = await newPlace(folder);
    onTestFinished(() => place.remove());
    const logFile = join(folder, "log");
    const streams = new EventStreams(random);
    const start = (): Victim => new Victim({ place, logFile, maxParkedFrames: Math.floor(random() * 3) });

    // Half of the events come from a process that runs no handlers, and that nobody kills.
    const complaints: unknown[] = [];
    const tasks = createTasks({
      store: storeAt(place.at),
      roles: ["serve"],
      unregisteredGraceMs: 3_600_000,
      onError: (error) => complaints.push(error),
    });
    await tasks.start();
    onTestFinished(() => tasks.stop());
    const fromHere: Sender = async ({ taskId, name, value, dedupeId }) =>
      tasks.sendEvent(taskId, name, value, { dedupeId }).then(
        (isNew) => (isNew ? "new" : "known"),
        (error: { code?: unknown }) => String(error.code),
      );
    const rpcOf = async (victim: Victim): Promise<Rpc> => {
      const url = await victim.ready();
      if (url === undefined) throw new Error(`The server did not start: ${victim.stderr}`);
      return new Rpc(url);
    };
    const sendersOf = (victim: Victim): readonly Sender[] => [fromHere, (event) => victim.sendEvent(event)];

    for (let kill = 0; kill < kills; kill++) {
      streams.add(12);
      const startedAt = performance.now();
      const victim = start();
      onTestFinished(() => victim.kill());
      const dead = new AbortController();
      let driving: Promise<void> | undefined;
      // Some die while they start and recover, most while they work.
      if (random() < 0.85) driving = streams.drive(await rpcOf(victim), sendersOf(victim), dead.signal);
      // On a slow machine a start takes longer, and so does work.
      const startMs = driving === undefined ? 0 : performance.now() - startedAt;
      await pause(random() * Math.max(320, startMs / 2));
      await victim.kill();
      dead.abort();
      await driving;
      expect(victim.stderr).toBe("");
      expect([...streams.violations, ...complaints]).toEqual([]);
    }

    const last = start();
    onTestFinished(() => last.kill());
    const patience = AbortSignal.timeout(patienceAtEndMs);
    await streams.drive(await rpcOf(last), sendersOf(last), patience);
    await last.kill();
    expect([...streams.violations, ...complaints]).toEqual([]);
    expect(streams.open).toBe(0);
    expect(streams.taken).toBeGreaterThan(kills);
    const lines = readLog(logFile);
    expect(repeatedSteps(lines)).toEqual([]);
    expect(overlappingAttempts(lines)).toEqual([]);
    // With few kills no wait may have come to the end of its time.
    if (kills < 50) return;
    expect(lines.filter(({ event, value }) => event === "saw" && value === "late")).not.toEqual([]);
  },
);
