import { systemClock } from "../../client/clock.ts";
import { isJsonObject } from "../../generation/message.ts";
import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";
import type { TokenExchange } from "./mcp-options.ts";

const grant = "urn:ietf:params:oauth:grant-type:token-exchange";
const accessToken = "urn:ietf:params:oauth:token-type:access_token";

/** How long before its end (ms) a token is exchanged again. */
const earlyMs = 30_000;

/** How long a token is used that does not say how long it is valid (ms). */
const unknownLifeMs = 300_000;

/**
 * Exchanges the caller's token for one that is for the server (RFC 8693), and again before that ends. `credentials` gives what `authenticate` returned
 * for the call.
 */
export async function exchangedTokens(
  exchange: TokenExchange,
  credentials: () => Promise<unknown>,
): Promise<() => Promise<string>> {
  const read = async (): Promise<{ readonly token: string; readonly until: number }> => {
    const { token, lifeMs } = await exchanged(exchange, subjectIn(await credentials()));
    return { token, until: systemClock.elapsed() + Math.max(0, lifeMs - earlyMs) };
  };
  let last = await read();
  return async () => {
    if (systemClock.elapsed() >= last.until) last = await read();
    return last.token;
  };
}

async function exchanged(
  exchange: TokenExchange,
  subject: string,
): Promise<{ readonly token: string; readonly lifeMs: number }> {
  const { tokenEndpoint, clientId, clientSecret, audience, resource, scope } = exchange;
  const body = new URLSearchParams({
    grant_type: grant,
    subject_token: subject,
    subject_token_type: accessToken,
    requested_token_type: accessToken,
  });
  for (const [name, set] of Object.entries({ audience, resource, scope }))
    if (set !== undefined) body.set(name, set);
  const headers = new Headers({ accept: "application/json" });
  if (clientId !== undefined && clientSecret !== undefined) {
    // Encoded as RFC 6749, section 2.3.1, says.
    const pair = [clientId, clientSecret].map((part) => encodeURIComponent(part)).join(":");
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  } else if (clientId !== undefined) body.set("client_id", clientId);
  const response = await fetch(tokenEndpoint, { method: "POST", headers, body, redirect: "error" });
  const answer: unknown = await response.json().catch(() => undefined);
  const { access_token: token, expires_in: seconds, error } = isJsonObject(answer) ? answer : {};
  if (response.ok && typeof token === "string")
    return { token, lifeMs: typeof seconds === "number" ? seconds * 1_000 : unknownLifeMs };
  const why = typeof error === "string" ? `: ${error}` : "";
  throw new NonRetryableError(
    `The authorization server did not exchange the caller's token (HTTP ${response.status}${why}).`,
  );
}

function subjectIn(credentials: unknown): string {
  const found = isJsonObject(credentials) ? credentials["token"] : credentials;
  if (typeof found === "string" && found !== "") return found;
  throw new NonRetryableError(
    "The caller has no token that could be exchanged: authenticate has to return it in credentials.",
  );
}
