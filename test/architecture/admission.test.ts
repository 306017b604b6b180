import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";
import { codeOnly } from "./parse-imports.ts";

// Whatever comes over HTTP reaches a handler through `Admission.admit`: a POST, each message of a batch, a resumed request. The compiler sees
// to it, as long as what leads to handlers takes what only `admit` makes; and these tests see to that.

const sources = new Map(
  [...(await sourceFiles("src", [".ts"]))].map(([path, text]) => [path, codeOnly(text)]),
);

/** A public method, and what it takes. */
const method = /^ {2}(?:async )?(?<name>[a-z]\w*)\((?<takes>[^]*?)\)(?:: [^\n]+)? \{$/gm;

const filesWith = (code: RegExp): string[] =>
  [...sources].filter(([, text]) => code.test(text)).map(([path]) => path);

const textOf = (path: string): string => sources.get(path) ?? "";

it("nothing but admit makes an admitted request", () => {
  expect(filesWith(/\bnew AdmittedRequest\(/)).toEqual(["src/server/http/admission.ts"]);
  const admission = textOf("src/server/http/admission.ts");
  expect(admission.match(/\bnew AdmittedRequest\(/g)).toHaveLength(1);
  // Its type alone is known outside, and its private members keep other objects from having it.
  expect(admission).toMatch(/^class AdmittedRequest \{\n {2}readonly #/m);
  expect(filesWith(/\bas (?:unknown as )?Admitted\b/)).toEqual([]);
});

it("what answers messages is made by Messages alone", () => {
  for (const name of ["TaskRequests", "Sessions", "SingleRequests", "TaskListeners"]) {
    const makers = filesWith(new RegExp(`\\bnew ${name}\\(`)).filter((path) =>
      path.startsWith("src/server/"),
    );
    expect(makers).toEqual(["src/server/http/messages.ts"]);
  }
});

it("each way into Messages, and into a session, takes an admitted request", () => {
  // It only ends something.
  const harmless = ["close"];
  const messages =
    /^export class Messages \{\n([^]*?)^\}/m.exec(textOf("src/server/http/messages.ts"))?.[1] ?? "";
  const ways = [...messages.matchAll(method)]
    .map(({ groups }) => groups ?? {})
    .filter(({ name = "" }) => name !== "constructor" && !harmless.includes(name));
  expect(new Set(ways.map(({ name }) => name))).toEqual(new Set(["answer"]));
  const open = ways.filter(({ takes = "" }) => !/\b(?:Incoming|Admitted)\b/.test(takes));
  expect(open).toEqual([]);

  const incoming = textOf("src/server/http/sessions/incoming.ts");
  expect(incoming).toMatch(/interface Incoming \{\n\s*readonly admitted: Admitted;/);
  expect(incoming).toMatch(/\bfetch\(incoming: Incoming\)/);
  expect(incoming).toMatch(/\bpoll\?\(incoming: Incoming\)/);
});

it("the tasks of 2026-07-28 are handled for what was admitted, and for the one client of a pipe", () => {
  expect(filesWith(/\bdispatcher\.handle\(/)).toEqual([
    "src/server/2026-07-28/pipe-dispatcher.ts",
    "src/server/http/exchange.ts",
  ]);
});
