import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { fuzzTimeoutMs } from "./fuzz-runs.ts";

interface Outcome {
  readonly executions: number;
  readonly ways: { readonly ofSeeds: number; readonly inAll: number };
  readonly corpus: number;
  /** Base64. */
  readonly input?: string;
  readonly error?: string;
}

const main = fileURLToPath(new URL("./guided/main.ts", import.meta.url));
const { HOLDFAST_FUZZ_RUNS = fullForm ? "5" : "1", HOLDFAST_FUZZ_SEED = "1" } = process.env;

async function fuzzed(target: string, executions: number): Promise<Outcome> {
  const args = [main, target, String(Math.ceil(executions * Number(HOLDFAST_FUZZ_RUNS))), HOLDFAST_FUZZ_SEED];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Outcome;
}

// V8's own block coverage tells which inputs lead somewhere new; HOLDFAST_FUZZ_RUNS makes more of them.
describe("a fuzzer that is led by coverage", { timeout: 2 * fuzzTimeoutMs }, () => {
  it("finds a mistake that chance alone does not", async () => {
    const { input = "", error } = await fuzzed("planted", 8_000);
    expect(Buffer.from(input, "base64").toString()).toMatch(/^hold/);
    expect(error).toContain("found");
  });

  it.each([
    ["decoders", 250],
    ["http", 150],
  ])("finds no mistake in the %s, although it gets further than it began", async (target, executions) => {
    const { ways, input, error } = await fuzzed(target, executions);
    expect([input, error]).toEqual([undefined, undefined]);
    expect(ways.inAll).toBeGreaterThan(ways.ofSeeds);
  });
});
