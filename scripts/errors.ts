// Makes docs/reference/errors.md from the tables of error codes: npm run docs:errors
import { writeFile } from "node:fs/promises";
import { format, resolveConfig } from "prettier";
import { exitCodes, exitCodeOf } from "../src/cli/errors.ts";
import type { TaskClientErrorCode } from "../src/client/task-client-error.ts";
import { jsonRpcCodeOf, type FaultCode } from "../src/task/fault.ts";
import { clientErrors, commandErrors } from "./reference/client-errors.ts";
import { execErrors, faults, refusals, type ErrorHelp } from "./reference/server-errors.ts";

type Help = Readonly<Record<string, ErrorHelp>>;

export const errorsUrl = new URL("../docs/reference/errors.md", import.meta.url);

/** The page with the meaning, cause and cure of each error code. */
export async function renderErrors(): Promise<string> {
  const page = `<!-- Made from scripts/reference/*-errors.ts by \`npm run docs:errors\`. Do not edit. -->

# Error codes

What each error code means, what leads to it, and what to do. Compare codes in your code: messages are for people and may change. \`holdfast docs CODE\` prints the entry of a code in the terminal.

## Of servers

A \`HoldfastError\` has one of these codes. Handlers, \`onError\`, logs, metrics and the admin endpoint show them; a caller gets a JSON-RPC error with the number that is given, or -32603, an internal error, whose details the caller does not see.

${entries(faults, numberOf)}

## Of programs that tools run

${entries(execErrors)}

## Of HTTP

The events \`request.refused\` and metrics name refusals of HTTP by the codes above and these.

${entries(refusals)}

## Of clients

A \`TaskClientError\` has one of these codes. With \`--json\` commands print the code as the \`kind\` of the error.

${entries(clientErrors, (code) => `Exit code: ${exitCodeOf(code as TaskClientErrorCode)}`)}

## Of commands

${entries(commandErrors, (code) => (code === "stopped" ? "Exit code: 7, 130 or 143" : `Exit code: ${exitCodes[code as "usage" | "system" | "fault"]}`))}

## JSON-RPC numbers

| number | codes |
| --- | --- |
${numbers()}
`;
  return format(page, { ...(await resolveConfig(errorsUrl)), parser: "markdown" });
}

function entries(help: Help, numberFor: (code: string) => string | undefined = () => undefined): string {
  return Object.entries(help)
    .map(([code, { meaning, cause, cure }]) => {
      const number = numberFor(code);
      const items = [`Cause: ${cause}`, `What to do: ${cure}`, ...(number === undefined ? [] : [number])];
      return `### ${code}\n\n${meaning}\n\n${items.map((item) => `- ${item}`).join("\n")}`;
    })
    .join("\n\n");
}

function numberOf(code: string): string | undefined {
  const number = jsonRpcCodeOf(code as FaultCode);
  return number === -32603 ? undefined : `JSON-RPC: ${number}`;
}

function numbers(): string {
  const codes = Object.keys(faults) as FaultCode[];
  const byNumber = Map.groupBy(codes, jsonRpcCodeOf);
  return [...byNumber]
    .toSorted(([one], [other]) => other - one)
    .map(([number, of]) =>
      number === -32603
        ? `| ${number} | all others: callers see an internal error |`
        : `| ${number} | ${of.map((code) => `[${code}](#${code})`).join(", ")} |`,
    )
    .join("\n");
}

// Not when a test imports this.
if (import.meta.main) await writeFile(errorsUrl, await renderErrors());
