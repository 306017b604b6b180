import type { ServerOptions } from "../context.ts";
import type { Io } from "../io.ts";
import { UsageError } from "../errors.ts";
import type { FoundServer } from "./find-server.ts";

/** The headers and token of each request. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly token: string | undefined;
}

/**
 * The headers and the token for one server: those of its config entry, those of the command line, and
 * `HOLDFAST_TOKEN`. That goes to the origin in `HOLDFAST_TOKEN_ORIGIN`; without one, only to an address that the user
 * named, and never to one that a folder's file names. Throws a UsageError for invalid ones, without their values, which
 * can be secret.
 */
export function readCredentials(server: FoundServer, options: ServerOptions, env: Io["env"]): Credentials {
  const headers = { ...server.headers, ...readHeaders(options.header) };
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name))
      throw new UsageError(`${JSON.stringify(name)} is not a header name.`);
    if (!canBeSent(value)) throw new UsageError(`The header ${name} ${obstacle}`);
  }
  const token = options.token ?? tokenOf(env, { ...server, headers }, options);
  if (token === undefined || token === "") return { headers, token: undefined };
  if (!canBeSent(token)) throw new UsageError(`The token ${obstacle}`);
  return { headers, token };
}

/** Whether they identify the caller: a login is then not used. */
export function hasAuthorization({ headers, token }: Credentials): boolean {
  return token !== undefined || namesAuthorization(headers);
}

function namesAuthorization(headers: Credentials["headers"]): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

/** The token of the environment, if it is meant for that server. */
function tokenOf(
  env: Io["env"],
  { target, headers, isUsers }: FoundServer,
  { isOneOfSeveral = false }: ServerOptions,
): string | undefined {
  const bound = env["HOLDFAST_TOKEN_ORIGIN"];
  if (bound === undefined || bound === "") {
    // With several servers it is unclear which one the token is for.
    if (isOneOfSeveral || !isUsers) return undefined;
  } else if (!URL.canParse(bound) || !/^https?:/i.test(bound)) {
    throw new UsageError("HOLDFAST_TOKEN_ORIGIN must be an origin, such as https://reports.example.com.");
  } else if (typeof target !== "string" || new URL(target).origin !== new URL(bound).origin) return undefined;
  return namesAuthorization(headers) ? undefined : env["HOLDFAST_TOKEN"];
}

const obstacle = "has a line break or another character that a header cannot contain.";

function canBeSent(value: string): boolean {
  return /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value);
}

export function readHeaders(given: readonly string[] = []): Record<string, string> {
  const headers = given.map((line): [string, string] => {
    const { name, value } = /^(?<name>[^\s:]+)\s*:\s*(?<value>.*)$/s.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) {
      throw new UsageError('--header takes "Name: value".');
    }
    return [name, value.trim()];
  });
  return Object.fromEntries(headers);
}
