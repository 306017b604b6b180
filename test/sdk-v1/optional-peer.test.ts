import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { parseImports } from "../architecture/parse-imports.ts";
import { sourceFiles } from "../source-files.ts";

it("imports only types from the SDK, so that it stays an optional peer", async () => {
  const files = await sourceFiles("src", [".ts"]);
  const users = [...files].flatMap(([path, text]) =>
    parseImports(text)
      .filter(({ specifier }) => specifier.startsWith("@modelcontextprotocol/sdk/"))
      .map((edge) => ({ ...edge, path })),
  );
  expect(users.filter(({ typeOnly }) => !typeOnly)).toEqual([]);
  expect(new Set(users.map(({ path }) => path.split("/")[1]))).toEqual(new Set(["sdk-v1"]));
});

it("declares it as an optional peer", async () => {
  const manifest: unknown = JSON.parse(
    await readFile(new URL("../../package.json", import.meta.url), "utf8"),
  );
  expect(manifest).toMatchObject({
    peerDependencies: { "@modelcontextprotocol/sdk": "^1.32.2" },
    peerDependenciesMeta: { "@modelcontextprotocol/sdk": { optional: true } },
  });
});

it("does not need the host's zod, which on SDK v1 is often zod 3", async () => {
  const files = await sourceFiles("dist", [".js", ".ts"]); // which brings its own
  expect(files.size).toBeGreaterThan(10);
  const specifiers = [...files.values()].flatMap((text) => parseImports(text).map((edge) => edge.specifier));
  expect(specifiers.filter((specifier) => /^zod(\/|$)/.test(specifier))).toEqual([]);
  const { peerDependencies } = JSON.parse(
    await readFile(new URL("../../package.json", import.meta.url), "utf8"),
  ) as { peerDependencies: object };
  expect(Object.keys(peerDependencies)).not.toContain("zod");
});
