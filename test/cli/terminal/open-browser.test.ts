import { expect, it } from "vitest";
import { browserCommand, openBrowser } from "../../../src/cli/command/login.ts";

it.each([
  [{}, "darwin", "open"],
  [{}, "win32", "C:\\Windows\\System32\\rundll32.exe"],
  [{ SYSTEMROOT: "D:\\WINDOWS" }, "win32", "D:\\WINDOWS\\System32\\rundll32.exe"],
  [{ DISPLAY: ":0" }, "linux", "xdg-open"],
  [{ WAYLAND_DISPLAY: "wayland-0" }, "linux", "xdg-open"],
  [{}, "linux", undefined],
  [{ DISPLAY: ":10", SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" }, "linux", undefined],
  [{ SSH_TTY: "/dev/pts/1" }, "darwin", undefined],
  [{ SSH_TTY: "/dev/pts/1", BROWSER: "w3m" }, "linux", "w3m"],
] as const)("opens pages with what there is: %j on %s", (env, platform, program) => {
  expect(browserCommand(env, platform)?.[0]).toBe(program);
});

it("says where there is none", async () => {
  const url = new URL("https://login.example.com/");
  expect(await openBrowser(url, {}, "linux")).toBe(false);
  expect(await openBrowser(url, { BROWSER: "/nowhere/browser" })).toBe(false);
});
