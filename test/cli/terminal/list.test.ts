import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EverythingServer } from "../../conformance/everything-server.ts";
import { folder } from "../run-cli.ts";
import { Pty } from "./pty.ts";

describe("a person with several tasks", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  let url: string;
  beforeAll(async () => {
    server = new EverythingServer();
    url = await server.url;
  });
  afterAll(async () => void (await server.stop("SIGKILL")));

  /** What a command leaves on the screen. */
  async function screenOf(state: string, ...args: readonly string[]): Promise<string> {
    const pty = await Pty.holdfast(args, { state });
    expect(await pty.ends()).toBe(0);
    return pty.screen.text;
  }

  it("names them by their numbers, sees how they stand, and reads a result again", async () => {
    const state = await folder();
    expect(await screenOf(state, "ls")).toContain("No tasks. A call that takes a while");
    await screenOf(state, "call", url, "slow_compute", "seconds=0", "label=one", "--detach");
    await screenOf(state, "call", url, "never_ends", "--detach");
    const begun = await screenOf(state, "ls");
    expect(begun).toMatch(
      /^# +STATUS +AGE +TOOL +SERVER\n1 +started +\d+s +slow_compute +http.*\n2 +started/m,
    );
    expect(await screenOf(state, "result", "1")).toContain("one: computed for 0 s");
    expect(await screenOf(state, "get", "last")).toMatch(/^tool +never_ends$/m);
    const seen = await screenOf(state, "ls");
    expect(seen).toMatch(/^1 +completed +\d+s +slow_compute.*\n2 +working +\d+s +never_ends/m);
    expect(await screenOf(state, "result", "1")).toContain("one: computed for 0 s");
    expect(await screenOf(state, "cancel", "2")).toContain("cancelled");
    expect(await screenOf(state, "ls")).toMatch(/^2 +cancelled +\d+s +never_ends/m);
  });
});
