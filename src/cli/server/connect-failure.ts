import { TaskClientError } from "../../client/task-client-error.ts";
import { innermost } from "../../client/transport/describe-cause.ts";
import type { FoundServer } from "./find-server.ts";

const hints: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "The host's name is not known (DNS)."],
  [/^ECONNREFUSED$/, "Nothing listens at that address."],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/, "The host cannot be reached from here."],
  [
    /CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|^UNABLE_TO_/,
    "The TLS connection failed: the server's certificate, or no TLS there.",
  ],
  [/^ENOENT$/, "There is no such command, or no such working directory."],
  [/^EACCES$/, "The command may not be run."],
];

/** The last lines are the ones that say why a process ended. */
const keptCharacters = 4_000;

/** An error of `connect`, with what a user can do about it and what a process had to say before it ended. */
export function explainConnectFailure(error: unknown, server: FoundServer, log: string): unknown {
  if (!(error instanceof TaskClientError)) return error;
  const { code, message, cause, taskId } = error;
  const said = log.trim().slice(-keptCharacters);
  const lines = [
    message.replaceAll(server.name, server.spec.given),
    hint(error, server),
    said === "" ? undefined : `The server wrote:\n${said}`,
  ];
  const rpc = error.error === undefined ? {} : { error: error.error };
  const text = lines.filter((line) => line !== undefined).join("\n");
  return new TaskClientError(code, text, { cause, taskId, ...rpc });
}

function hint(error: TaskClientError, { target }: FoundServer): string | undefined {
  if (error.code === "unauthorized") {
    return "The server wants a token, or another one: set HOLDFAST_TOKEN, or see --token and --header.";
  }
  if (error.code === "protocol")
    return "Something answers there, and it is no MCP server that can be spoken with.";
  const { code } = innermost(error) as Error & { code?: unknown };
  const found = typeof code === "string" ? hints.find(([pattern]) => pattern.test(code)) : undefined;
  if (found !== undefined) return found[1];
  return typeof target === "string"
    ? undefined
    : "The process ended, or closed its output, before it had answered.";
}
