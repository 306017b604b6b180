import { expect, it, onTestFinished } from "vitest";
import { saveContent, SaveFolder } from "../../src/cli/output/save-content.ts";
import { showContent, showResultFor } from "../../src/cli/output/show-content.ts";
import { seededRandom } from "../crash/random.ts";
import { discovered, ScriptedServer } from "../client/scripted-server.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const types = ["text", "image", "audio", "resource", "resource_link", "tool_use", "hologram", 7, null];
const values = [
  undefined,
  null,
  "",
  "eA==",
  "x",
  7,
  -1,
  true,
  [],
  {},
  { uri: "a://b" },
  { text: 5 },
  { blob: "eA==" },
];
const members = ["text", "data", "mimeType", "uri", "size", "resource", "name"];

/** Blocks of every kind, with parts that are missing, or of another type. */
function* oddBlocks(count: number): Generator<unknown> {
  const random = seededRandom(Number(process.env["HOLDFAST_SEED"] ?? Date.now() % 1_000_000_000));
  const one = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  yield* values;
  for (let n = 0; n < count; n++)
    yield { type: one(types), ...Object.fromEntries(members.map((member) => [member, one(values)])) };
}

it("prints and saves content of any form, and what comes after it", async () => {
  const after = { type: "text", text: "AFTER" };
  const saving = await SaveFolder.open(".", await folder());
  if (saving === undefined) throw new Error("no folder");
  for (const block of oddBlocks(2_000)) {
    expect(showContent({ content: [block, after] })).toMatch(/AFTER\n$/);
    const result = { content: [block, after], structuredContent: { a: 1 } } as never;
    expect(showResultFor(result, 80).text).toContain("AFTER");
  }
  for (const block of oddBlocks(100)) {
    const saved = await saveContent([block, after], saving, {
      read: async () => ({ contents: [] }),
      saveArtifact: async () => ({ path: "", bytes: 0, sha256: "" }),
    });
    expect(saved.text).toMatch(/AFTER\n$/);
  }
});

it("reads a resource and a prompt with a part that nobody can read", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  const complete = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
  const contents = [{ uri: "a://b", text: "AFTER" }, { uri: "a://b", text: 5 }, null];
  server.script("resources/read", { result: { ...complete, contents } });
  const introduced = { result: { ...discovered, capabilities: { resources: {}, prompts: {} } } };
  server.script("server/discover", introduced, introduced, introduced);
  const prompts = [{ name: "odd" }, { name: `long${"g".repeat(5_000)}` }];
  const list = { result: { ...complete, prompts } };
  server.script("prompts/list", list, list);
  const messages = [{ role: "user", content: { type: "text", text: "AFTER" } }, { role: 1, content: [5] }, 7];
  server.script("prompts/get", { result: { ...complete, messages } });
  const env = { HOLDFAST_STATE: await folder() };
  const read = await runMain(["read", server.url, "a://b"], { env });
  expect(read).toMatchObject({ code: 0, stderr: "" });
  expect(read.stdout).toMatch(/^AFTER\n\[unknown content: .*"text":5.*\n\[unknown content: .*null.*\n$/);
  const prompt = await runMain(["prompt", server.url, "odd"], { env });
  expect(prompt).toMatchObject({ code: 0, stderr: "" });
  expect(prompt.stdout).toMatch(/^user:\nAFTER\n\nunknown:\n\[unknown content: \[5\]\]\n\nunknown:\n.*7/);
  const none = await runMain(["prompt", server.url, "none"], { env });
  expect(none.code).toBe(2);
  expect(none.stderr.length).toBeLessThan(2_000);
});

it("shows what it does not know as what it is", () => {
  const content = [{ type: "hologram", data: "x" }, null, { type: "text" }];
  expect(showContent({ content })).toBe(
    '[unknown content: {"type":"hologram","data":"x"}]\n[unknown content: null]\n[unknown content: {"type":"text"}]\n',
  );
});
