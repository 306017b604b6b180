import { expect, it } from "vitest";
import { askedByShells } from "../../src/cli/completion/scripts.ts";
import { loadedModules } from "../loaded-modules.ts";
import { folder } from "./run-cli.ts";

const cli = new URL("../../dist/cli.js", import.meta.url).href;

it.each([
  { words: [] },
  { words: ["help"] },
  { words: ["call", "--help"] },
  { words: ["ls"] },
  { words: [askedByShells, "bash", "holdfast ca"] },
])("loads neither the SDK nor a store for what asks no server: $words", async ({ words }) => {
  const argv = JSON.stringify(["holdfast", ...words]);
  const env = { ...process.env, HOME: await folder() };
  const loaded = await loadedModules(`process.argv.splice(1, 1, ...${argv}); await import("${cli}");`, env);
  expect(loaded.some((url) => url.endsWith("/src/cli/program.ts"))).toBe(true);
  const heavy =
    /@modelcontextprotocol|\/zod\/|\/src\/(?:store\/(?!sqlite\/connect\.ts)|server\/|runtime\/execution\/)/;
  expect(loaded.filter((url) => heavy.test(url))).toEqual([]);
});
