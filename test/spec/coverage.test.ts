import { expect, it } from "vitest";
import { citedIds, provenIds } from "./coverage.ts";

it("finds the ids that a text names, and nothing that only looks like one", () => {
  const text = "guards (X-032), A-09 and X-P-001, X-B-011. Not: UTF-8, SHA-256, RFC-8785, AX-001, X-1.";
  expect([...citedIds(text)]).toEqual(["X-032", "A-09", "X-P-001", "X-B-011"]);
});

it("takes what a test proves from the end of its title", () => {
  const source = [
    'it("refuses an unknown id [X-062 X-078]", () => {});',
    "test.each(rows)(`is ${name} [A-40, X-B-002]`, check);",
    'it(\n  "starts on its own line [X-P-003]",\n  run,\n);',
    'it("names X-001 in passing [or so]", run);',
  ].join("\n");
  expect([...provenIds(source)]).toEqual(["X-062", "X-078", "A-40", "X-B-002", "X-P-003"]);
});

it("takes nothing from groups, nor from tests that do not run", () => {
  const source = [
    'describe("get [X-041]", f);',
    'it.skip("later [X-042]", f);',
    'it.todo("soon [X-043]");',
    'it.runIf(fullForm)("rarely [X-044]", f);',
  ];
  expect([...provenIds(source.join("\n"))]).toEqual([]);
});
