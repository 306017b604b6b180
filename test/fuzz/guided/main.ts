// The coverage-guided fuzzer, in a process of its own: node main.ts TARGET EXECUTIONS SEED. Prints what came of it.
import { inspect } from "node:util";
import { Coverage } from "./coverage.ts";
import { fuzz } from "./fuzz.ts";
import type { Target } from "./target.ts";

const [name = "decoders", executions = "1000", seed = "1"] = process.argv.slice(2);

// Before anything that it is to see is loaded.
const coverage = new Coverage((url) => url.includes("/src/") || url.endsWith("/planted.ts"));
const targets: Readonly<Record<string, () => Promise<Target>>> = {
  decoders: async () => (await import("./decoding.ts")).decoding(),
  http: async () => (await import("./serving.ts")).serving(),
  planted: async () => ({
    run: (await import("./planted.ts")).planted,
    seeds: [""],
    words: "abcdefghijklmnopqrstuvwxyz".split(""),
  }),
};
const target = targets[name];
if (target === undefined) throw new Error(`No target is called ${name}.`);
const { run, seeds, words, close } = await target();
const fuzzed = await fuzz({
  target: run,
  coverage,
  seeds,
  words,
  executions: Number(executions),
  seed: Number(seed),
});
await close?.();
const { failure, ...numbers } = fuzzed;
process.stdout.write(
  JSON.stringify({
    ...numbers,
    ...(failure !== undefined && { input: failure.input, error: inspect(failure.error) }),
  }),
);
