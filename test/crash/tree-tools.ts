import { setTimeout as pause } from "node:timers/promises";
import { TaskCallError, type TaskContext, type Tasks } from "holdfast";
import * as z from "zod";
import type { Log } from "./tools.ts";

const requestedSchema = { type: "object" as const, properties: { word: { type: "string" as const } } };
const question = { message: "Which word?", requestedSchema };

/** What a tree comes to. */
export interface TreeResult {
  readonly leaves: readonly string[];
  readonly below: readonly string[];
}

/** Of how many tasks a tree with so many leaves has a step `work`. */
export const workersOf = (count: number): number => count + 2;

/** Tools that call each other: the root's leaves some at a time, and a branch that works and asks below. */
export function addTreeTools(
  tool: Tasks["tool"],
  log: Log,
  secretStep: (task: TaskContext, key: string) => Promise<string>,
): void {
  /** A wait for others, which ends as it ended before. */
  async function wait<T>(task: TaskContext, key: string, begin: () => Promise<T>): Promise<T> {
    log("asks", task, key);
    const value = await begin();
    log("saw", task, key, JSON.stringify(value));
    return value;
  }

  const said = { outputSchema: z.object({ value: z.string() }), onCrash: "resume" as const };
  const saying = (value: string): { content: []; structuredContent: { value: string } } => ({
    content: [],
    structuredContent: { value },
  });

  const leaf = tool(
    "leaf",
    { ...said, inputSchema: z.object({ fails: z.boolean() }) },
    async ({ fails }, task) => {
      const value = await secretStep(task, "work");
      await pause(Math.random() * 10);
      if (fails) throw new Error("withered");
      return saying(value);
    },
  );

  const asks = tool("leaf_that_asks", { ...said, requires: ["elicitation"] }, async (_, task) => {
    const value = await secretStep(task, "work");
    const word = await wait(task, "word", () => task.elicit("word", question));
    return saying(`${value} ${String(word.content?.["word"])}`);
  });

  const branch = tool("branch", { onCrash: "resume" }, async (_, task) => {
    const below = await wait(task, "below", () =>
      Promise.all([task.call("one", leaf, { fails: false }), task.call("other", asks, {})]),
    );
    return { content: below.map(({ structuredContent: { value } }) => ({ type: "text", text: value })) };
  });

  const grown = z.object({ count: z.number(), failing: z.number().nullable() });
  tool("tree", { inputSchema: grown, requires: ["elicitation"], onCrash: "resume" }, async (args, task) => {
    const { count, failing } = args;
    const calls = Array.from({ length: count }, (_, n) => ({
      tool: leaf,
      arguments: { fails: n === failing },
    }));
    const leaves = wait(task, "leaves", () =>
      task.all("leaf", calls, { concurrency: 3 }).catch((error: unknown) => {
        if (error instanceof TaskCallError) log("saw", task, "failure", error.message);
        throw error;
      }),
    );
    const [all, { content }] = await Promise.all([
      leaves,
      wait(task, "branch", () => task.call("branch", branch, {})),
    ]);
    await secretStep(task, "after");
    const result: TreeResult = {
      leaves: all.map(({ structuredContent: { value } }) => value),
      below: content.flatMap((block) => (block.type === "text" ? [block.text] : [])),
    };
    return { content: [{ type: "text", text: JSON.stringify(result) }] };
  });
}
