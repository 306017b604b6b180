import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { encryptedStore } from "../../../src/store/encrypted-store.ts";
import type { Run } from "../run-cli.ts";
import { runMain } from "../run-main.ts";
import { call, serve, somePlace, type Place } from "./some-place.ts";

const base64 = Buffer.alloc(32, 3).toString("base64");
const keys = `k1:${base64}`;
const secret = "s3cr3t-of-ann";

async function encryptedPlace(): Promise<{
  readonly place: Place;
  readonly ended: string;
  readonly asks: string;
}> {
  const place = await somePlace("SQLite");
  const encrypted = { ...place, store: () => encryptedStore(place.store(), { keys }) };
  const runtime = await serve(encrypted, (tools) => {
    const part = tools.add("part", {}, () => ({ content: [{ type: "text", text: secret }], isError: true }));
    tools.add("fails", {}, async (_, task) => {
      await task.step("step", () => secret);
      await task.log("info", secret);
      await task.output({ type: "text", text: secret });
      await task.status(secret);
      await task.call("part", part, {}).catch(() => undefined);
      throw new Error(secret);
    });
    tools.add("asks", {}, async (_, task) => {
      const requestedSchema = { type: "object", properties: { ok: { type: "boolean" } } } as const;
      await task.elicit("sure", { message: secret, requestedSchema });
      return { content: [] };
    });
  });
  const [ended, asks] = await Promise.all(
    ["fails", "asks"].map((tool) => call(runtime, tool, { note: secret })),
  );
  const until = async (id: string, isSo: (text: string) => boolean): Promise<void> => {
    await expect.poll(async () => isSo((await withKeys(place, "show", id)).stdout)).toBe(true);
  };
  await until(ended ?? "", (text) => /^state +failed/m.test(text));
  await until(asks ?? "", (text) => /^state +input_required/m.test(text));
  return { place, ended: ended ?? "", asks: asks ?? "" };
}

const withKeys = ({ url, cwd }: Place, ...words: readonly string[]): Promise<Run> =>
  runMain(["admin", url, ...words], { cwd, env: { HOLDFAST_ENCRYPTION_KEYS: keys } });
const without = ({ url, cwd }: Place, ...words: readonly string[]): Promise<Run> =>
  runMain(["admin", url, ...words], { cwd });

describe("holdfast admin on an encrypted store", () => {
  it("shows all with its keys, which may stand in a file, and acts on it", async () => {
    const { place, ended, asks } = await encryptedPlace();
    expect((await withKeys(place, "show", ended)).stdout.split(secret).length).toBeGreaterThan(6);
    expect((await withKeys(place, "list", "--text", "of-ann", "--json")).stdout).toContain(ended);
    await writeFile(join(place.cwd, "keys"), `${keys}\n`);
    const inFile = { cwd: place.cwd, env: { HOLDFAST_ENCRYPTION_KEYS_FILE: "keys" } };
    expect((await runMain(["admin", place.url, "show", asks], inFile)).stdout).toContain(secret);
    expect(await withKeys(place, "answer", asks, "--accept", "ok=true")).toMatchObject({ code: 0 });
    const again = await withKeys(place, "retry", ended, "--arguments", '{"note":"other"}');
    expect(again).toMatchObject({ code: 0 });
  });

  it("shows without them what is in clear, and refuses what takes them", async () => {
    const { place, ended, asks } = await encryptedPlace();
    for (const id of [ended, asks]) {
      const shown = await without(place, "show", id);
      expect(shown).toMatchObject({ code: 0, stderr: "" });
      expect(shown.stdout).not.toContain(secret);
      expect(shown.stdout).not.toContain("enc2:");
      expect(shown.stdout).toMatch(/^arguments +\(encrypted\)$/m);
    }
    expect((await without(place, "list")).stdout).toContain("(encrypted)");
    expect((await without(place, "failures", "fails")).stdout).toContain("(encrypted)");
    const refused: readonly (readonly string[])[] = [
      ["answer", asks, "sure", '{"action":"decline"}'],
      ["retry", ended, "--arguments", "{}"],
      ["list", "--text", "any"],
    ];
    for (const words of refused) {
      const { code, stderr } = await without(place, ...words);
      expect([code, stderr]).toEqual([2, expect.stringContaining("HOLDFAST_ENCRYPTION_KEYS")]);
    }
    expect(await without(place, "cancel", asks)).toMatchObject({ code: 0 });
  });

  it("does nothing with keys that are not the store's", async () => {
    const { place, ended, asks } = await encryptedPlace();
    const wrong = `k9:${Buffer.alloc(32, 9).toString("base64")}`;
    const env = { HOLDFAST_ENCRYPTION_KEYS: wrong };
    for (const words of [
      ["retry", ended, "--arguments", "{}"],
      ["answer", asks, "--accept", "ok=true"],
    ]) {
      const { code, stderr } = await runMain(["admin", place.url, ...words], { cwd: place.cwd, env });
      expect([code, stderr]).toEqual([2, expect.stringContaining("HOLDFAST_ENCRYPTION_KEYS")]);
    }
    expect(await withKeys(place, "answer", asks, "--accept", "ok=true")).toMatchObject({ code: 0 });
  });

  it("refuses without them to run a task again: what is copied has to be encrypted anew", async () => {
    const { place, ended } = await encryptedPlace();
    const again = ["retry", ended, "--keep-up-to", "step"];
    const { code, stderr } = await without(place, ...again);
    expect([code, stderr]).toEqual([2, expect.stringContaining("HOLDFAST_ENCRYPTION_KEYS")]);
    const { stdout } = await withKeys(place, ...again, "--json");
    const { tasks = [] } = JSON.parse(stdout) as { readonly tasks?: readonly { readonly id: string }[] };
    const id = tasks[0]?.id ?? (JSON.parse(stdout) as { readonly id?: string }).id ?? "";
    await expect.poll(async () => (await withKeys(place, "show", id)).stdout).toMatch(/^state +failed/m);
    expect((await withKeys(place, "show", id)).stdout).toContain(`{"note":"${secret}"}`);
  });

  it("exports with its keys, and without them says which tasks it cannot", async () => {
    const { place, ended, asks } = await encryptedPlace();
    expect((await withKeys(place, "export")).stdout.split(secret).length).toBeGreaterThan(6);
    const { code, stdout, stderr } = await without(place, "export");
    expect([code, stdout]).toEqual([3, ""]);
    for (const id of [ended, asks]) expect(stderr).toContain(`Task ${id} cannot be read: it is encrypted`);
  });

  it("says what is wrong with keys, and not what they are", async () => {
    const { url, cwd } = await somePlace("SQLite");
    const env = { HOLDFAST_ENCRYPTION_KEYS: "k1:topsecret" };
    const { code, stderr } = await runMain(["admin", url, "list"], { cwd, env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('Key "k1" is not 32 bytes in base64')]);
    expect(stderr).not.toContain("topsecret");
  });

  it("encrypts nothing of a store that is not encrypted, whatever keys there are", async () => {
    const place = await somePlace("SQLite");
    const runtime = await serve(place, (tools) => {
      tools.add("works", {}, (args) => ({ content: [{ type: "text", text: JSON.stringify(args) }] }));
    });
    const id = await call(runtime, "works", { note: "plain" });
    await expect.poll(async () => (await withKeys(place, "show", id)).stdout).toMatch(/^state +completed/m);
    expect(await withKeys(place, "retry", id, "--arguments", '{"note":"again"}')).toMatchObject({ code: 0 });
    await expect.poll(async () => (await without(place, "list")).stdout.match(/completed/g)).toHaveLength(2);
    expect((await without(place, "actions")).stdout).not.toContain("enc2:");
  });
});

describe("holdfast journal on an encrypted store", () => {
  it("exports with its keys, and without them says that it is encrypted", async () => {
    const { place, ended } = await encryptedPlace();
    const { url, cwd } = place;
    const words = ["journal", "export", url, ended];
    const exported = await runMain(words, { cwd, env: { HOLDFAST_ENCRYPTION_KEYS: keys } });
    expect(exported).toMatchObject({ code: 0, stdout: expect.stringContaining(secret) });
    const { code, stderr } = await runMain(words, { cwd });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("it is encrypted. Set HOLDFAST_ENCRYPTION_KEYS"),
    ]);
    expect(await runMain(["journal", "ls", url], { cwd })).toMatchObject({ code: 0 });
  });
});
