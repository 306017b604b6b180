import { expect, it } from "vitest";
import type { SeenTask } from "../crash/rpc.ts";
import { Nodes, type Node } from "./nodes.ts";

/** For a busy machine; the test takes a few seconds. */

async function until({ rpc }: Node, taskId: string, status: string): Promise<SeenTask> {
  for (;;) {
    const task = await rpc.get(taskId);
    if (task.status === status) return task;
  }
}

async function start({ rpc }: Node, tool: string, word: string): Promise<string> {
  return String((await rpc.call(tool, { word }, undefined)).taskId);
}

const done = (said: string): object => ({ result: { content: [{ type: "text", text: said }] } });

it("nodes that serve leave all tasks to those that work, also when one of these is lost", async () => {
  await using nodes = await Nodes.inNewDatabase();
  const [front, other, worker, spare] = await Promise.all([
    nodes.start("serve"),
    nodes.start("serve"),
    nodes.start("work"),
    nodes.start("work"),
  ]);
  const works = [worker.pid, spare.pid];

  // Whatever comes for a task comes to a node that runs none.
  const tree = await start(front, "tree", "tree");
  const { inputRequests = {} } = await until(other, tree, "input_required");
  const [key = ""] = Object.keys(inputRequests);
  nodes.openGate("tree-gated");
  await other.rpc.update(tree, { [key]: { action: "accept", content: { name: "Ada" } } });
  expect(await until(front, tree, "completed")).toMatchObject(
    done("TREE-GATED tree-gated, Ada's tree-asked"),
  );
  const told = await start(other, "expects", "told");
  expect(await front.sendEvent({ taskId: told, value: "news", dedupeId: "1" })).toBe("new");
  expect(await until(front, told, "completed")).toMatchObject(done("told news"));
  const cancelled = await start(front, "gated", "cancelled");
  await nodes.logged("(waits)", "cancelled");
  await other.rpc.cancel(cancelled);
  await nodes.logged("(aborted)", "cancelled");
  expect(await until(front, cancelled, "cancelled")).toMatchObject({ taskId: cancelled });

  const words = Array.from({ length: 12 }, (_, index) => `word-${index}`);
  const taskIds = await Promise.all(words.map((word) => start(front, "gated", word)));
  await Promise.all(words.map((word) => nodes.logged("(waits)", word)));
  await worker.kill();
  for (const word of words) nodes.openGate(word);
  for (const [index, word] of words.entries()) {
    const task = await until(other, taskIds[index] ?? "", "completed");
    expect(task).toMatchObject(done(`${word.toUpperCase()} ${word}`));
    expect(nodes.stepsOf(word)).toEqual(["first", "second"]);
  }
  const runners = ["tree", "tree-gated", "tree-asked", "told", "cancelled", ...words].flatMap((word) =>
    nodes.runnersOf(word),
  );
  expect(new Set([...runners, ...works])).toEqual(new Set(works));
});
