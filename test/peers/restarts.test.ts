import { expect, describe, it } from "vitest";
import { fullForm } from "../full-form.ts";
import type { ClientName } from "./clients/open-client.ts";
import { KilledServer } from "./killed-server.ts";
import { Peer } from "./peer.ts";

/** For a busy machine; a test takes a few seconds. */
const timeout = 120_000;

async function connected(name: ClientName): Promise<{ server: KilledServer; peer: Peer }> {
  const server = await KilledServer.start();
  return { server, peer: await Peer.connect(name, server.url) };
}

/** In a session, as in protocol 2025-11-25; all but SDK v2 use the transport of SDK v1. */
const inSessions: readonly ClientName[] = fullForm
  ? ["SDK v1", "SDK v2", "LangChain", "mcp-use"]
  : ["SDK v1"];

describe.each(inSessions)("%s", { timeout }, (name) => {
  it("leaves a call in flight that ends after a kill, with no step run twice", async () => {
    const { server, peer } = await connected(name);
    expect(await peer.list()).toEqual(expect.arrayContaining(["echo", "quick", "gated"]));
    expect(await peer.call("echo", "plain")).toBe("plain");
    expect(await peer.call("quick", "one")).toBe("ONE");
    peer.call("gated", "left").catch(() => undefined); // nobody waits for it
    await server.logged("(waits)", "left");
    await server.restart();
    server.openGate("left");
    await server.logged("second", "left");
    expect(server.stepsOf("left")).toEqual(["first", "second"]);
  });
});

/** In protocol 2026-07-28, where each request stands alone and a stream that broke is not resumed. */
const withoutSessions: readonly ClientName[] = fullForm ? ["AI SDK", "OpenAI Agents", "Mastra"] : [];

describe.each(withoutSessions)("%s", { timeout }, (name) => {
  it("goes on when the server is killed between any two requests", async () => {
    const { server, peer } = await connected(name);
    await server.restart();
    expect(await peer.list()).toEqual(expect.arrayContaining(["echo", "quick", "gated"]));
    await server.restart();
    expect(await peer.call("echo", "plain")).toBe("plain");
    await server.restart();
    expect(await peer.call("quick", "one")).toBe("ONE");
    expect(server.stepsOf("one")).toEqual(["shout"]);
    expect(peer.sentOf("server/discover")).toHaveLength(1);
    expect(peer.sentOf("initialize")).toEqual([]);
  });

  it("loses a call in flight at once, and gets its result when it makes the same call again", async () => {
    const { server, peer } = await connected(name);
    const lost = peer.call("gated", "again");
    lost.catch(() => undefined); // it is awaited later
    await server.logged("(waits)", "again");
    await server.kill();
    await expect(lost).rejects.toThrow();
    await server.serve();
    const result = peer.call("gated", "again");
    server.openGate("again");
    expect(await result).toBe("AGAIN again");
    expect(server.stepsOf("again")).toEqual(["first", "second"]);
  });
});
