import { expect, it } from "vitest";
import { listener, usersMachine } from "../users-machine.ts";
import { keys, Pty } from "./pty.ts";

it(
  "asks a person once for an entry of a folder, with no as the first answer",
  { timeout: 60_000 },
  async () => {
    const server = await listener();
    const { project, env } = await usersMachine();
    const cwd = await project({ fresh: { url: server.url, headers: { "x-key": "${CLOUD_KEY}" } } });
    const open = async (): Promise<Pty> =>
      Pty.holdfast(["tools", "fresh"], { cwd, env: { ...env, HOLDFAST_TOKEN: "" }, rows: 40 });
    const refusing = await open();
    await refusing.sees(/Do you trust it, until it changes\?/);
    expect(refusing.screen.text).toContain("is not one that you");
    expect(refusing.screen.text).toContain(`connects to: ${server.url}`);
    expect(refusing.screen.text).toContain("gets your variables: CLOUD_KEY");
    refusing.type(keys.enter);
    expect(await refusing.ends()).toBe(2);
    expect(server.seen).toEqual([]);
    const interrupted = await open();
    await interrupted.sees(/Do you trust it, until it changes\?/);
    interrupted.type(keys.ctrlC);
    expect(await interrupted.ends()).toBe(130);
    expect(server.seen).toEqual([]);
    const agreeing = await open();
    await agreeing.sees(/Do you trust it, until it changes\?/);
    agreeing.type("y");
    expect(await agreeing.ends()).toBe(6);
    expect(server.seen[0]).toMatchObject({ "x-key": "s3cret-key" });
    const again = await open();
    expect(await again.ends()).toBe(6);
    expect(again.screen.text).not.toContain("Do you trust");
  },
);
