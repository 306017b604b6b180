import type { ServerOptions } from "../context.ts";
import type { Io } from "../io.ts";
import { UsageError } from "../usage-error.ts";
import type { FoundServer } from "./find-server.ts";

/** What a request carries beside the message. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly token: string | undefined;
}

/**
 * The headers and the token that the config file, the command line and the environment give. Throws a UsageError for
 * what no request can carry; none of it is shown, for it can be a secret.
 */
export function readCredentials(server: FoundServer, options: ServerOptions, env: Io["env"]): Credentials {
  const headers = { ...server.headers, ...readHeaders(options.header) };
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name))
      throw new UsageError(`${JSON.stringify(name)} names no header.`);
    if (!canBeSent(value)) throw new UsageError(`The header ${name} ${obstacle}`);
  }
  const token = options.token ?? env["HOLDFAST_TOKEN"];
  if (token === undefined || token === "") return { headers, token: undefined };
  if (!canBeSent(token)) throw new UsageError(`The token ${obstacle}`);
  return { headers, token };
}

const obstacle = "has a line break or another character that no header can carry.";

function canBeSent(value: string): boolean {
  return /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value);
}

function readHeaders(given: readonly string[] = []): Record<string, string> {
  const headers = given.map((line): [string, string] => {
    const { name, value } = /^(?<name>[^\s:]+)\s*:\s*(?<value>.*)$/s.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) {
      throw new UsageError('--header takes "Name: value".');
    }
    return [name, value.trim()];
  });
  return Object.fromEntries(headers);
}
