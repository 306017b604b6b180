import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileLogins, logIn, logOut } from "holdfast/client";
import { expect, it } from "vitest";
import { fileLoginsWith } from "../../../src/client/auth/file-logins.ts";
import { loginName, type Login } from "../../../src/client/auth/login.ts";
import { folder } from "../../cli/run-cli.ts";
import { FakeClock } from "../fake-clock.ts";
import { connected, loud, shouted, visits } from "./connected.ts";
import { protectedBy } from "./protected.ts";

const login: Login = {
  issuer: "https://login.example.com",
  tokenEndpoint: "https://login.example.com/token",
  authMethods: ["none"],
  revocationEndpoint: "https://login.example.com/revoke",
  resource: "https://reports.example.com/mcp",
  client: { id: "desk", secret: undefined, method: "none" },
  grant: "authorization_code",
  accessToken: "access",
  refreshToken: "refresh",
  scope: "reports",
  expiresAt: 1_800_000_000_000,
};
const server = "https://reports.example.com/mcp";

async function only(path: string): Promise<string> {
  const [name = ""] = await readdir(path);
  return join(path, name);
}

it("keeps a login for each server, for its owner alone", async () => {
  const path = join(await folder(), "logins");
  const store = fileLogins(path);
  expect(await store.load(server)).toBeUndefined();
  await store.save(server, login);
  expect(await fileLogins(path).load(server)).toEqual(login);
  expect(await store.load("https://reports.example.com/other")).toBeUndefined();
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  expect((await stat(await only(path))).mode & 0o777).toBe(0o600);
  await store.delete(server);
  expect(await store.load(server)).toBeUndefined();
  expect(await readdir(path)).toEqual([]);
});

it("refuses a login that others can read", async () => {
  const path = await folder();
  const store = fileLogins(path);
  await store.save(server, login);
  await chmod(await only(path), 0o640);
  await expect(store.load(server)).rejects.toMatchObject({ code: "unauthorized" });
  expect(await logOut(server, { store })).toBe("deleted");
  expect(await readdir(path)).toEqual([]);
});

it("takes what it cannot read for no login", async () => {
  const path = await folder();
  const store = fileLogins(path);
  await store.save(server, login);
  const file = await only(path);
  const text = await readFile(file, "utf8");
  for (const damaged of [
    "",
    "{",
    "null",
    text.replace('"format":1', '"format":2'),
    text.replace("issuer", "x"),
  ]) {
    await writeFile(file, damaged);
    expect(await store.load(server)).toBeUndefined();
  }
});

it("lets one work at a time, also after one has failed", async () => {
  const store = fileLogins(await folder());
  const order: string[] = [];
  const first = store.exclusively(server, async () => {
    order.push("first");
    await new Promise((resolve) => setImmediate(resolve));
    order.push("first ends");
    throw new Error("failed");
  });
  const second = store.exclusively(server, async () => void order.push("second"));
  await expect(first).rejects.toThrow("failed");
  await second;
  const turns = order.join(", ");
  expect(["first, first ends, second", "second, first, first ends"]).toContain(turns);
});

it("takes over the lock of a process that has died", async () => {
  const path = await folder();
  const store = fileLoginsWith(path, { clock: new FakeClock() });
  const dead = spawn(process.execPath, ["-e", ""]);
  await once(dead, "exit");
  let lock = "";
  await store.exclusively(server, async () => void (lock = await only(path)));
  await writeFile(lock, `${dead.pid} one`);
  expect(await store.exclusively(server, async () => "done")).toBe("done");
  expect(await readdir(path)).toEqual([]);
});

it("renews a token once for several processes", async () => {
  const { url, oauth } = await protectedBy();
  const path = await folder();
  const store = fileLogins(path);
  await logIn(url, { store, onAddress: visits });
  oauth.expireAll();
  const script = fileURLToPath(new URL("shout.ts", import.meta.url));
  const processes = Array.from({ length: 4 }, () =>
    spawn(process.execPath, [script, url, path], { stdio: ["ignore", "inherit", "inherit"] }),
  );
  const codes = await Promise.all(processes.map(async (child) => (await once(child, "exit"))[0] as unknown));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect(oauth.times("/token")).toBe(2);
  expect(await shouted(await connected(url, store))).toEqual(loud);
  expect((await store.load(loginName(new URL(url))))?.refreshToken).toMatch(/^refresh-/);
});
