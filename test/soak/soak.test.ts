import { expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { LoadedServer } from "../load/loaded-server.ts";
import { honest } from "./honest.ts";
import { Hostile } from "./hostile.ts";
import type { Held } from "./server.ts";

/** Rounds of traffic; in full they take about three minutes, else a few seconds. */
const rounds = fullForm ? 100 : 2;

/**
 * How much more the median of the last fifth may be than that of the second one: how much is there differs from round to round, and
 * the heap is in part what V8 compiled meanwhile. Half a kilobyte that stays behind of each request is over it. The sessions are not
 * compared: those that nobody ends are there for as long as they may be idle, so that their number follows the pace of the machine.
 */
const most = {
  heap: { times: 1.1, plus: 0 },
  descriptors: { times: 1.3, plus: 10 },
  log: { times: 1.3, plus: 256 * 1024 },
} as const;

/** Files that the server opens once, with the first that comes. */
const files = 4;

/** Looks at a server to which nobody comes any more, until it has given up what was left behind; each takes a collection. */
const looks = 2_000;

async function quiet(server: LoadedServer<Held>, base: Held): Promise<Held> {
  let held = await server.held();
  for (let look = 0; look < looks; look++) {
    if (held.sessions === 0 && held.descriptors <= base.descriptors + files) break;
    held = await server.held();
  }
  return held;
}

function median(samples: readonly Held[], measure: keyof Held): number {
  const sorted = samples.map((held) => held[measure]).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

it(
  `${rounds} rounds of honest and hostile clients leave nothing behind`,
  { timeout: 1_800_000 },
  async () => {
    const server = await LoadedServer.start<Held>(new URL("./server.ts", import.meta.url));
    const hostile = new Hostile(server.url);
    const samples: Held[] = [];
    let base: Held;
    let after: Held;
    let code: number | null;
    try {
      base = await server.held();
      for (let round = 0; round < rounds; round++) {
        await Promise.all([honest(server.url, round), hostile.round()]);
        samples.push(await server.held());
      }
      hostile.end();
      after = await quiet(server, base);
    } finally {
      hostile.end();
      code = await server.stop();
    }
    console.log([base, ...samples, after].map((held) => JSON.stringify(held)).join("\n"));
    expect([code, server.stderr]).toEqual([0, ""]);
    expect(after.sessions).toBe(0);
    expect(after.descriptors).toBeLessThanOrEqual(base.descriptors + files);
    if (!fullForm) return;
    const fifth = rounds / 5;
    const [second, last] = [samples.slice(fifth, 2 * fifth), samples.slice(-fifth)];
    for (const measure of ["heap", "descriptors", "log"] as const) {
      const { times, plus } = most[measure];
      const held = median(last, measure);
      expect.soft(held, measure).toBeLessThanOrEqual(median(second, measure) * times + plus);
    }
  },
);
