import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";

it("has messages that users see: each is in the source, or is Node's", async () => {
  const page = await readFile(new URL("../../docs/learn/troubleshooting.md", import.meta.url), "utf8");
  const source = [...(await sourceFiles("src", [".ts"])).values()].join("\n");
  const ofNode = ['Unknown file extension ".ts"', "listen EADDRINUSE", "blocked", "queued"];
  const quoted = [...page.matchAll(/^### .*$/gm)].flatMap(([title]) =>
    [...title.matchAll(/`([^`]+)`/g)].map(([, message = ""]) => message),
  );
  expect(quoted.length).toBeGreaterThan(10);
  expect(quoted.filter((message) => !ofNode.includes(message) && !source.includes(message))).toEqual([]);
});
