import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileHandles } from "../../src/client/handles/file-handles.ts";
import type { RemoteTask } from "../../src/client/task/remote-task.ts";
import { Records, SeenTasks } from "../../src/cli/state/records.ts";
import { folder, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const now = Date.parse("2026-11-23T12:00:00Z");
const day = 24 * 3_600_000;

interface Kept {
  readonly id: string;
  readonly tool?: string;
  readonly server?: string;
  readonly age: number;
  readonly status?: RemoteTask["status"];
  /** How long ago its outcome was printed. */
  readonly over?: number;
  readonly ttlMs?: number | null;
  readonly isError?: boolean;
}

/** A state folder with these tasks, and commands that share it. */
async function user(tasks: readonly Kept[]) {
  const state = await folder();
  const handles = fileHandles(join(state, "state.db"));
  for (const { id, tool = "report", server = "http://127.0.0.1:3000/mcp", age, over, ...stands } of tasks) {
    const { status, ttlMs = null, isError = false } = stands;
    const call = { server, tool, args: { a: 1 }, startedAt: now - age, generation: "2026-07-28" };
    const taskId = id.startsWith("key") ? null : id;
    if (over === undefined) await handles.keep({ ...call, key: `key of ${id}`, taskId });
    if (status === undefined) continue;
    const times = { createdAt: "", lastUpdatedAt: "", ttlMs };
    const outcome = { inputRequests: {}, result: { content: [], isError }, error: { code: 1, message: "" } };
    const seen = new SeenTasks(new Records(join(state, "state.db")), () => now - (over ?? 0));
    const task = { taskId: id, ...times, ...outcome, status };
    seen.keep({ ...call, key: `key of ${id}`, taskId }, task);
  }
  const run = async (...args: readonly string[]): Promise<Run> =>
    runMain(args, { env: { HOLDFAST_STATE: state }, now: () => now });
  const look = async (columns: number, ...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runMain(["ls", ...args], {
      env: { HOLDFAST_STATE: state },
      now: () => now,
      columns,
    });
    expect(code).toBe(0);
    return stdout + stderr;
  };
  return { state, run, look };
}

const several: readonly Kept[] = [
  { id: "01a0", age: 30 * day, status: "completed", over: 29 * day },
  { id: "01a1", age: 8 * day, status: "completed", over: 6.9 * day, tool: "tidy" },
  { id: "01a2", age: 2 * day, status: "cancelled", over: day },
  { id: "01a3", age: 7_500_000, status: "completed", isError: true },
  { id: "01a4", age: 3_700_000, status: "input_required", tool: "delete_the_files_of_a_customer" },
  { id: "01a5", age: 190_000, status: "working", server: "https://reports.example.com/a/very/long/path/mcp" },
  { id: "01a6", age: 61_000, status: "completed" },
  { id: "key7", age: 12_000 },
  { id: "01a8", age: 5_000, server: "https://日本語.example/mcp" },
];

describe("holdfast ls, for people", () => {
  it.each([80, 200])("has a row for each task, none of which is wider than %i columns", async (columns) => {
    const { look } = await user(several);
    const shown = await look(columns);
    await expect(shown).toMatchFileSnapshot(`ls-${columns}.txt`);
  });

  it("shows what ended more than a week ago, and its server keeps, with --all", async () => {
    const { look } = await user([
      ...several,
      { id: "01b0", age: 40 * day, status: "failed", over: 39 * day, ttlMs: 50 * day, tool: "kept" },
      { id: "01b1", age: 40 * day, status: "failed", over: 39 * day, ttlMs: 20 * day, tool: "gone" },
    ]);
    expect(await look(80)).not.toMatch(/kept|gone|29d|30d/);
    const all = await look(80, "--all");
    expect(all).toMatch(/^ 1 +failed +40d 00h +kept/m);
    expect(all).toMatch(/^ 2 +completed +30d 00h +report/m);
    expect(all).not.toContain("gone");
  });

  it("says that it is empty, and what to do", async () => {
    const { look, run } = await user([]);
    expect(await look(80)).toBe(
      "No tasks. A call that takes a while becomes a task and is listed here:\n  holdfast call SERVER TOOL key=value --detach\n",
    );
    expect(await look(80, "--server", "http://127.0.0.1:1/mcp")).toBe(
      "No tasks of http://127.0.0.1:1/mcp were started here.\n",
    );
    expect(await run("ls")).toEqual({ code: 0, stdout: "", stderr: "" });
    const { look: lookAgain } = await user(several.slice(0, 1));
    expect(await lookAgain(80)).toContain("holdfast ls --all");
  });
});

it("is whole and separated by tabs for programs, and has for those of JSON what is waited for", async () => {
  const { run } = await user(several);
  const { stdout } = await run("ls");
  const rows = stdout.split("\n").map((line) => line.split("\t"));
  expect(rows[0]).toEqual([
    "01a1",
    "tidy",
    "http://127.0.0.1:3000/mcp",
    "2026-11-15T12:00:00.000Z",
    "completed",
  ]);
  expect(rows[6]?.[4]).toBe("no answer yet");
  expect(rows[7]).toHaveLength(4);
  const ids = async (...args: string[]): Promise<unknown> =>
    (JSON.parse((await run("ls", "--json", ...args)).stdout) as { tasks: { id: string }[] }).tasks.map(
      ({ id }) => id,
    );
  expect(await ids()).toEqual(["01a3", "01a4", "01a5", "01a6", "key of key7", "01a8"]);
  expect(await ids("--all")).toHaveLength(9);
});

describe("a task of the list", () => {
  it("is named by its number until the next list, or as the last", async () => {
    const { run, look, state } = await user(several);
    await look(80);
    const forgotten = async (name: string): Promise<unknown> => {
      const { stdout, stderr } = await run("forget", name, "--json");
      return stdout === "" ? stderr : JSON.parse(stdout);
    };
    expect(await forgotten("2")).toEqual({ ids: ["01a2"] });
    // Lists for programs give no numbers.
    await run("ls");
    expect(await forgotten("3")).toEqual({ ids: ["01a3"] });
    expect(await forgotten("3")).toMatchObject({
      error: { message: "Number 3 is no longer on your list. See holdfast ls." },
    });
    expect(await forgotten("99")).toMatchObject({ error: { kind: "usage" } });
    expect(await forgotten("last")).toEqual({ ids: ["01a8"] });
    expect(await look(80)).toMatch(/^2 +input_required/m);
    expect(await forgotten("2")).toEqual({ ids: ["01a4"] });
    // An id that begins with a digit is found as before, where no list gave that number.
    new Records(join(state, "state.db")).remove("numbers", "");
    expect(await forgotten("01a5")).toEqual({ ids: ["01a5"] });
  });

  it("keeps an id that looks like a number, and leaves that number out", async () => {
    const { run, look } = await user([
      { id: "2", age: 3_000 },
      { id: "1", age: 2_000 },
      { id: "x", age: 1_000 },
    ]);
    expect((await look(80)).match(/^ *\d+/gm)).toEqual(["3", "4", "5"]);
    expect(JSON.parse((await run("forget", "2", "--json")).stdout)).toEqual({ ids: ["2"] });
    expect(JSON.parse((await run("forget", "5", "--json")).stdout)).toEqual({ ids: ["x"] });
  });

  it("is found by the beginning of its id as before when others are over", async () => {
    const { run } = await user(several.slice(0, 4));
    expect(JSON.parse((await run("forget", "01a", "--json")).stdout)).toEqual({ ids: ["01a3"] });
    expect((await run("forget", "01a")).stderr).toContain("Several tasks match");
  });
});

it("has at most a thousand tasks that are over", { timeout: 120_000 }, async () => {
  const state = await folder();
  let clock = now - 5_000;
  const seen = new SeenTasks(new Records(join(state, "state.db")), () => clock++);
  const task: RemoteTask = {
    taskId: "t",
    createdAt: "",
    lastUpdatedAt: "",
    ttlMs: null,
    status: "cancelled",
  };
  for (let at = 0; at < 1_010; at++) {
    const key = `k${at}`;
    const call = { key, server: "s", tool: "t", args: {}, startedAt: at, generation: "g", taskId: `t${at}` };
    seen.keep(call, task);
  }
  const kept = seen.list();
  expect(kept).toHaveLength(1_000);
  expect(kept.some(({ call }) => call.key === "k9")).toBe(false);
});
