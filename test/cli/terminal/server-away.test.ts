import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { EverythingServer } from "../../conformance/everything-server.ts";
import { folder, startHoldfast } from "../run-cli.ts";
import { idOn, keys, Pty } from "./pty.ts";

/** A server that can be killed and started again with its tasks, at the same address. */
async function restartable() {
  const env = { HOLDFAST_STORE: `sqlite:${join(await folder(), "tasks.db")}` };
  let server = new EverythingServer({ env });
  const url = await server.url;
  onTestFinished(async () => void (await server.stop("SIGKILL")));
  return {
    url,
    kill: async () => void (await server.stop("SIGKILL")),
    start: async () => {
      server = new EverythingServer({ env: { ...env, PORT: new URL(url).port } });
      await server.url;
    },
  };
}

it(
  "tells a person who waits that the server is away, and goes on when it is back",
  { timeout: 60_000 },
  async () => {
    const { url, kill, start } = await restartable();
    const state = await folder();
    const pty = await Pty.holdfast(["call", url, "never_ends"], { state });
    const id = await idOn(pty);
    await pty.sees(/^\S never_ends \d+s$/m);
    await kill();
    await pty.sees(/^\S never_ends · server unreachable, trying again \d+s$/m);
    await start();
    await pty.sees(/^\S never_ends \d+s$/m);
    pty.type(keys.ctrlC);
    await pty.sees(/Press Ctrl-C again/);
    pty.type(keys.ctrlC);
    expect(await pty.ends()).toBe(4);
    // From elsewhere too, the task's tool and how long it took are shown, not how long this command did.
    const other = await Pty.holdfast(["watch", id, "--server", url]);
    expect(await other.ends()).toBe(4);
    expect(other.screen.text).toMatch(/^■ never_ends cancelled after \d+s$/m);
  },
);

it("tells a log of it, once for each time", { timeout: 60_000 }, async () => {
  const { url, kill, start } = await restartable();
  const running = startHoldfast(["call", url, "never_ends"], { env: { HOLDFAST_STATE: await folder() } });
  await running.told(/^task \S+\n(.*\n)*working/m);
  await kill();
  await running.told(/^server unreachable, trying again$/m);
  await start();
  await running.told(/^server reachable again$/m);
  running.kill("SIGTERM");
  const { code, stderr } = await running.ended;
  expect(code).toBe(143);
  expect(stderr.match(/server unreachable/g)).toHaveLength(1);
});
