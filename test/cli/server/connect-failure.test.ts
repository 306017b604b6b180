import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { TaskClientError } from "../../../src/client/task-client-error.ts";
import { commandPrefix, type FoundServer } from "../../../src/cli/server/find-server.ts";
import { explainConnectFailure } from "../../../src/cli/server/open-server.ts";

const server: FoundServer = {
  spec: { given: `${commandPrefix}serve --all`, cwd: "/" },
  target: { command: "serve" },
  name: "stdio:serve%20--all",
  shown: `${commandPrefix}serve --all`,
  headers: {},
  isTyped: true,
  isUsers: true,
};

const explained = (cause: Error, log = ""): string => {
  const error = new TaskClientError("connection", `Could not connect to ${server.name}: ${cause.message}`, {
    cause,
  });
  return (explainConnectFailure(error, server, log) as Error).message;
};

it("reports a timeout as such, not as the end of the process", () => {
  const silence = new SdkError(
    SdkErrorCode.RequestTimeout,
    "Version negotiation probe timed out after 60000ms",
  );
  expect(explained(silence)).toBe("Could not connect to serve --all: it did not answer in time");
});

it("reports the innermost cause, without the text of libraries", () => {
  const reason = new Error("certificate has expired");
  const fetched = new TypeError("fetch failed", { cause: reason });
  const cause = new SdkError(
    SdkErrorCode.EraNegotiationFailed,
    "Version negotiation probe failed: fetch failed",
    {},
    { cause: fetched },
  );
  expect(explained(cause)).toMatch(/^Could not connect to serve --all: certificate has expired\n/);
  expect(explained(new Error("Connection closed"), "no licence\n")).toBe(
    "Could not connect to serve --all: Connection closed\nThe process ended, or closed its output, before it answered. If another command is running this server, end that one first: most servers cannot share their files.\nThe end of the server's log:\nno licence",
  );
});

it("does not take the socket of a session that has ended for a missing command", () => {
  const session = { address: { name: "@page", socket: "/none", token: "" } };
  const cause = Object.assign(new Error("no such file"), { code: "ENOENT" });
  const ended = new TaskClientError("connection", "The session @page has ended.", { cause });
  expect((explainConnectFailure(ended, { ...server, session }) as Error).message).not.toContain("command or");
});

it.each([
  ["localhost/mcp", " Did you mean http://localhost/mcp?"],
  ["reports.example.com/mcp", " Did you mean https://reports.example.com/mcp?"],
  ["./reports.example.com/mcp", ""],
  ["bin/serve", ""],
])("suggests a URL where the missing command %s looks like an address", (given, suggestion) => {
  const cause = Object.assign(new Error(`spawn ${given} ENOENT`), { code: "ENOENT" });
  const error = new TaskClientError("connection", `Could not connect: ${cause.message}`, { cause });
  const asked = { ...server, spec: { given, cwd: "/" }, target: { command: given } };
  const { message } = explainConnectFailure(error, asked) as Error;
  const hint = `The command or the working directory does not exist.${suggestion}`;
  expect(message.split("\n").at(-1)).toBe(hint);
});
