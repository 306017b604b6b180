import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { text } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { LoadedServer } from "./loaded-server.ts";
import { phases } from "./phases.ts";
import type { Held } from "./server.ts";

/** In full: 500 creates, 2,000 listeners, 5 MB results. */
const scale = fullForm ? 1 : 0.1;

/**
 * How much more than at the base may be held after a phase. What is live has to be what it was: room for code that V8
 * compiled meanwhile, and for what a socket that is closing still holds. Of the pages that were in use at a peak the
 * allocator and V8 keep some, so those of the process are bounded more widely; 5 MB results alone take a multiple of
 * the base while they are written.
 */
const most = { heap: 1.5, rss: 4 };

/** Sockets take a few turns to close, and each look is one. */
const looks = 100;

describe("under load, the server", { timeout: 300_000 }, () => {
  let server: LoadedServer;
  let base: Held;
  beforeAll(async () => {
    server = await LoadedServer.start();
    // Once through everything, so that the base is that of a server at work.
    for (const phase of Object.values(phases)) await phase(server.url, 0.02);
    base = await server.held();
  }, 120_000);
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
    expect(server.stderr).toBe("");
  });

  it.each(Object.entries(phases))(
    "loses nothing, comes back to its base and answers: %s",
    async (_, phase) => {
      await phase(server.url, scale);
      expect((await new StatelessClient(server.url).call("greet", { name: "Ann" })).result).toMatchObject(
        text("hello Ann"),
      );
      let held = await server.held();
      for (let look = 0; look < looks && held.heap > base.heap * most.heap; look++)
        held = await server.held();
      expect(held.heap / base.heap).toBeLessThan(most.heap);
      expect(held.rss / base.rss).toBeLessThan(most.rss);
    },
  );
});
