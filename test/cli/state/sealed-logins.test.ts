import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileLoginsWith } from "../../../src/client/auth/file-logins.ts";
import type { Login, LoginStore } from "../../../src/client/auth/login.ts";
import { type Keyring, LoginSealing, NoKeyring } from "../../../src/cli/state/login-sealing.ts";
import { folder } from "../run-cli.ts";

const server = "https://reports.example.com/mcp";
const login: Login = {
  issuer: "https://login.example.com",
  tokenEndpoint: "https://login.example.com/token",
  client: { id: "desk" },
  grant: "authorization_code",
  accessToken: "s3cret".repeat(1_000), // more than the keyring of Windows takes
};

function keyring(): Keyring & { readonly secrets: Map<string, string> } {
  const secrets = new Map<string, string>();
  return {
    secrets,
    read: async (name) => secrets.get(name) ?? null,
    write: async (name, secret) => void secrets.set(name, secret),
  };
}

/** As where there is no desktop. */
const none: Keyring = {
  read: () => Promise.reject(new NoKeyring("there is none")),
  write: () => Promise.reject(new NoKeyring("there is none")),
};

/** As when the user does not unlock it. */
const locked: Keyring = {
  read: () => Promise.reject(new Error("object locked")),
  write: () => Promise.reject(new Error("object locked")),
};

/** Something else is kept under our name. */
const odd: Keyring = { read: async () => "no key", write: async () => undefined };

const logins = (path: string, ring: Keyring | "off", choice?: string): LoginStore =>
  ring === "off"
    ? fileLoginsWith(path, { sealing: new LoginSealing(path, "off", keyring()) })
    : fileLoginsWith(path, { sealing: new LoginSealing(path, choice, ring) });

async function textIn(path: string): Promise<string> {
  const [name = ""] = await readdir(path);
  return readFile(join(path, name), "utf8");
}

it("seals logins with one key of the keyring", async () => {
  const [path, ring] = [await folder(), keyring()];
  await logins(path, ring).save(server, login);
  expect(await textIn(path)).not.toContain("s3cret");
  expect(await logins(path, ring).load(server)).toMatchObject(login);
  await logins(path, ring).save("https://other.example.com/mcp", login);
  expect(ring.secrets.size).toBe(1);
});

it.each(["off" as const, none])("keeps them as they are where there is no keyring", async (ring) => {
  const path = await folder();
  await logins(path, ring).save(server, login);
  expect(await textIn(path)).toContain("s3cret");
  expect(await logins(path, ring).load(server)).toMatchObject(login);
  // A keyring that comes later does not take them away.
  expect(await logins(path, keyring()).load(server)).toMatchObject(login);
});

it.each([locked, odd])("stores nothing while the keyring fails", async (ring) => {
  const path = await folder();
  await expect(logins(path, ring).save(server, login)).rejects.toMatchObject({
    code: "unauthorized",
    message: expect.stringMatching(/^The system's keyring failed, .*: (object locked|Holdfast's entry)/),
  });
  expect(await readdir(path)).toEqual([]);
});

it("renews an unencrypted login while the keyring fails, and says why it stays so", async () => {
  const path = await folder();
  await logins(path, none).save(server, login);
  const sealing = new LoginSealing(path, undefined, locked);
  await fileLoginsWith(path, { sealing }).save(server, { ...login, accessToken: "new" });
  expect(sealing.unsealedBecause).toBe("object locked");
  expect(await logins(path, locked).load(server)).toMatchObject({ accessToken: "new" });
  const renewed = new LoginSealing(path, undefined, keyring());
  await fileLoginsWith(path, { sealing: renewed }).save(server, login);
  expect(renewed.unsealedBecause).toBeUndefined();
  expect(await textIn(path)).not.toContain("s3cret");
  await expect(logins(path, locked).save(server, login)).rejects.toMatchObject({ code: "unauthorized" });
});

it("refuses to store or use an unencrypted login where a keyring is required", async () => {
  const path = await folder();
  await expect(logins(path, none, "required").save(server, login)).rejects.toMatchObject({
    code: "unauthorized",
  });
  await logins(path, none).save(server, login);
  for (const ring of [none, locked, keyring()])
    await expect(logins(path, ring, "required").load(server)).rejects.toMatchObject({ code: "unauthorized" });
  await logins(path, keyring(), "required").save(server, login);
  expect(await textIn(path)).not.toContain("s3cret");
  await expect(logins(path, keyring(), "On").save(server, login)).rejects.toThrow("HOLDFAST_KEYRING");
});

it("says so where the keyring cannot be read any more", async () => {
  const [path, ring] = [await folder(), keyring()];
  await logins(path, ring).save(server, login);
  for (const other of [none, locked, "off" as const, keyring()])
    await expect(logins(path, other).load(server)).rejects.toMatchObject({ code: "unauthorized" });
});

it("takes what was changed, or sealed with another key, for no login", async () => {
  const [path, ring] = [await folder(), keyring()];
  await logins(path, ring).save(server, login);
  const [name = ""] = await readdir(path);
  const text = await readFile(join(path, name), "utf8");
  await writeFile(join(path, name), text.replace(/"text":"..../, '"text":"AAAA'));
  expect(await logins(path, ring).load(server)).toBeUndefined();
  await writeFile(join(path, name), text);
  ring.secrets.set(path, Buffer.alloc(32).toString("base64"));
  expect(await logins(path, ring).load(server)).toBeUndefined();
});
