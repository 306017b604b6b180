import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";
import { fullForm } from "../full-form.ts";
import { newPlace, onPostgres } from "../places/place.ts";
import { expectKept } from "./many-owners.ts";
import { seededRandom } from "./random.ts";

/** Processes that are killed or stopped, in all suites together. */
const blows = Math.ceil(Number(process.env["CRASH_KILLS"] ?? (fullForm ? 300 : 8)) / 2);
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
const limitMs = 180_000 + blows * 9_000;

// Most of their time is spent waiting for processes that are stopped. Of three one only serves: two run tasks.
it.concurrent.for(fullForm || onPostgres ? [2, 3] : [3])(
  `keeps every promise between %i processes at one place, through ${blows} kills and stops (CRASH_SEED=${seed})`,
  { timeout: limitMs },
  async (size, { onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-many-owners-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const place = await newPlace(folder);
    onTestFinished(() => place.remove());
    await expectKept({ folder, place, size, random: seededRandom(seed), blows });
  },
);
