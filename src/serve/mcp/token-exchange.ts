import { systemClock } from "../../client/clock.ts";
import { isJsonObject } from "../../generation/message.ts";
import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";
import { askForToken, Sender, type Token } from "../http/send.ts";
import type { TokenExchange } from "./mcp-options.ts";

const grant = "urn:ietf:params:oauth:grant-type:token-exchange";
const accessToken = "urn:ietf:params:oauth:token-type:access_token";

/**
 * Exchanges the caller's token for one that is for the server (RFC 8693), and again before that ends. `credentials` gives what `authenticate` returned
 * for the call.
 */
export async function exchangedTokens(
  exchange: TokenExchange,
  credentials: () => Promise<unknown>,
): Promise<() => Promise<string>> {
  const { tokenEndpoint, clientId, clientSecret, audience, resource, scope } = exchange;
  const sender = new Sender([new URL(tokenEndpoint).hostname.replace(/^\[(.*)\]$/, "$1")]);
  const read = async (): Promise<Token> => {
    const form = new URLSearchParams({
      grant_type: grant,
      subject_token: subjectIn(await credentials()),
      subject_token_type: accessToken,
      requested_token_type: accessToken,
    });
    for (const [name, set] of Object.entries({ audience, resource, scope }))
      if (set !== undefined) form.set(name, set);
    return askForToken(sender, tokenEndpoint, form, { clientId, clientSecret });
  };
  let last = await read();
  return async () => {
    if (systemClock.elapsed() >= last.until) last = await read();
    return last.token;
  };
}

function subjectIn(credentials: unknown): string {
  const found = isJsonObject(credentials) ? credentials["token"] : credentials;
  if (typeof found === "string" && found !== "") return found;
  throw new NonRetryableError(
    "The caller has no token that could be exchanged: authenticate has to return it in credentials.",
  );
}
