import { refuse } from "../http/refuse.ts";

export interface Challenge {
  /** Left out if the request had no token (RFC 6750, 3.1). */
  readonly error?: "invalid_request" | "invalid_token" | "insufficient_scope";
  readonly message: string;
  /** All scopes that the request needs. */
  readonly scopes: Iterable<string>;
  /** Where the client finds the authorization servers (RFC 9728). */
  readonly metadataUrl: string;
}

const statuses = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 };

/** The refusal that tells a client how to get a valid token. */
export function challenge({ error, message, scopes, metadataUrl }: Challenge): Response {
  const parameters = Object.entries({
    error,
    error_description: error === undefined ? undefined : message,
    scope: [...new Set(scopes)].join(" ") || undefined,
    resource_metadata: metadataUrl,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${quotable(value)}"`]));
  return refuse(error === undefined ? 401 : statuses[error], `${message}.`, {
    "WWW-Authenticate": `Bearer ${parameters.join(", ")}`,
  });
}

/** An author's own verifier may have returned any text. */
function quotable(value: string): string {
  return value.replaceAll(/[^\x20-\x7E]/g, " ").replaceAll(/[\\"]/g, String.raw`\$&`);
}
