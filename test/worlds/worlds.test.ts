import { appendFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { expectKept } from "../crash/many-owners.ts";
import { seededRandom } from "../crash/random.ts";
import { fullForm } from "../full-form.ts";
import { placeInFile, placeInPostgres, type Place } from "../places/place.ts";
import { endProcess } from "../postgres/end-owner.ts";
import { OwnServer } from "../postgres/own-server.ts";
import { defaultSchema } from "../places/store-at.ts";
import { expectEffectsOnce } from "./agents-and-gateway.ts";

/** How long to make one world after another; zero for one world, which is small. */
const hours = Number(process.env["CHAOS_HOURS"] ?? (fullForm ? 0.1 : 0));
const firstSeed = Number(
  process.env["CHAOS_SEED"] ?? process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9),
);
/** A file for a line of JSON about each world. */
const report = process.env["CHAOS_REPORT"];
const isLong = hours > 0;
const longestWorldMs = 600_000;

type Kind = "SQLite" | "Postgres" | "Postgres that crashes";
const kinds: readonly Kind[] = ["SQLite", "Postgres", "Postgres that crashes"];

interface Found {
  readonly place: Place;
  readonly outage?: () => Promise<void>;
}

/** A place for the tasks of the processes of a world. */
async function placeOf(kind: Kind, folder: string, random: () => number): Promise<Found> {
  if (kind === "SQLite") return { place: placeInFile(join(folder, "tasks.db")) };
  if (kind === "Postgres") return { place: await placeInPostgres() };
  const server = await OwnServer.start();
  const { url } = server;
  return {
    place: { at: url, killed: (pid) => endProcess(url, defaultSchema, pid), remove: () => server.end() },
    outage: async () => {
      await server.stop("immediate");
      await pause(random() * 2_000);
      await server.start();
    },
  };
}

/** One world: processes at one place, and an agent and a gateway beside them, while everything is killed and stopped. */
async function world(seed: number): Promise<object> {
  const random = seededRandom(seed);
  const begin = Date.now();
  const folder = await mkdtemp(join(tmpdir(), "holdfast-world-"));
  const kind = isLong ? (kinds[Math.floor(random() * kinds.length)] ?? "SQLite") : "SQLite";
  const { place, outage } = await placeOf(kind, folder, random);
  try {
    const size = 2 + Math.floor(random() * 2);
    const blows = isLong ? 5 + Math.floor(random() * 20) : 2;
    const parts = [
      expectKept({ folder, place, size, random, blows, ...(outage && { outage }) }),
      expectEffectsOnce({
        folder: join(folder, "agents"),
        random: seededRandom(seed + 1),
        blows: isLong ? 3 + Math.floor(random() * 8) : 2,
        calls: isLong ? 6 + Math.floor(random() * 20) : 4,
      }),
    ] as const;
    await Promise.allSettled(parts); // one that failed leaves the other no processes to end
    const [kept, effects] = await Promise.all(parts);
    const { tasks, requests } = kept;
    return {
      seed,
      kind,
      seconds: Math.round((Date.now() - begin) / 1_000),
      blows: blows + effects.blows,
      tasks,
      requests,
      calls: effects.calls,
    };
  } finally {
    await place.remove();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const title = isLong ? `worlds for ${hours} hours` : "a world";

test(
  `${title}: nothing that anyone was told is lost, and no effect comes twice (CHAOS_SEED=${firstSeed})`,
  { timeout: hours * 3_600_000 + longestWorldMs, ...(isLong && { retry: 0 }) },
  async () => {
    const end = Date.now() + hours * 3_600_000;
    const failed: object[] = [];
    let seed = firstSeed;
    do {
      const found = await world(seed).catch((error: unknown) => {
        const told = { seed, failed: inspect(error, { depth: 4, maxArrayLength: 20 }) };
        failed.push(told);
        return told;
      });
      if (report !== undefined) appendFileSync(report, `${JSON.stringify(found)}\n`);
      seed += 2;
    } while (Date.now() < end);
    expect(failed).toEqual([]);
  },
);
