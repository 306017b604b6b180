import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";

const root = new URL("../../", import.meta.url);
const example = (name: string): URL => new URL(`examples/readme/${name}`, root);

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-readme-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("shows the code that is run below, to the letter", async () => {
  const readme = await readFile(new URL("README.md", root), "utf8");
  const blocks = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
  expect(blocks).toEqual(
    await Promise.all(
      ["server.ts", "client.ts", "pending.ts"].map((name) => readFile(example(name), "utf8")),
    ),
  );
});

it("shows code that does what it says", async () => {
  const env = { ...process.env, PORT: "0" };
  const server = spawn(process.execPath, [fileURLToPath(example("server.ts"))], { cwd: folder, env });
  const exited = once(server, "exit");
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const client = spawn(process.execPath, [fileURLToPath(example("client.ts")), line.toString().trim()]);
  const [output, errors] = await Promise.all([text(client.stdout), text(client.stderr)]);
  expect(errors).toBe("");
  expect(output.match(/sent 2 rows/g)).toHaveLength(2);
  expect(output.match(/Send 2 rows\?/g)).toHaveLength(2);
  const pending = async (): Promise<string> => {
    const args = [fileURLToPath(example("pending.ts")), line.toString().trim()];
    const process = spawn(globalThis.process.execPath, args, { cwd: folder });
    const said = await Promise.all([text(process.stdout), text(process.stderr)]);
    return said.join("");
  };
  expect(await pending()).toBe("");
  expect((await pending()).match(/publish_report.*\n?.*sent 2 rows/g)).toHaveLength(1);
  server.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  const sent = (await readFile(join(folder, "outbox.txt"), "utf8")).split("\n").filter(Boolean);
  expect(sent.map((mail) => mail.replace(/^\S+ /, ""))).toEqual([
    "2026-10-01 42, 2026-10-02 17",
    "2026-11-01 42, 2026-11-02 17",
    "2026-12-01 42, 2026-12-02 17",
  ]);
});
