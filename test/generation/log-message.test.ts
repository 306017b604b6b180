import { expect, it } from "vitest";
import { readLogLevel } from "../../src/generation/2026-07-28.ts";
import { isAtLeast, logLevelOf, logMessage } from "../../src/generation/message.ts";
import { logLevels } from "../../src/task/task-line.ts";

it("shows a line as its text, with its data beside it if that says more", () => {
  const dataOf = (text: string, data?: unknown): unknown => {
    const line = { level: "info", text, ...(data !== undefined && { data }) } as const;
    const { method, params } = logMessage("tool", line);
    expect(method).toBe("notifications/message");
    expect(params).toMatchObject({ level: "info", logger: "tool" });
    return params["data"];
  };
  expect(dataOf("page 1")).toBe("page 1");
  expect(dataOf("page 1", { slow: true })).toEqual({ text: "page 1", data: { slow: true } });
  expect(dataOf("page 1", null)).toEqual({ text: "page 1", data: null });
  expect(dataOf('{"slow":true}', { slow: true })).toEqual({ slow: true });
  expect(dataOf("")).toBe("");
});

it("orders levels as RFC 5424 does", () => {
  for (const [place, level] of logLevels.entries()) {
    const wanted = logLevels.filter((least) => isAtLeast(least, { level }));
    expect(wanted).toEqual(logLevels.slice(0, place + 1));
  }
});

it("reads the level that a client names, and none from anything else", () => {
  expect(logLevelOf("notice")).toBe("notice");
  for (const odd of ["Info", "trace", "", 3, null, undefined]) expect(logLevelOf(odd)).toBeUndefined();
  const key = "io.modelcontextprotocol/logLevel";
  expect(readLogLevel({ _meta: { [key]: "debug" } })).toBe("debug");
  for (const odd of [{}, { _meta: {} }, { _meta: { [key]: 1 } }, { [key]: "debug" }, undefined]) {
    expect(readLogLevel(odd)).toBeUndefined();
  }
});
