import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileLoginsWith } from "../../../src/client/auth/file-logins.ts";
import type { Login, LoginStore } from "../../../src/client/auth/login.ts";
import { type Keyring, sealedBy } from "../../../src/cli/state/state.ts";
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
  read: () => Promise.reject(new Error("There is no keyring")),
  write: () => Promise.reject(new Error("There is no keyring")),
};

const logins = (path: string, ring: Keyring | undefined): LoginStore =>
  fileLoginsWith(path, { sealing: sealedBy(ring, path) });

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

/** Something else is kept under our name. */
const odd: Keyring = { read: async () => "no key", write: async () => undefined };

it.each([undefined, none, odd])("keeps them as they are where there is no keyring", async (ring) => {
  const path = await folder();
  await logins(path, ring).save(server, login);
  expect(await textIn(path)).toContain("s3cret");
  expect(await logins(path, ring).load(server)).toMatchObject(login);
  // A keyring that comes later does not take them away.
  expect(await logins(path, keyring()).load(server)).toMatchObject(login);
});

it("says so where the keyring cannot be read any more", async () => {
  const [path, ring] = [await folder(), keyring()];
  await logins(path, ring).save(server, login);
  for (const other of [none, undefined, keyring()])
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
