import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { describe, expect } from "vitest";
import { inSessions, withoutSessions } from "./client-names.ts";
import { KilledServer } from "./killed-server.ts";
import { Peer } from "./peer.ts";
import { clientRecord } from "./record/client-record.ts";
import { PeerRecord } from "./record/peer-record.ts";

/**
 * How long a call may take before its client gives up. A client of 2026-07-28 that closes a stream within five seconds has changed its mind, and the
 * call after the restart has to be answered in time on a busy machine, too.
 */
const patienceMs = 12_000;

/**
 * A result that comes just as its client gives up counts as delivered, and the next call begins anew. So the calls after the restart have more
 * time, where the library lets each call have its own.
 */
const longerMs = 60_000;

/** As often as a model would. */
const tries = 5;

const referenceIn = (result: string): string | undefined => /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(result)?.[0];

describe.each([...inSessions, ...withoutSessions])("%s", (name) => {
  const record = clientRecord(name, "calls");

  record.works("lists tools, and calls a plain tool and a durable one", async () => {
    const server = await KilledServer.start();
    const peer = await Peer.connect(name, server.url);
    expect(await peer.list()).toEqual(expect.arrayContaining(["echo", "quick", "gated", "task_result"]));
    expect(await peer.call("echo", "plain")).toBe("plain");
    expect(await peer.call("quick", "one")).toBe("ONE");
    record.speaks(peer.protocolVersion);
  });

  // The SDKs have tasks where one asks for them, which test/interop does.
  if (!name.startsWith("SDK"))
    record.lacks("does not run calls as tasks, so a long call returns a ticket", "the library", async () => {
      const server = await KilledServer.start();
      const peer = await Peer.connect(name, server.url);
      expect(referenceIn(await peer.call("ticketed", "slow"))).toBeDefined();
    });

  record.works(
    "gets the result of a slow tool by its ticket, even if the server is killed meanwhile",
    async () => {
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
    },
  );

  record.works(
    "gets the result of a call that timed out by calling again, even if the server is killed meanwhile",
    async () => {
      const server = await KilledServer.start();
      const peer = await Peer.connect(name, server.url, patienceMs);
      await expect(peer.call("gated", "slow")).rejects.toThrow();
      await server.restart();
      server.openGate("slow");
      const again = (): Promise<string> => peer.call("gated", "slow", longerMs);
      let result = again();
      for (let n = 1; n < tries; n++) result = result.catch(again);
      expect(await result).toBe("SLOW slow");
      expect(server.stepsOf("slow")).toEqual(["first", "second"]);
    },
  );

  record.isAsWritten();
});

describe("FastMCP", () => {
  const record = new PeerRecord("fastmcp-client", { peer: "FastMCP", package: "fastmcp", as: "client" });
  record.lacks("has no client in its npm package, only in its Python package", "FastMCP", async () => {
    const { resolve } = createRequire(new URL("./clients/package.json", import.meta.url));
    const exported = Object.keys((await import(pathToFileURL(resolve("fastmcp")).href)) as object);
    expect(exported).toContain("FastMCP");
    expect(exported.filter((name) => /client/i.test(name))).toEqual([]);
    record.speaks("none");
  });
  record.isAsWritten();
});
