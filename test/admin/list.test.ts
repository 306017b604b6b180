import { expect, it } from "vitest";
import type { TaskQuery } from "../../src/admin/admin.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const ann = { principal: "ann" };

const ok: Handler = () => text("ok");
const fails: Handler = () => {
  throw new Error("no space left on /dev/sda1");
};
const refuses: Handler = () => ({ ...text("The month is\n closed."), isError: true });
const asks: Handler = async (_args, task) => text(JSON.stringify(await task.elicit("go", question)));
const sleeps: Handler = async (_args, task) => {
  await task.status("Sleeping until Monday");
  await task.sleep("weekend", 2 * 24 * 3_600_000);
  return text("awake");
};
const tools = { ok, fails, refuses, asks, sleeps };

/** One second after the other a task of each kind; by its name its id. */
async function several(): Promise<{ process: Process; names: (query?: TaskQuery) => Promise<string> }> {
  const process = await Process.started({ tools });
  const admin = adminOf(process);
  const byId = new Map<string, string>();
  const calls = [
    ["ok", {}],
    ["fails", ann],
    ["refuses", {}],
    ["asks", ann],
    ["sleeps", {}],
    ["ok", ann],
  ] as const;
  for (const [tool, more] of calls) {
    const requestor = { generation: "2026-07-28" as const, principal: null, ...more };
    const id = await process.callId(tool, more);
    byId.set(id, `${tool}${byId.size}`);
    if (tool === "asks") await process.until(id, ({ inputs }) => inputs.length > 0, requestor);
    else if (tool === "sleeps") await process.journalHas(id, "weekend");
    else await process.until(id, ({ task }) => task.finishedAt !== null, requestor);
    process.clock.jump(1_000);
  }
  const names = async (query: TaskQuery = {}): Promise<string> =>
    (await admin.list(query)).tasks.map(({ id }) => byId.get(id)).join(" ");
  return { process, names };
}

it("lists tasks by how they stand, tool, principal, age and status, newest first", async () => {
  const { process, names } = await several();
  expect(await names()).toBe("ok5 sleeps4 asks3 refuses2 fails1 ok0");
  expect(await names({ states: ["failed"] })).toBe("refuses2 fails1");
  expect(await names({ states: ["completed", "input_required"] })).toBe("ok5 asks3 ok0");
  expect(await names({ states: ["completed"], tool: "ok", principal: "ann" })).toBe("ok5");
  expect(await names({ principal: null })).toBe("sleeps4 refuses2 ok0");
  expect(await names({ tool: "ok" })).toBe("ok5 ok0");
  expect(await names({ text: "until MONDAY" })).toBe("sleeps4");
  const createdFrom = process.clock.now() - 3_000;
  expect(await names({ createdFrom })).toBe("ok5 sleeps4 asks3");
  expect(await names({ createdBefore: createdFrom, states: ["failed", "completed"] })).toBe(
    "refuses2 fails1 ok0",
  );
  expect(await names({ states: ["cancelled", "queued"] })).toBe("");
});

it("lists the tasks that a process has, and those that it had last", async () => {
  const { process, names } = await several();
  const { owner } = (await adminOf(process).list({ states: ["running", "input_required"] })).tasks[0] ?? {};
  if (typeof owner !== "string") throw new Error("Nobody runs it.");
  expect(await names({ owner })).toBe("ok5 sleeps4 asks3 refuses2 fails1 ok0");
  expect(await names({ owner, states: ["failed"], tool: "fails" })).toBe("fails1");
  expect(await names({ owner: "another" })).toBe("");
});

it("gives pages, each from where the one before ended", async () => {
  const { process } = await several();
  const admin = adminOf(process);
  const pages: string[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await admin.list({ limit: 4, ...(after !== undefined && { after }) });
    pages.push(page.tasks.map(({ tool }) => tool).join(" "));
    after = page.next;
  }
  expect(pages).toEqual(["ok sleeps asks refuses", "fails ok"]);
});

it("refuses a query that is none", async () => {
  const admin = adminOf(await Process.started({ tools }));
  for (const query of [{ limit: 0 }, { state: "failed" }, { states: ["broken"] }, { createdFrom: NaN }])
    await expect(admin.list(query as TaskQuery)).rejects.toMatchObject({ code: "invalid_params" });
});

it("says of each task how it stands, and of a failed one why", async () => {
  const { process } = await several();
  const { tasks } = await adminOf(process).list();
  const standing = tasks.map(({ tool, state, error, statusMessage }) => ({
    tool,
    state,
    error,
    statusMessage,
  }));
  expect(standing.slice(1, 5)).toMatchObject([
    {
      tool: "sleeps",
      state: expect.stringMatching(/running|waiting/) as string,
      statusMessage: "Sleeping until Monday",
    },
    { tool: "asks", state: "input_required" },
    { tool: "refuses", state: "failed", error: "The month is closed." },
    { tool: "fails", state: "failed", error: expect.stringContaining("no space left") as string },
  ]);
});

it("shows one task whole: attempts and why they ended, what it did and when, its log and its output", async () => {
  const build: Handler = async (_args, task) => {
    await task.step("compile", async () => {
      await task.log("info", "compiling", { files: 12 });
      process.clock.jump(700);
    });
    await task.output({ type: "text", text: "part one" });
    await task.elicit("go", question);
    return text("built");
  };
  const setup = { tools: { build: { config: { onCrash: "resume" as const }, handler: build } } };
  const first: Process = await Process.started(setup);
  let process = first;
  const id = await first.callId("build", { arguments: { target: "all" } });
  await first.asked(id);
  process = await first.crash(setup);
  await process.asked(id);
  await adminOf(process)
    .as("ann")
    .answer(id, { go: { action: "decline" } });
  await process.ended(id);
  const shown = await adminOf(process).show(id);
  expect(shown).toMatchObject({
    state: "completed",
    arguments: { target: "all" },
    attempts: [
      { number: 1, end: "lost" },
      { number: 2, end: "settled" },
    ],
    timeline: [
      { key: "compile", kind: "step", durationMs: 700, tries: 0, error: null },
      { key: "go", kind: "input", method: "elicitation/create" },
    ],
    timelineIsCut: false,
    timelineSummary: { entries: 2, failed: 0, open: 0 },
    outcome: { kind: "result", body: text("built") },
    log: [{ level: "info", text: "compiling", data: { files: 12 }, step: "compile" }],
    output: [{ content: { type: "text", text: "part one" } }],
    actions: [{ actor: "ann", action: "answer" }],
    questions: [],
  });
});
