import { describe, expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { inSessions, withoutSessions } from "./client-names.ts";
import { KilledServer } from "./killed-server.ts";
import { Peer } from "./peer.ts";

/** For a busy machine; a test takes seconds. */
const timeout = 120_000;

/** A client of 2026-07-28 that closes a stream within five seconds has changed its mind: its time was not over. */
const patience = [
  ...inSessions.map((name) => [name, 2_000] as const),
  ...withoutSessions.map((name) => [name, 6_000] as const),
];

/** As often as a model would. */
const tries = 5;

const referenceIn = (result: string): string | undefined => /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(result)?.[0];

describe.each(fullForm ? patience : patience.slice(0, 1))("%s", { timeout }, (name, patienceMs) => {
  it("gets the result of a slow tool by its ticket, through a kill", async () => {
    const server = await KilledServer.start();
    const peer = await Peer.connect(name, server.url);
    const reference = String(referenceIn(await peer.call("ticketed", "slow")));
    await server.logged("(waits)", "slow");
    await server.restart();
    server.openGate("slow");
    let result = await peer.resultOf(reference);
    while (referenceIn(result) === reference) result = await peer.resultOf(reference);
    expect(result).toBe("SLOW slow");
    expect(server.stepsOf("slow")).toEqual(["first", "second"]);
  });

  it("gets the result of a tool that outlived its patience when it calls again, after a kill", async () => {
    const server = await KilledServer.start();
    const peer = await Peer.connect(name, server.url, patienceMs);
    await expect(peer.call("gated", "slow")).rejects.toThrow();
    await server.restart();
    server.openGate("slow");
    let result = peer.call("gated", "slow");
    for (let n = 1; n < tries; n++) result = result.catch(() => peer.call("gated", "slow"));
    expect(await result).toBe("SLOW slow");
    expect(server.stepsOf("slow")).toEqual(["first", "second"]);
  });
});
