import { createTasks, type TaskContext } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if both types are the same. */
function isSame<A, B>(_is: Same<A, B>): void {}

const tasks = createTasks({ store: memoryStore() });

const report = tasks.tool(
  "report",
  {
    inputSchema: z.object({ month: z.string(), pages: z.number().default(3) }),
    outputSchema: z.object({ url: z.string(), tags: z.array(z.string()), note: z.string().optional() }),
    prepare: async ({ pages }, ask) => {
      const requestedSchema = z.object({ color: z.boolean() });
      const answer = await ask.elicit("color", { message: "In color?", requestedSchema });
      return { pages, color: answer.action === "accept" && answer.content.color };
    },
  },
  async ({ month, pages }, task) => {
    isSame<typeof month, string>(true);
    isSame<typeof pages, number>(true);
    isSame<typeof task.prepared, { pages: number; color: boolean }>(true);
    const rows = await task.step("query", () => ["1"]);
    isSame<typeof rows, string[]>(true);
    if (rows.length === 0) return { content: [{ type: "text", text: "No rows" }], isError: true };
    const tags: readonly string[] = rows;
    if (pages > 3) return { content: [], structuredContent: { url: month, tags } };
    return { url: month, tags, note: "short" };
  },
);

tasks.tool("reports", {}, async (_, task) => {
  const one = await task.call("one", report, { month: "2026-10" });
  isSame<typeof one.structuredContent.note, string | undefined>(true);
  const [two] = await task.all("more", [{ tool: report, arguments: { month: "2026-11", pages: 2 } }]);
  isSame<typeof two.structuredContent.url, string>(true);
  const byName = await task.call("three", "report", { month: "2026-12" });
  isSame<typeof byName.isError, boolean | undefined>(true);
  return [one.structuredContent.url, two.structuredContent.url];
});

tasks.tool("ask", {}, async (_, task) => {
  const requestedSchema = z.object({
    name: z.string().min(1),
    depth: z.enum(["flat", "deep"]),
    parts: z.array(z.enum(["a", "b"])),
    pages: z.int().optional(),
    sure: z.boolean().default(false),
  });
  const { action, content } = await task.elicit("who", { message: "Who?", requestedSchema });
  if (action !== "accept") return action;
  isSame<typeof content.depth, "flat" | "deep">(true);
  isSame<typeof content.parts, ("a" | "b")[]>(true);
  isSame<typeof content.pages, number | undefined>(true);
  isSame<typeof content.sure, boolean>(true);
  const form = { type: "object", properties: { word: { type: "string" } } } as const;
  const plain = await task.elicit("word", { message: "Which?", requestedSchema: { ...form } });
  isSame<typeof plain.action, "accept" | "decline" | "cancel">(true);
  const opened = await task.elicit("page", {
    mode: "url",
    message: "Sign in",
    url: "https://example.com",
    elicitationId: "1",
  });
  return [content.name, plain.content?.["word"] ?? "", opened.action];
});

tasks.tool("by fields", { inputSchema: { a: z.number() }, outputSchema: { sum: z.number() } }, ({ a }) => {
  isSame<typeof a, number>(true);
  return { sum: a };
});

tasks.tool("waits", {}, () => new Promise(() => undefined));

tasks.tool("fails", { outputSchema: z.object({ sum: z.number() }) }, () => {
  throw new Error("no sum");
});

const publish = tasks.tool(
  "publish",
  { events: { approved: z.object({ by: z.string(), pages: z.number().default(1) }), paid: z.number() } },
  async (_, task) => {
    const approved = await task.waitForEvent("approval", "approved", { timeoutMs: 1_000 });
    isSame<typeof approved, { by: string; pages: number }>(true);
    const sum = await task.waitForEvent("payment", "paid");
    isSame<typeof sum, number>(true);
    await logged(task);
    return approved.by;
  },
);

/** What handlers share takes the task of any tool. */
async function logged(task: TaskContext): Promise<void> {
  await task.log("info", "approved");
}

tasks.tool("undeclared", {}, async (_, task) => {
  const { sum } = await task.waitForEvent<{ sum: number }>("payment", "paid");
  const other = await task.waitForEvent("more", "paid");
  isSame<typeof other, unknown>(true);
  return sum;
});

export async function send(id: string): Promise<boolean> {
  await publish.sendEvent(id, "approved", { by: "ann" }, { dedupeId: "1" });
  await tasks.sendEvent(id, "paid", 3);
  return publish.sendEvent(id, "paid", 3);
}
