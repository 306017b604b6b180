import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testTasks } from "holdfast/testing";
import { expect, it, onTestFinished } from "vitest";
import { addHash } from "../../examples/hashing/add-hash.ts";

it("hashes a file on a thread", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-hashing-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "data");
  const data = Buffer.alloc(3_000_000, "holdfast");
  await writeFile(path, data);
  await using t = await testTasks((tasks) => addHash(tasks));
  const { content } = await t.call("hash_file", { path });
  expect(content).toEqual([{ type: "text", text: createHash("sha256").update(data).digest("hex") }]);
});
