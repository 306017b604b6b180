import { describe, expect, it } from "vitest";
import { keys, Pty } from "../terminal/pty.ts";
import { adminJson, call, serve, somePlace, type Place } from "./some-place.ts";

/** A server on a file with a task that failed, and one that sleeps. */
async function served(): Promise<Place> {
  const place = await somePlace("SQLite");
  const runtime = await serve(place, (tools) => {
    tools.add("load", {}, () => {
      throw new Error("no tape");
    });
    tools.add("nap", {}, async (_args, task) => {
      await task.status("\u001b[2Jasleep");
      await task.sleep("night", 3_600_000);
      return { content: [] };
    });
  });
  await call(runtime, "nap");
  await call(runtime, "load");
  await expect
    .poll(() => adminJson(place, "list", "--state", "failed"))
    .toMatchObject({ tasks: [{ tool: "load" }] });
  return place;
}

describe("an operator at a terminal", { timeout: 60_000 }, () => {
  it("watches tools and tasks, in whatever window, and leaves by q", async () => {
    const { url } = await served();
    const pty = await Pty.holdfast(["admin", url, "top"], { columns: 80, rows: 16 });
    await pty.sees(/^load +0 +0 +0 +0 +0 +1 +0$/m);
    await pty.sees(/nap .*asleep$/m);
    await pty.sees(/^q quits$/m);
    expect(pty.raw).not.toContain("\u001b[2J");
    pty.resize(120, 10);
    await pty.sees(/^TOOL +QUEUED/m);
    pty.type("x", "q");
    expect(await pty.ends()).toBe(0);
    // What was on the screen before is there again.
    expect(pty.screen.text).not.toContain("q quits");
  });

  it("leaves by Ctrl-C and by SIGTERM too", async () => {
    const { url } = await served();
    const first = await Pty.holdfast(["admin", url, "top"]);
    await first.sees(/^q quits$/m);
    first.type(keys.ctrlC);
    expect(await first.ends()).toBe(130);
    const second = await Pty.holdfast(["admin", url, "top"]);
    await second.sees(/^q quits$/m);
    second.signal("SIGTERM");
    expect(await second.ends()).toBe(143);
  });

  it("is asked before many tasks are changed, and is told how many", async () => {
    const place = await served();
    const retry = ["admin", place.url, "retry", "--all", "--state", "failed"];
    const no = await Pty.holdfast(retry);
    await no.sees(/1 task will be run again: state failed\. Continue\?/);
    no.type(keys.enter);
    expect(await no.ends()).toBe(2);
    expect(no.screen.text).toContain("Nothing was changed.");
    const interrupted = await Pty.holdfast(retry);
    await interrupted.sees(/Continue\?/);
    interrupted.type(keys.ctrlC);
    expect(await interrupted.ends()).toBe(130);
    const yes = await Pty.holdfast(retry);
    await yes.sees(/● No/);
    yes.type(keys.down);
    await yes.sees(/● Yes/);
    yes.type(keys.enter);
    expect(await yes.ends()).toBe(0);
    expect(yes.screen.text).toMatch(/^1 task was run again$/m);
    expect(await adminJson(place, "actions")).toMatchObject({ actions: [{ action: "retry" }] });
  });

  it("reads titles and shortened ids, and is told where more tasks are", async () => {
    const { url } = await served();
    const pty = await Pty.holdfast(["admin", url, "list", "--limit", "1"]);
    expect(await pty.ends()).toBe(0);
    expect(pty.screen.text).toMatch(/^ID +STATE +TOOL +AGE +RAN +PRINCIPAL +TEXT$/m);
    expect(pty.screen.text).toMatch(/^For more, add --after \S{34}$/m);
  });
});
