import { expect, it } from "vitest";
import type { ProtocolVersion, TaskClient } from "holdfast/client";
import { fullForm } from "../full-form.ts";
import { Owners, text, type Owner } from "./owners.ts";

const restarts = fullForm ? 10 : 3;
const calls = fullForm ? 5_000 : 1_000;
/** Calls that are under way at any time, of each client. */
const atOnce = 20;
const tools = ["steps", "promoted", "direct"] as const;
const versions: readonly ProtocolVersion[] = ["2026-07-28", "2025-11-25"];

/** Restarts a server on its port each time that a share of the calls has been answered. */
async function restarted(
  owners: Owners,
  first: Owner,
  answered: (share: number) => Promise<void>,
): Promise<Owner> {
  let owner = first;
  const port = Number(new URL(first.url).port);
  for (let restart = 1; restart <= restarts; restart++) {
    await answered(restart / (restarts + 1));
    await owner.send("SIGTERM");
    owner = await owners.startLoaded(port);
  }
  return owner;
}

it(
  `answers each of ${calls} calls once, of tools that may be repeated, while the server is restarted ${restarts} times`,
  { timeout: 600_000 },
  async () => {
    const owners = await Owners.inNewFolder();
    const owner = await owners.startLoaded(0);
    const clients = await Promise.all(versions.map((protocolVersion) => owner.client({ protocolVersion })));
    const failures: unknown[] = [];
    let begun = 0;
    let ended = 0;
    const waiting = new Map<number, () => void>();
    const call = async (client: TaskClient, version: string, number: number): Promise<void> => {
      const tool = tools[number % tools.length] ?? "steps";
      const word = `${tool}-${number}`;
      try {
        const result = await client.callTool(tool, { word, ms: (number * 37) % 150 });
        expect(result).toMatchObject(text(word.toUpperCase()));
      } catch (error) {
        failures.push({ word, version, error });
      }
      waiting.get(++ended)?.();
    };
    const worker = async (client: TaskClient, version: string): Promise<void> => {
      while (begun < calls) await call(client, version, begun++);
    };
    const answered = (share: number): Promise<void> => {
      const count = Math.floor(calls * share);
      return ended >= count ? Promise.resolve() : new Promise((resolve) => waiting.set(count, resolve));
    };
    const working = clients.flatMap((client, at) =>
      Array.from({ length: atOnce }, () => worker(client, versions[at] ?? "")),
    );
    const [last] = await Promise.all([restarted(owners, owner, answered), ...working]);
    expect(failures).toEqual([]);
    expect(owners.eventsOf("(error)")).toEqual([]);
    expect(ended).toBe(calls);
    for (let number = 0; number < calls; number += tools.length) {
      expect(new Set(owners.stepsOf(`steps-${number}`)).size).toBe(1); // one task
    }
    await last.send("SIGTERM");
  },
);
