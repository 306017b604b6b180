import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { connect, type InputRequest, type InputResult, type TaskClient } from "holdfast/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";
import { onPostgres } from "../places/place.ts";
import { Owners, text } from "./owners.ts";

/** For a busy machine; a test takes a few seconds. */
const patience = { timeoutMs: 20_000 };

const versions = ["2026-07-28", "2025-11-25"] as const;

describe.each(fullForm || onPostgres ? versions : versions.slice(0, 1))(
  "two clients of %s that each start the same server",
  (version) => {
    /** A client with a server process of its own, and what it was asked. */
    async function start(owners: Owners, name?: string): Promise<{ client: TaskClient; asked: string[] }> {
      const asked: string[] = [];
      const onInput = async (request: InputRequest): Promise<InputResult> => {
        if (request.method === "elicitation/create") asked.push(request.params.message);
        if (name === undefined) await new Promise<never>(() => undefined);
        return { action: "accept", content: { name: name ?? "" } };
      };
      const client = await connect(owners.command("gated", "asks"), {
        protocolVersion: version,
        serverName: "owners",
        onInput,
      });
      onTestFinished(() => client.close());
      return { client, asked };
    }

    it("both work, and what one leaves the other's server finishes", async () => {
      const owners = await Owners.inNewFolder();
      const [one, two] = [await start(owners), await start(owners)];
      const mine = await one.client.startTool("gated", { word: "one" });
      const yours = await two.client.startTool("gated", { word: "two" });
      await owners.logged("(waits)", "one");
      await owners.logged("(waits)", "two");
      const [first] = owners.runnersOf("one");
      const [second] = owners.runnersOf("two");
      expect(first).not.toBe(second);

      await owners.kill(first);
      owners.openGate("two"); // its server runs one handler at a time
      expect(await yours.result(patience)).toMatchObject(text("TWO two"));
      await owners.logged("(waits)", "one", 2);
      owners.openGate("one");
      await owners.logged("second", "one");
      expect(owners.runnersOf("one")).toEqual([first, second]);

      const again = await start(owners);
      const handle = await again.client.resume(mine.reference);
      expect(await handle.result(patience)).toMatchObject(text("ONE one"));
      expect(owners.stepsOf("one")).toEqual(["first", "second"]);
      expect(owners.stepsOf("two")).toEqual(["first", "second"]);
    });

    it("asks each only what its own tasks ask", async () => {
      const owners = await Owners.inNewFolder();
      const [one, two] = [await start(owners), await start(owners, "Bob")];
      const mine = await one.client.startTool("asks", { word: "hat" });
      const waiting = mine.result();
      waiting.catch(() => undefined); // its server is killed
      const yours = await two.client.startTool("asks", { word: "coat" });
      expect(await yours.result(patience)).toMatchObject(text("Bob's coat"));
      await expect.poll(() => one.asked).toEqual(["Whose hat?"]);

      await owners.kill(owners.runnersOf("hat")[0]);
      const again = await start(owners, "Ann");
      const handle = await again.client.resume(mine.reference);
      expect(await handle.result(patience)).toMatchObject(text("Ann's hat"));
      expect([two.asked, again.asked]).toEqual([["Whose coat?"], ["Whose hat?"]]);
      expect(owners.stepsOf("hat")).toEqual(["tell"]);
    });
  },
);

it("the official client finds its call again when its server was killed", async () => {
  const owners = await Owners.inNewFolder();
  const one = await officialClient(owners);
  const two = await officialClient(owners);
  const lost = one.callTool({ name: "gated", arguments: { word: "one" } });
  lost.catch(() => undefined); // awaited below
  await owners.logged("(waits)", "one");
  const [first] = owners.runnersOf("one");
  await owners.kill(first);
  await expect(lost).rejects.toThrow();
  await owners.logged("(waits)", "one", 2); // the other's server has it

  const again = await officialClient(owners);
  const repeated = again.callTool({ name: "gated", arguments: { word: "one" } });
  owners.openGate("one");
  expect(await repeated).toMatchObject(text("ONE one"));
  owners.openGate("two");
  expect(await two.callTool({ name: "gated", arguments: { word: "two" } })).toMatchObject(text("TWO two"));
  expect(owners.runnersOf("one")).toHaveLength(2);
  expect(owners.stepsOf("one")).toEqual(["first", "second"]);
});

async function officialClient(owners: Owners): Promise<Client> {
  const client = new Client({ name: "official", version: "1.0.0" });
  await client.connect(new StdioClientTransport(owners.command("gated", "asks")));
  onTestFinished(() => client.close());
  return client;
}
