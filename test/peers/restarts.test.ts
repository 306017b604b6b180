import { expect, describe } from "vitest";
import { inSessions, withoutSessions } from "./client-names.ts";
import type { ClientName } from "./clients/open-client.ts";
import { KilledServer } from "./killed-server.ts";
import { Peer } from "./peer.ts";
import { clientRecord } from "./record/client-record.ts";

/** Of a call, in ms. All else is as the libraries have it, so also how often they try to resume a stream. */
const patienceMs = 110_000;

async function connected(name: ClientName): Promise<{ server: KilledServer; peer: Peer }> {
  const server = await KilledServer.start();
  return { server, peer: await Peer.connect(name, server.url, patienceMs) };
}

/** Kills the server while a call waits in it whose stream can be resumed: its handler is at `point`. */
async function killInMidCall(server: KilledServer, peer: Peer, point: string, word: string): Promise<void> {
  await peer.callAnswered();
  await server.logged(point, word);
  await server.kill();
}

describe.each(inSessions)("%s", (name) => {
  const record = clientRecord(name, "restarts");

  record.works(
    "keeps its session when the server is killed and restarted between any two requests",
    async () => {
      const { server, peer } = await connected(name);
      await server.restart();
      expect(await peer.list()).toEqual(expect.arrayContaining(["echo", "quick", "gated"]));
      await server.restart();
      expect(await peer.call("echo", "plain")).toBe("plain");
      await server.restart();
      expect(await peer.call("quick", "one")).toBe("ONE");
      record.speaks(peer.protocolVersion);
      await server.restart();
      expect(await peer.call("quick", "two")).toBe("TWO");
      expect(server.stepsOf("two")).toEqual(["shout"]);
      expect(peer.sentOf("initialize")).toHaveLength(1);
    },
  );

  record.works(
    "gets the result of a call in flight when the server is killed, if the call finishes before its stream is resumed",
    async () => {
      const { server, peer } = await connected(name);
      const result = peer.call("gated", "early");
      await killInMidCall(server, peer, "(waits)", "early");
      server.openGate("early");
      await server.serve();
      await server.logged("second", "early");
      expect(await result).toBe("EARLY early");
      expect(server.stepsOf("early")).toEqual(["first", "second"]);
      expect(peer.sentOf("tools/call")).toHaveLength(1);
      expect(await peer.call("quick", "next")).toBe("NEXT");
      expect(peer.sentOf("initialize")).toHaveLength(1);
    },
  );

  record.works(
    "gets the result of a call in flight on the call's own stream, even if the server is killed three times",
    async () => {
      const { server, peer } = await connected(name);
      const result = peer.call("gated", "late");
      for (const kill of [1, 2, 3]) {
        await killInMidCall(server, peer, "(waits)", "late");
        await server.serve();
        await server.logged("(waits)", "late", kill + 1);
        await peer.resumed(kill);
      }
      server.openGate("late");
      expect(await result).toBe("LATE late");
      expect(server.stepsOf("late")).toEqual(["first", "second"]);
      expect(peer.sentOf("tools/call")).toHaveLength(1);
      expect(peer.sentOf("initialize")).toHaveLength(1);
    },
  );

  record.works("is told when a call that stored nothing is lost, and keeps working", async () => {
    const { server, peer } = await connected(name);
    const lost = peer.call("hangs", "hangs");
    lost.catch(() => undefined); // it is awaited later
    await killInMidCall(server, peer, "(waits)", "hangs");
    await server.serve();
    await expect(lost).rejects.toThrow("Send the request again");
    expect(await peer.call("quick", "next")).toBe("NEXT");
    expect(peer.sentOf("initialize")).toHaveLength(1);
  });

  record.isAsWritten();
});

describe.each(withoutSessions)("%s", (name) => {
  const record = clientRecord(name, "restarts");

  record.works("keeps working when the server is killed and restarted between any two requests", async () => {
    const { server, peer } = await connected(name);
    await server.restart();
    expect(await peer.list()).toEqual(expect.arrayContaining(["echo", "quick", "gated"]));
    await server.restart();
    expect(await peer.call("echo", "plain")).toBe("plain");
    await server.restart();
    expect(await peer.call("quick", "one")).toBe("ONE");
    record.speaks(peer.protocolVersion);
    expect(server.stepsOf("one")).toEqual(["shout"]);
    expect(peer.sentOf("server/discover")).toHaveLength(1);
    expect(peer.sentOf("initialize")).toEqual([]);
  });

  record.works(
    "loses a call in flight when the server is killed, and gets its result by making the same call again",
    async () => {
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
    },
  );

  record.isAsWritten();
});
