import type { HttpServer } from "holdfast/http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../../src/client/connect.ts";
import type { RemoteTask } from "../../../src/client/task/remote-task.ts";
import { EverythingServer } from "../../conformance/everything-server.ts";
import { askingServer } from "./asking-server.ts";
import { folder, root } from "../run-cli.ts";
import { idOn, keys, Pty } from "./pty.ts";

const { ctrlC } = keys;

describe("a person at a terminal", { timeout: 60_000 }, () => {
  let everything: EverythingServer;
  let asking: HttpServer;
  let url: string;
  beforeAll(async () => {
    everything = new EverythingServer();
    asking = await askingServer();
    url = await everything.url;
  });
  afterAll(async () => {
    await asking.close();
    await everything.stop("SIGKILL");
  });

  /** A task as its server tells it. */
  async function taskOf(id: string, server = url): Promise<RemoteTask> {
    const client = await connect(server, { capabilities: { elicitation: { form: {}, url: {} } } });
    try {
      const generation = "2026-07-28";
      return await (await client.resume({ server, generation, taskId: id })).get();
    } finally {
      await client.close();
    }
  }

  it("sees the progress, also after a resize", async () => {
    const pty = await Pty.holdfast(["call", url, "progress_to", "total=30", "delayMs=100"], {
      columns: 60,
      rows: 12,
    });
    await pty.sees(/^\S progress_to · \d+ of 30: counted \d+ \d+s$/m);
    pty.resize(24, 12);
    await pty.sees(/^\S progress_to · .*… \d+s$/m);
    pty.resize(100, 12);
    await pty.sees(/counted 30|✔/);
    expect(await pty.ends()).toBe(0);
    // Thirty messages and two resizes have left no line behind.
    const lines = pty.screen.text.split("\n").filter((line) => line.includes("progress_to"));
    expect(lines).toEqual([expect.stringMatching(/^✔ progress_to completed after \d+s$/)]);
  });

  it("detaches by Ctrl-C, and returns to the running task", async () => {
    const state = await folder();
    const pty = await Pty.holdfast(["call", url, "slow_compute", "seconds=6", "label=late"], { state });
    const id = await idOn(pty);
    await pty.sees(/^\S slow_compute.* \d+s$/m);
    pty.type(ctrlC);
    await pty.sees(new RegExp(`Come back to it with:\\n  holdfast watch ${id}`));
    await pty.sees(/Press Ctrl-C again within 3 seconds/);
    expect(await pty.ends()).toBe(130);
    const back = await Pty.holdfast(["watch", id], { state });
    expect(await back.ends()).toBe(0);
    expect(back.screen.text).toContain("late: computed for 6 s");
  });

  it("cancels by a second Ctrl-C", async () => {
    const pty = await Pty.holdfast(["call", url, "never_ends"]);
    const id = await idOn(pty);
    await pty.sees(/^\S never_ends.* \d+s$/m);
    pty.type(ctrlC);
    await pty.sees(/Press Ctrl-C again/);
    pty.type(ctrlC);
    await pty.sees(/Cancelling the task/);
    expect(await pty.ends()).toBe(4);
    expect(await taskOf(id)).toMatchObject({ status: "cancelled" });
  });

  it("cancels on the command's own server process, which Ctrl-C does not end", async () => {
    const server = `env HOLDFAST_STORE=memory: ${process.execPath} ${root}test/everything/main.ts --stdio`;
    const pty = await Pty.holdfast(["call", server, "never_ends"]);
    await pty.sees(/^\S never_ends.* \d+s$/m);
    pty.type(ctrlC);
    await pty.sees(/Its server stops with this command(.|\n)*Press Ctrl-C again/);
    pty.type(ctrlC);
    expect(await pty.ends()).toBe(4);
    expect(pty.screen.text).toMatch(/^holdfast: cancelled$/m);
  });

  it("leaves a question open by Ctrl-C, and by SIGTERM at once", async () => {
    const pty = await Pty.holdfast(["call", url, "confirm_delete", "filename=b.txt"]);
    const id = await idOn(pty);
    await pty.sees(/● No/);
    pty.type(ctrlC);
    await pty.sees(/Press Ctrl-C again/);
    pty.signal("SIGTERM"); // which waits for no second one
    expect(await pty.ends()).toBe(143);
    expect(await taskOf(id)).toMatchObject({ status: "input_required" });
  });

  it("keeps the keys of a command in the background, whose server is its own", async () => {
    const server = `env HOLDFAST_STORE=memory: ${process.execPath} ${root}test/everything/main.ts --stdio`;
    const pty = await Pty.holdfast(["call", server, "slow_compute", "seconds=0", "label=behind"], {
      background: true,
    });
    expect(await pty.ends()).toBe(0);
    expect(pty.screen.text).toContain("behind: computed for 0 s");
  });

  it("reads a list from its first line on", async () => {
    const pty = await Pty.holdfast(["tools", asking.url]);
    expect(await pty.ends()).toBe(0);
    expect(pty.screen.text).toMatch(/^\n?survey\n/);
  });

  it("is not moved by what a server writes", async () => {
    const pty = await Pty.holdfast(["call", asking.url, "shout"]);
    const id = await idOn(pty);
    await pty.sees(/^\S shout · believe me� \d+s$/m);
    expect(pty.raw).not.toContain("owned");
    expect(pty.raw).not.toContain("\u001b[2J");
    pty.type(ctrlC);
    await pty.sees(/Press Ctrl-C again/);
    pty.type(ctrlC);
    expect(await pty.ends()).toBe(4);
    expect(await taskOf(id, asking.url)).toMatchObject({ status: "cancelled" });
  });

  it("gets plain lines where a cursor cannot be moved, and no colours where none are wanted", async () => {
    const dumb = await Pty.holdfast(["call", url, "progress_to", "total=2", "delayMs=0"], {
      env: { TERM: "dumb" },
    });
    expect(await dumb.ends()).toBe(0);
    expect(dumb.raw).not.toContain("\u001b");
    const plain = await Pty.holdfast(["call", url, "slow_compute", "seconds=1", "label=x"], {
      env: { NO_COLOR: "1" },
    });
    expect(await plain.ends()).toBe(0);
    // oxlint-disable-next-line no-control-regex -- what colours are made of
    expect(plain.raw).not.toMatch(/\u001b\[[\d;]*m/);
    expect(plain.raw).toContain("✔");
  });
});
