import { expect, it } from "vitest";
import { systemProgram, environmentOf } from "../../src/client/transport/process-transport.ts";

const defaults = { PATH: "C:\\Windows", USERNAME: "ann" };

it("gives a server the variables that it is given, in any spelling that Windows takes for the same", () => {
  const given = { Path: "C:\\tools", level: "debug" };
  expect(environmentOf(given, defaults, "win32")).toEqual({ ...given, USERNAME: "ann" });
});

it("tells variables by their case elsewhere", () => {
  expect(environmentOf({ Path: "/tools" }, defaults, "linux")).toEqual({ Path: "/tools", ...defaults });
});

it("runs the programs of Windows from its own folder, not from the working directory", () => {
  expect(systemProgram("taskkill.exe", { SYSTEMROOT: "D:\\WINDOWS" })).toBe(
    "D:\\WINDOWS\\System32\\taskkill.exe",
  );
  expect(systemProgram("taskkill.exe", {})).toBe("C:\\Windows\\System32\\taskkill.exe");
});
