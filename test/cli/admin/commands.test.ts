import { describe, expect, it } from "vitest";
import type { TaskDetails } from "../../../src/admin/admin.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { runMain } from "../run-main.ts";
import {
  admin,
  adminJson,
  ann,
  call,
  kinds,
  runAdmin,
  serve,
  somePlace,
  type Kind,
  type Place,
} from "./some-place.ts";

const form = {
  message: "Send it?",
  requestedSchema: {
    type: "object" as const,
    properties: { copies: { type: "integer" as const } },
    required: ["copies"],
  },
};

interface Served {
  readonly place: Place;
  readonly runtime: Runtime;
  /** Waits for an answer. */
  readonly asking: string;
  readonly failed: string;
}

/** A server with a task that asks, and one that failed. */
async function served(kind: Kind): Promise<Served> {
  const place = await somePlace(kind);
  const runtime = await serve(place, (tools) => {
    tools.add("send", {}, async (_args, task) => {
      const { content } = await task.elicit("ok", form);
      return { content: [{ type: "text", text: `sent ${JSON.stringify(content)}` }] };
    });
    tools.add("load", {}, async ({ from }, task) => {
      await task.step("rows", () => 3);
      if (from !== "disk") throw new Error(`no ${String(from)}`);
      return { content: [] };
    });
  });
  const asking = await call(runtime, "send");
  const failed = await call(runtime, "load", { from: "tape" });
  await expect.poll(async () => (await runtime.get(asking, ann)).inputs.length).toBe(1);
  await expect.poll(() => stateOf(runtime, failed)).toBe("settled");
  return { place, runtime, asking, failed };
}

const stateOf = async (runtime: Runtime, id: string): Promise<string> =>
  (await runtime.get(id, ann)).task.state;
const details = async (place: Place, id: string): Promise<TaskDetails> =>
  (await adminJson(place, "show", id)) as TaskDetails;

describe.each(kinds)("beside a server on %s", (kind) => {
  it("lists, shows and counts tasks, and says why they failed", async () => {
    const { place, asking, failed } = await served(kind);
    const lines = (await admin(place, "list")).split("\n").map((line) => line.split("\t"));
    expect(lines).toMatchObject([
      [failed, "failed", "load", expect.any(String), expect.any(String), "ann", "no tape"],
      [asking, "input_required", "send", expect.any(String), expect.any(String), "ann", ""],
      [""],
    ]);
    expect(await adminJson(place, "list", "--state", "running", "--state", "failed")).toMatchObject({
      tasks: [{ id: failed, error: "no tape" }],
      next: null,
    });
    expect(await adminJson(place, "list", "--limit", "1")).toMatchObject({
      tasks: [{ id: failed }],
      next: failed,
    });
    expect(await admin(place, "list", "--after", failed, "--tool", "send")).toMatch(
      new RegExp(`^${asking}\t`),
    );
    expect(await admin(place, "list", "--older-than", "1h")).toBe("");
    expect(await admin(place, "list", "--nobody")).toBe("");
    expect(await admin(place, "list", "--node", "another")).toBe("");
    expect(await admin(place, "list", "--principal", "ann", "--newer-than", "1h")).toContain(failed);
    expect(await admin(place, "list", "--text", "tape")).toMatch(new RegExp(`^${failed}\t.*\n$`)); // it says why it failed
    expect(await details(place, failed)).toMatchObject({ id: failed, timeline: [{ key: "rows" }] });
    expect(await details(place, asking)).toMatchObject({ questions: [{ key: "ok" }] });
    expect(await admin(place, "show", asking)).toMatch(/^Questions\n {2}ok: Send it\? copies=integer$/m);
    expect(await admin(place, "counts")).toBe(
      "load\t0\t0\t0\t0\t0\t0\t1\t0\t\nsend\t0\t0\t0\t1\t0\t0\t0\t0\t\n",
    );
    expect(await adminJson(place, "failures", "load")).toMatchObject({
      tool: "load",
      failures: [{ message: "no tape", count: 1, taskId: failed }],
    });
    expect(await adminJson(place, "latency", "load")).toMatchObject({
      tasks: 1,
      steps: [{ name: "rows", kind: "step", count: 1, taskId: failed }],
    });
    expect(await admin(place, "callers", "--by", "time")).toMatch(/^ann\t1\t/m);
    expect(await admin(place, "top")).toContain(
      "0 running, 1 waiting for answers, 0 waiting otherwise, 0 queued",
    );
    expect(await adminJson(place, "top")).toMatchObject({
      counts: { tools: [{ tool: "load" }, { tool: "send", inputRequired: 1 }] },
      tasks: [{ id: asking }],
    });
  });

  it("answers, runs again, extends, cancels and deletes a task, and records who did", async () => {
    const { place, runtime, asking, failed } = await served(kind);
    expect(await admin(place, "answer", asking, "--accept", "copies=2", "--as", "eve")).toMatch(
      /^answered "ok" of/,
    );
    await expect.poll(() => stateOf(runtime, asking)).toBe("settled");
    expect((await details(place, asking)).outcome?.body).toMatchObject({
      content: [{ text: 'sent {"copies":2}' }],
    });

    const rerun = await admin(
      place,
      "retry",
      failed,
      "--arguments",
      '{"from":"disk"}',
      "--keep-up-to",
      "rows",
    );
    const [, id = ""] = /^\S+ runs again as (\S+)\n$/.exec(rerun) ?? [];
    await expect.poll(() => stateOf(runtime, id)).toBe("settled");
    const again = await details(place, id);
    expect(again).toMatchObject({ state: "completed", retryOf: failed, arguments: { from: "disk" } });
    expect(again.timeline).toHaveLength(1);

    expect(await admin(place, "extend", failed, "never")).toBe(`extended ${failed} without an end\n`);
    expect((await details(place, failed)).expiresAt).toBe(null);
    expect(await admin(place, "extend", failed, "2031-01-01")).toBe(
      `extended ${failed} until 2031-01-01 00:00:00Z\n`,
    );
    expect((await details(place, failed)).expiresAt).toBe(Date.UTC(2031, 0, 1));
    expect(await admin(place, "delete", failed)).toBe(`deleted ${failed}\n`);
    expect(await runAdmin(place, "show", failed)).toMatchObject({ code: 5 });

    const other = await call(runtime, "send");
    await expect.poll(async () => (await runtime.get(other, ann)).inputs.length).toBe(1);
    expect(await admin(place, "answer", other, "ok", '{"action":"decline"}')).toContain("answered");
    await expect.poll(() => stateOf(runtime, other)).toBe("settled");
    const third = await call(runtime, "send");
    expect(await admin(place, "cancel", third)).toBe(`cancelled ${third}\n`);
    expect(await stateOf(runtime, third)).toBe("cancelled");

    expect(await adminJson(place, "actions", "--limit", "2")).toMatchObject({
      actions: [{ action: "cancel", taskId: third }, { action: "answer" }],
    });
    expect(await adminJson(place, "actions", "--task", asking)).toMatchObject({
      actions: [{ actor: "eve", action: "answer", detail: { keys: ["ok"] } }],
    });
    expect(await admin(place, "actions", "--before", "2")).toMatch(/\teve\tanswer\t/);
  });

  it("acts on all tasks that are selected, once it was said which", async () => {
    const { place, runtime } = await served(kind);
    for (let n = 0; n < 3; n++) await call(runtime, "load", { from: n });
    await expect
      .poll(async () => (await admin(place, "list", "--state", "failed")).split("\n").length)
      .toBe(5);
    const all = ["--all", "--tool", "load", "--state", "failed"];
    expect(await admin(place, "retry", ...all, "--dry-run")).toBe("4 tasks would be run again\n");
    const unasked = await runMain(["admin", place.url, "retry", ...all], { cwd: place.cwd });
    expect(unasked).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /Nothing was changed: 4 tasks will be run again: .*needs --yes/,
      ) as string,
    });
    for (const [filter, known] of [
      ["--cause", /c[0-9a-f]{16}/],
      ["--tool", /load/],
      ["--node", /There are [\w-]{16}/],
    ] as const)
      for (const action of ["retry", "cancel", "delete"]) {
        const typo = await runMain(["admin", place.url, action, "--all", filter, "typo"], { cwd: place.cwd });
        expect(typo).toMatchObject({ code: 2, stdout: "" });
        expect(typo.stderr).toContain(`no stored task has the ${filter.slice(2)} "typo"`);
        expect(typo.stderr).toMatch(known);
      }
    expect(await admin(place, "retry", ...all, "--limit", "2", "--yes")).toBe("2 tasks were run again\n");
    await expect
      .poll(async () => (await admin(place, "list", "--state", "failed")).split("\n").length)
      .toBe(7);
    // Those that were run again are left out.
    expect(await admin(place, "extend", "never", ...all, "--yes")).toBe("4 tasks were extended\n");
    expect(await adminJson(place, "delete", ...all, "--yes")).toMatchObject({
      action: "delete",
      dryRun: false,
      counts: { total: 4, open: 0, done: 4, refused: 0 },
      refused: [],
    });
    expect(await admin(place, "cancel", "--all", "--yes")).toBe("1 task was cancelled\n");
  });

  it("pauses a tool, and resumes it", async () => {
    const { place, runtime } = await served(kind);
    expect(await admin(place, "pause", "load", "--as", "eve")).toBe("paused load\n");
    expect(await admin(place, "counts")).toMatch(/^load\t.*\teve since \d{4}-/m);
    const { stdout } = await runMain(["admin", place.url, "counts"], { cwd: place.cwd, columns: 80 });
    expect(stdout.replaceAll(/since .*/g, "since …")).toBe(
      [
        "TOOL  QUEUED  WAITING  RUNNING  ASKING  DONE  FAILED  CANCELLED  PAUSED BY",
        "load       0        0        0       0     0       1          0  eve since …",
        "send       0        0        0       1     0       0          0",
        "",
      ].join("\n"),
    );
    expect(await adminJson(place, "resume", "load")).toEqual({ tool: "load", paused: false });
    const id = await call(runtime, "load", { from: "disk" });
    await expect.poll(() => stateOf(runtime, id), { timeout: 20_000 }).toBe("settled");
  });
});

it("says that no task of a tool is stored, which may be mistyped", async () => {
  const { place } = await served("SQLite");
  const stderr = 'No task of a tool "lod" is stored. Did you mean "load"?\n';
  expect(await runAdmin(place, "pause", "lod")).toMatchObject({ code: 0, stdout: "paused lod\n", stderr });
  expect(await runAdmin(place, "failures", "lod")).toMatchObject({ code: 0, stderr });
  expect(await runAdmin(place, "failures", "load")).toMatchObject({ code: 0, stderr: "" });
  const cut = "Of the newest 1 task that failed: incidents counts all\n";
  expect(await runAdmin(place, "failures", "load", "--limit", "1")).toMatchObject({ code: 0, stderr: cut });
  expect(await runAdmin(place, "pause", "send")).toMatchObject({ code: 0, stderr: "" });
  // What would be an option, behind the sign that there are no more.
  expect(await admin(place, "pause", "--", "-lod")).toBe("paused -lod\n");
});

it("takes the beginning of an id where that is enough", async () => {
  const { place, asking, failed } = await served("SQLite");
  expect(await details(place, asking.slice(0, 20))).toMatchObject({ id: asking });
  expect(await details(place, failed.slice(0, 20))).toMatchObject({ id: failed });
  expect(await runAdmin(place, "show", asking.slice(0, 3))).toMatchObject({
    code: 2,
    stderr: `holdfast: The ids of several tasks start with ${asking.slice(0, 3)}: give more of it.\n`,
  });
  expect(await runAdmin(place, "show", "nothing")).toMatchObject({ code: 5 });
  expect(await runAdmin(place, "show", "")).toMatchObject({ code: 2 });
});

it("refuses what cannot be, and says why", async () => {
  const { place, asking } = await served("SQLite");
  const refused = async (...words: readonly string[]): Promise<string> => {
    const { code, stderr, stdout } = await runAdmin(place, ...words);
    expect([words, code, stdout]).toEqual([words, 2, ""]);
    return stderr;
  };
  expect(await refused("list", "--state", "lost")).toContain("There is no state");
  expect(await refused("list", "--older-than", "soon")).toContain("--older-than takes a duration");
  expect(await refused("list", "--nobody", "--principal", "ann")).toContain("not both");
  expect(await refused("list", "--limit", "0")).toContain("whole number, 1 or more");
  expect(await refused("retry")).toContain("Give the id of a task, or --all");
  expect(await refused("retry", asking, "--all")).toContain("not both");
  expect(await refused("delete", asking, "--tool", "send")).toContain("need --all");
  expect(await refused("retry", "--all", "--arguments", "{}")).toContain("one task at a time");
  expect(await refused("retry", asking)).toContain("has not ended");
  expect(await refused("retry", asking, "--arguments", "{")).toContain("takes JSON");
  expect(await refused("extend", asking, "soon")).toContain("Extend a task by");
  expect(await refused("extend", asking)).toContain("Extend a task by");
  expect(await refused("extend", asking, "2031-02-30")).toContain("Extend a task by");
  expect(await refused("answer", asking)).toContain("Give the answer as JSON");
  expect(await refused("answer", asking, "no", "{}")).toContain("no open question");
  expect(await refused("answer", asking, "ok", '{"action":"accept","content":{}}')).toContain(
    "does not fit the question",
  );
  expect(await refused("answer", asking, "--accept", "copies=many")).toContain("copies must be an integer");
  expect(await refused()).toMatch(
    /Give a store and then a command, such as holdfast admin tasks.db list. There are sessions, incidents,/,
  );
  for (const word of ["lst", "ls"])
    expect(await refused(word)).toContain(`There is no command "${word}" of admin. Did you mean "list"?\n`);
  expect(await refused("xyzzy")).toContain('There is no command "xyzzy" of admin. There are sessions,');
  expect(await refused("list", "x")).toContain("too many arguments");
});
