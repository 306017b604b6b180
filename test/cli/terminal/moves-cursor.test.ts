import { expect, it } from "vitest";
import { showsUnicode } from "../../../src/cli/terminal/terminal.ts";

it.each([
  ["linux", { TERM: "xterm-256color" }, true],
  ["linux", { TERM: "linux" }, false],
  ["darwin", {}, true],
  ["win32", {}, false],
  ["win32", { WT_SESSION: "0b1f" }, true],
  ["win32", { TERM_PROGRAM: "vscode" }, true],
] as const)("%s with %j shows signs beyond ASCII: %s", (platform, env, shows) => {
  expect(showsUnicode(env, platform)).toBe(shows);
});
