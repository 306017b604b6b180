import { connect, type TaskClient } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { plainClient } from "../owners/plain-client.ts";
import { Nodes, type Node } from "./nodes.ts";

/** For a busy machine; a test takes a few seconds. */
const patience = { timeoutMs: 30_000 };
const accepts = async () => ({ action: "accept" as const, content: { name: "Ada" } });
const text = (said: string): object => ({ content: [{ type: "text", text: said }] });

async function clientOf(
  { url }: Node,
  revision: "2026-07-28" | "2025-11-25" = "2026-07-28",
  onInput: Parameters<typeof connect>[1] = { onInput: accepts },
): Promise<TaskClient> {
  const client = await connect(url, { protocolVersion: revision, pollFloorMs: 20, ...onInput });
  onTestFinished(() => client.close());
  return client;
}

it("nodes that serve leave the tools of durable() to those that work", async () => {
  await using nodes = await Nodes.inNewDatabase("durable");
  const [front, other, worker] = await Promise.all([
    nodes.start("serve"),
    nodes.start("serve"),
    nodes.start("work"),
  ]);
  for (const revision of ["2026-07-28", "2025-11-25"] as const) {
    const client = await clientOf(front, revision);
    const word = `hat-${revision}`;
    expect(await client.callTool("asks", { word }, patience)).toMatchObject(text(`Ada's ${word}`));
    expect(nodes.runnersOf(word)).toEqual([worker.pid]);

    const cancelled = await client.startTool("gated", { word: `cancelled-${revision}` });
    await nodes.logged("(waits)", `cancelled-${revision}`);
    await cancelled.cancel();
    await nodes.logged("(aborted)", `cancelled-${revision}`);
    await expect(cancelled.result(patience)).rejects.toMatchObject({ code: "cancelled" });
  }

  // What a task needs comes to any node.
  const client = await clientOf(front);
  const { reference } = await client.startTool("gated", { word: "moved" });
  await nodes.logged("(waits)", "moved");
  nodes.openGate("moved");
  if (reference === null) throw new Error("The call has become no task.");
  const moved = await (await clientOf(other)).resume({ ...reference, server: other.url });
  expect(await moved.result(patience)).toMatchObject(text("MOVED moved"));

  // A request is kept where it came in, and says so; tools of the SDK run there.
  expect(await client.callTool("looks", { word: "far" }, patience)).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("ctx.http.req is not available") as unknown }],
  });
  expect(await client.callTool("here", { word: "near" }, patience)).toMatchObject(
    text(`near in ${front.pid}`),
  );

  const plain = (await plainClient(front)).callTool({ name: "gated", arguments: { word: "plain" } });
  await nodes.logged("(waits)", "plain");
  nodes.openGate("plain");
  expect(await plain).toMatchObject(text("PLAIN plain"));
  const runners = ["moved", "far", "plain"].flatMap((word) => nodes.runnersOf(word));
  expect(runners).toEqual([worker.pid, worker.pid, worker.pid]);
});

it("another node goes on with the tools of durable() when one is lost", async () => {
  await using nodes = await Nodes.inNewDatabase("durable");
  const [front, first] = await Promise.all([nodes.start("serve"), nodes.start("work")]);
  const asked: string[] = [];
  const bothAsked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const client = await clientOf(front, "2026-07-28", {
    onInput: async ({ params }) => {
      asked.push(String((params as { message?: string }).message));
      if (asked.length === 2) bothAsked.resolve();
      await answered.promise;
      return accepts();
    },
  });
  const result = async (tool: string): Promise<unknown> =>
    (await client.startTool(tool, { word: tool })).result(patience).catch((error: unknown) => error);
  const results = ["gated", "asks", "asks_again"].map(result);
  await nodes.logged("(waits)", "gated");
  await bothAsked.promise;
  expect(asked.toSorted()).toEqual(["Whose asks?", "Whose asks_again?"]);

  const [spare] = await Promise.all([nodes.start("both"), first.kill()]);
  nodes.openGate("gated");
  answered.resolve();
  const [gated, asks, again] = await Promise.all(results);
  expect(gated).toMatchObject(text("GATED gated"));
  expect(nodes.stepsOf("gated")).toEqual(["first", "second"]);
  expect(again).toMatchObject(text("Ada's asks_again"));
  // A handler that was written for the SDK has not agreed to run again.
  expect(asks).toMatchObject({
    code: "failed",
    message: expect.stringContaining('The server stopped while "asks" was running') as unknown,
  });
  expect(nodes.runnersOf("gated")).toEqual([first.pid, spare.pid]);
  expect(nodes.runnersOf("asks")).toEqual([first.pid]);
});

it("several nodes that do all share the tools of durable()", async () => {
  await using nodes = await Nodes.inNewDatabase("durable");
  const all = await Promise.all([nodes.start(), nodes.start(), nodes.start()]);
  const words = Array.from({ length: 9 }, (_, index) => `word-${index}`);
  const clients = await Promise.all(all.map((node) => clientOf(node)));
  const results = words.map((word, index) =>
    clients[index % clients.length]?.callTool("gated", { word }, patience),
  );
  await Promise.all(words.map((word) => nodes.logged("(waits)", word)));
  const [lost, ...others] = all;
  const survivors = results.filter((_, index) => index % all.length !== 0);
  for (const result of results) result?.catch(() => undefined); // those of the node that is lost
  await lost?.kill();
  for (const word of words) nodes.openGate(word);
  for (const [index, result] of survivors.entries()) {
    const word = words.filter((_, place) => place % all.length !== 0)[index] ?? "";
    expect(await result).toMatchObject(text(`${word.toUpperCase()} ${word}`));
  }
  // The tasks of the lost node are run by the others, where nobody waits for them.
  for (const word of words) await nodes.logged("second", word);
  expect(words.map((word) => nodes.stepsOf(word))).toEqual(words.map(() => ["first", "second"]));
  const last = words.map((word) => nodes.runnersOf(word).at(-1));
  expect(others.map(({ pid }) => pid)).toEqual(expect.arrayContaining([...new Set(last)]));
});
