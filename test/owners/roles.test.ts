import { describe, expect, it } from "vitest";
import { Owners, text } from "./owners.ts";
import { plainClient } from "./plain-client.ts";

/** For a busy machine; a test takes a few seconds. */
const patience = { timeoutMs: 20_000 };

describe.each(["2026-07-28", "2025-11-25"] as const)(
  "a process that only serves, in %s",
  (protocolVersion) => {
    it("leaves its calls to one that works, and is told of all that they do", async () => {
      const owners = await Owners.inNewFolder();
      const serves = await owners.startServing("gated", "asks");
      const works = await owners.start("gated", "asks");
      const onInput = async () => ({ action: "accept" as const, content: { name: "Ada" } });
      const client = await serves.client({ protocolVersion, onInput });
      expect(await client.callTool("asks", { word: "turn" }, patience)).toMatchObject(text("Ada's turn"));
      const cancelled = await client.startTool("gated", { word: "cancelled" });
      await owners.logged("(waits)", "cancelled");
      await cancelled.cancel();
      await owners.logged("(aborted)", "cancelled");
      await expect(cancelled.result(patience)).rejects.toMatchObject({ code: "cancelled" });
      expect([...owners.runnersOf("turn"), ...owners.runnersOf("cancelled")]).toEqual([works.pid, works.pid]);
    });
  },
);

it("a call without tasks is answered by a process that only serves", async () => {
  const owners = await Owners.inNewFolder();
  const serves = await owners.startServing("gated");
  const works = await owners.start("gated");
  const answer = (await plainClient(serves)).callTool({ name: "gated", arguments: { word: "plain" } });
  await owners.logged("(waits)", "plain");
  owners.openGate("plain");
  expect(await answer).toMatchObject(text("PLAIN plain"));
  expect(owners.runnersOf("plain")).toEqual([works.pid]);
});

it("a call outlives both the process that took it and the one that runs it", async () => {
  const owners = await Owners.inNewFolder();
  const serves = await owners.startServing("gated");
  const works = await owners.start("gated");
  const { reference } = await (await serves.client()).startTool("gated", { word: "passed" });
  await owners.logged("(waits)", "passed");
  await Promise.all([serves.send("SIGKILL"), works.send("SIGKILL")]);
  const next = await owners.start("gated");
  await owners.logged("(waits)", "passed", 2);
  owners.openGate("passed");
  const handle = await (await next.client()).resume(reference);
  expect(await handle.result(patience)).toMatchObject(text("PASSED passed"));
  expect(owners.stepsOf("passed")).toEqual(["first", "second"]);
});
