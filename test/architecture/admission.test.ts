import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";
import { codeOnly } from "./parse-imports.ts";

// Whatever comes over HTTP reaches a handler through `Admission.admit`: a POST, each message of a batch, a resumed request. The compiler sees
// to it, as long as what leads to handlers takes what only `admit` makes; and these tests see to that. On stdio and other transports, each
// message passes `PipeTransport`, and leaves it through `#admit` alone.

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

it("servers are connected to nothing but a session of HTTP and a pipe", () => {
  expect(filesWith(/\.openSession\(/)).toEqual([
    "src/server/http/sessions/requests.ts",
    "src/server/http/sessions/session.ts",
    "src/server/serve-transport.ts",
  ]);
  expect(textOf("src/server/serve-transport.ts")).toMatch(/\bsession\.connect\(new PipeTransport\(/);
  expect(filesWith(/\bserveSdk\(/)).toEqual(["src/server/stdio/serve-stdio.ts"]);
  const stdio = textOf("src/server/stdio/serve-stdio.ts");
  expect(stdio).toMatch(/\bconst transport = new ListenTransport\(wire,/);
  expect(stdio).toMatch(/\bserveSdk\([^]*? \{\n\s*transport,/);
  expect(filesWith(/\bextends PipeTransport\b/)).toEqual(["src/server/stdio/listen-transport.ts"]);
});

it("a message leaves a pipe through #admit alone", () => {
  const pipe =
    /^export class PipeTransport [^]*?^\}/m.exec(textOf("src/server/serve-transport.ts"))?.[0] ?? "";
  expect(pipe).toMatch(/\bonmessage: \(message, extra\) => \{\n.*?this\.#admit\(message, extra\)/);
  const admit = /^ {2}async #admit\([^]*?^ {2}\}/m.exec(pipe)?.[0] ?? "";
  const passed = /\bthis\.(?:received|onmessage\?\.)\(/g;
  const received = /^ {2}protected received\([^]*?^ {2}\}/m.exec(pipe)?.[0] ?? "";
  expect(pipe.match(passed)?.length).toBe(
    (admit.match(passed)?.length ?? NaN) + (received.match(passed)?.length ?? NaN),
  );
  expect(admit.match(/\bthis\.received\(/g)).toHaveLength(1);
  expect(pipe.match(/\bthis\.#admit\(/g)).toHaveLength(1);
});

it("the tasks of 2026-07-28 are handled for what was admitted, and for the one client of a pipe", () => {
  expect(filesWith(/\bdispatcher\.handle\(/)).toEqual([
    "src/server/2026-07-28/pipe-dispatcher.ts",
    "src/server/http/exchange.ts",
  ]);
});
