import { chmod, readdir, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { protectedBy, type Protected } from "../client/auth/protected.ts";
import type { Offers } from "../client/auth/oauth-server.ts";
import type { OAuthResourceOptions } from "holdfast/auth";
import { Pty, keys } from "./terminal/pty.ts";
import { folder, startHoldfast, type Run, type RunningCli } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

interface Setup extends Protected {
  readonly state: string;
  readonly env: Readonly<Record<string, string>>;
  readonly start: (args: readonly string[], env?: Readonly<Record<string, string>>) => RunningCli;
  /** In this process. */
  readonly run: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Run>;
}

/** A browser whose user does what the page says. */
async function browser(): Promise<string> {
  const path = join(await folder(), "browser");
  const visit = "fetch(process.argv[1]).then((page) => page.text())";
  await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' -e '${visit}' "$1"\n`);
  await chmod(path, 0o755);
  return path;
}

async function setUp(offers: Offers = {}, options: Partial<OAuthResourceOptions> = {}): Promise<Setup> {
  const state = await folder();
  const env = { HOLDFAST_STATE: state, BROWSER: await browser() };
  return {
    ...(await protectedBy(offers, options)),
    state,
    env,
    start: (args, more) => startHoldfast(args, { env: { ...env, ...more } }),
    run: async (args, more) => runMain(args, { env: { ...env, ...more } }),
  };
}

const slow = { timeout: 60_000 };

it("logs in by the browser, for all commands from then on, until it logs out", slow, async () => {
  const { url, oauth, start, run, state } = await setUp();
  const refused = await run(["call", url, "shout", "word=a"]);
  expect(refused).toMatchObject({ code: 6, stdout: "" });
  expect(refused.stderr).toContain(`Log in with:\n  holdfast login ${url}`);
  const login = await start(["login", url]).ended;
  expect(login).toMatchObject({ code: 0, stdout: "" });
  expect(login.stderr).toContain(`Log in to ${url} at:\n  ${oauth.issuer}/authorize?`);
  expect(login.stderr).toContain(`logged in to ${url} at ${oauth.issuer}, renewed automatically`);
  expect(await run(["call", url, "shout", "word=a"])).toMatchObject({ code: 0, stdout: "A\n" });
  expect((await run(["doctor", url])).stdout).toMatch(
    /authorization +yes +logged in at .+, renewed automatically/,
  );
  const [file = ""] = await readdir(join(state, "logins"));
  expect((await stat(join(state, "logins", file))).mode & 0o777).toBe(0o600);
  expect((await stat(join(state, "logins"))).mode & 0o777).toBe(0o700);
  const logout = await start(["logout", url]).ended;
  expect(logout).toEqual({
    code: 0,
    stdout: "",
    stderr: `logged out of ${url}; its tokens are revoked\n`,
  });
  expect(oauth.times("/revoke")).toBe(2);
  expect(await run(["call", url, "shout", "word=a"])).toMatchObject({ code: 6 });
  expect(await run(["logout", url])).toMatchObject({ code: 0, stderr: `not logged in to ${url}\n` });
});

it.runIf(process.platform === "linux")(
  "says once that there is no keyring, and asks nobody if one fails",
  slow,
  async () => {
    const { url, oauth, start, run } = await setUp();
    const nowhere = {
      HOLDFAST_KEYRING: "",
      DBUS_SESSION_BUS_ADDRESS: `unix:path=${join(await folder(), "bus")}`,
    };
    // A file in place of the bus: the system has one, and it does not answer.
    const file = join(await folder(), "bus");
    await writeFile(file, "");
    const broken = { ...nowhere, DBUS_SESSION_BUS_ADDRESS: `unix:path=${file}` };
    const asked = oauth.times("/register");
    const failed = await start(["login", url], broken).ended;
    expect(failed).toMatchObject({ code: 6, stdout: "" });
    expect(failed.stderr).toMatch(/The system's keyring failed, .*Connection refused.*HOLDFAST_KEYRING=off/s);
    const refused = await start(["login", url], { ...nowhere, HOLDFAST_KEYRING: "required" }).ended;
    expect(refused).toMatchObject({ code: 6, stdout: "" });
    expect(refused.stderr).toContain("there is no keyring to keep the key");
    expect(await start(["login", url], { ...nowhere, HOLDFAST_KEYRING: "yes" }).ended).toMatchObject({
      code: 2,
    });
    expect(oauth.times("/register")).toBe(asked);
    const login = await start(["login", url], nowhere).ended;
    expect(login.code).toBe(0);
    expect(login.stderr.match(/The login is not encrypted: this system has no Secret Service/g)).toHaveLength(
      1,
    );
    oauth.expireAll();
    const called = await start(["call", url, "shout", "word=a"], nowhere).ended;
    expect(called).toMatchObject({ code: 0, stdout: "A\n" });
    expect(called.stderr).not.toContain("encrypted");
    expect(await run(["call", url, "shout", "word=a"])).toMatchObject({ code: 0, stdout: "A\n" });
  },
);

it("renews a token that has ended, and says when the login has", slow, async () => {
  const { url, oauth, start, run } = await setUp();
  await start(["login", url]).ended;
  oauth.expireAll();
  expect(await run(["call", url, "shout", "word=a"])).toMatchObject({ code: 0, stdout: "A\n" });
  oauth.revokeAll();
  const ended = await run(["call", url, "shout", "word=a"]);
  expect(ended).toMatchObject({ code: 6, stdout: "" });
  expect(ended.stderr).toContain(`The login to ${url} is no longer valid`);
  expect(ended.stderr).toContain(`Log in with:\n  holdfast login ${url}`);
});

it("logs in with a code that is entered on another device", slow, async () => {
  const { url, oauth, start, run } = await setUp();
  const login = start(["login", url, "--device", "--json"]);
  const [, code = ""] = await login.told(/enter the code (\S+)/);
  oauth.decideOn(code, "approved");
  const { stdout, code: exit } = await login.ended;
  expect(exit).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ server: url, issuer: oauth.issuer, renews: true });
  expect(await run(["call", url, "shout", "word=a"])).toMatchObject({ code: 0 });
});

it("logs a program in by its secret, which is in no argument", slow, async () => {
  const { url, oauth, run } = await setUp();
  oauth.clients.set("robot", { id: "robot", secret: "s3cret", redirectUris: [] });
  const asRobot = ["login", url, "--client-credentials", "--client-id", "robot"];
  expect(await run(asRobot)).toMatchObject({ code: 2 });
  expect(await run(["login", url, "--client-credentials"])).toMatchObject({ code: 2 });
  const wrong = await run(asRobot, { HOLDFAST_CLIENT_SECRET: "wrong" });
  expect(wrong).toMatchObject({ code: 6 });
  expect(await run(asRobot, { HOLDFAST_CLIENT_SECRET: "s3cret" })).toMatchObject({ code: 0 });
  expect(await run(["call", url, "shout", "word=a"])).toMatchObject({ code: 0, stdout: "A\n" });
  const secret = join(await folder(), "secret");
  const missing = await run([...asRobot, "--client-secret-file", secret]);
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining(secret) as string });
  await writeFile(secret, "s3cret\n");
  expect(await run([...asRobot, "--client-secret-file", secret])).toMatchObject({ code: 0 });
});

it("uses a token of the environment rather than a login", slow, async () => {
  const { url, start, run } = await setUp();
  await start(["login", url]).ended;
  const refused = await run(["call", url, "shout", "word=a"], { HOLDFAST_TOKEN: "another" });
  expect(refused).toMatchObject({ code: 6 });
  expect(await run(["call", url, "shout", "word=a"])).toMatchObject({ code: 0 });
});

it("says how to log in with the scopes that a tool wants", slow, async () => {
  const { url, start, run } = await setUp({}, { scopes: { tools: { shout: ["loud"] } } });
  await start(["login", url, "--scope", "quiet"]).ended;
  const refused = await run(["call", url, "shout", "word=a"]);
  expect(refused).toMatchObject({ code: 6 });
  expect(refused.stderr).toContain(`Log in with:\n  holdfast login ${url} --scope 'quiet loud'`);
  await start(["login", url, "--scope", "quiet loud"]).ended;
  expect(await run(["call", url, "shout", "word=a"])).toMatchObject({ code: 0 });
});

it("refuses a login that others can read", slow, async () => {
  const { url, start, run, state } = await setUp();
  await start(["login", url]).ended;
  const [file = ""] = await readdir(join(state, "logins"));
  await chmod(join(state, "logins", file), 0o644);
  const refused = await run(["call", url, "shout", "word=a"]);
  expect(refused).toMatchObject({ code: 6 });
  expect(refused.stderr).toContain("Other users can read the login");
});

it("refuses what cannot be logged in to", slow, async () => {
  const { url, run } = await setUp();
  expect(await run(["login", "stdio:node server.js"])).toMatchObject({ code: 2 });
  expect(await run(["login", url, "--device", "--client-credentials", "--client-id", "a"])).toMatchObject({
    code: 2,
  });
  expect(await run(["login", url, "--issuer", "https://login.example.com"])).toMatchObject({ code: 6 });
  expect(await run(["login", "http://127.0.0.1:1/mcp"])).toMatchObject({ code: 6 });
});

it("says where to log in on a terminal without a browser, and is ended by Ctrl-C", slow, async () => {
  const { url, oauth, env } = await setUp();
  const pty = await Pty.holdfast(["login", url, "--no-browser"], { env, state: env["HOLDFAST_STATE"] ?? "" });
  await pty.sees(/Ctrl-C cancels/);
  expect(pty.screen.text).toContain(`Log in to ${url} at:\n  ${oauth.issuer}/authorize?`);
  pty.type(keys.ctrlC);
  await pty.sees(/Interrupted: not logged in/);
  expect(await pty.ends()).toBe(130);
});

it(
  "ends with the login, also while the browser holds a connection on which it asks nothing",
  slow,
  async () => {
    const { url, start } = await setUp();
    const login = start(["login", url, "--no-browser"]);
    const [, address = ""] = await login.told(/^ {2}(http\S+)$/m);
    const { port } = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
    const spare = connect(Number(port), "127.0.0.1");
    onTestFinished(() => void spare.destroy());
    await once(spare, "connect");
    await (await fetch(address)).text();
    const closed = once(spare, "close");
    spare.on("error", () => undefined).resume();
    expect(await login.ended).toMatchObject({ code: 0 });
    await closed;
  },
);

it("takes the login of whoever opens the printed page himself", slow, async () => {
  const { url, env } = await setUp();
  const pty = await Pty.holdfast(["login", url, "--no-browser"], {
    env,
    state: env["HOLDFAST_STATE"] ?? "",
    columns: 200,
  });
  const [, address = ""] = await pty.sees(/^ {2}(http\S+)$/m);
  await pty.sees(/Ctrl-C cancels/);
  const page = await (await fetch(address)).text();
  expect(page).toContain("return to the terminal");
  await pty.sees(/logged in to/);
  expect(await pty.ends()).toBe(0);
});

it("needs no login to a command, however it is given", async () => {
  for (const command of ["login", "logout"])
    for (const server of [["node server.js"], ["--", "node", "server.js"]])
      expect(await runMain([command, ...server])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("node server.js is a command: it runs as you") as string,
      });
});
