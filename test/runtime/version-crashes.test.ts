import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

const newest = 3;

/** One run of a handler: of which version the code was, and its handler. */
interface Ran {
  readonly id: string;
  readonly code: number;
  readonly handler: number;
}

interface Living {
  readonly process: Process;
  readonly crash: () => void;
}

/** Processes of several versions on one database. */
class Versions {
  readonly clock = new FakeClock();
  readonly runs: Ran[] = [];
  readonly #database = memoryDatabase();

  /** A process keeps a handler for version 1 alone. */
  async start(code: number): Promise<Living> {
    const store = new CrashableStore(undefined, this.#database);
    const olderVersions = code > 1 ? { 1: { handler: this.#handler(code, 1) } } : {};
    const config: ToolConfig<undefined> = { version: code, onCrash: "resume", olderVersions };
    const tools = { job: { config, handler: this.#handler(code, code) } };
    const process = new Process({ tools, options: { maxCrashes: 1_000 } }, this.clock, store);
    await process.runtime.start();
    return { process, crash: () => store.crash() };
  }

  #handler(code: number, handler: number): Handler {
    return async (_, task) => {
      this.runs.push({ id: task.id, code, handler });
      for (let n = 0; n < 3; n++) {
        await task.sleep(["nap", n], 700);
        await task.step(["step", n], () => n);
      }
      const branches = [];
      for (let since = 1; since <= handler; since++)
        branches.push(await task.version(["since", since], since));
      return text(JSON.stringify(branches));
    };
  }
}

const blow = fc.record({
  version: fc.integer({ min: 1, max: newest }),
  place: fc.nat({ max: 2 }),
  ms: fc.nat({ max: 4_000 }),
  calls: fc.nat({ max: 2 }),
});

it("runs each task by the handler of its version, whichever processes of whichever versions die", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(blow, { minLength: 2, maxLength: 8 }), async (blows) => {
      const host = new Versions();
      const places: (Living | undefined)[] = [await host.start(1), await host.start(2), undefined];
      const ids: string[] = [];
      for (const { version, place, ms, calls } of blows) {
        const living = places.filter((each) => each !== undefined);
        for (let n = 0; n < calls; n++) {
          const at = living[n % living.length];
          if (at !== undefined) ids.push(await at.process.callId("job"));
        }
        await host.clock.advance(ms);
        places[place]?.crash();
        places[place] = await host.start(version);
      }
      for (const each of places) each?.crash();
      const { process } = await host.start(newest);
      await host.clock.advance(200_000);
      for (const id of ids) {
        const snapshot = await process.get(id);
        const { toolVersion } = snapshot.task;
        const version = toolVersion ?? 0;
        const runs = host.runs.filter((run) => run.id === id);
        expect(runs.every(({ code }) => code >= version)).toBe(true);
        expect(runs.every(({ code, handler }) => handler === (version === 1 ? 1 : code))).toBe(true);
        // The last run has decided the branches, by the version that the task began with.
        const last = runs.at(-1)?.handler ?? 0;
        const branches = Array.from({ length: last }, (_, index) => index + 1 <= version);
        expect(bodyOf(snapshot)).toEqual(text(JSON.stringify(branches)));
      }
    }),
    { numRuns: 60 },
  );
});
