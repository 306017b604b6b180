import type { JsonObject } from "../../generation/message.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { AccessToken } from "./access-token.ts";

/** A token's claims, in the form that the server uses. */
export function accessTokenOf(token: string, issuer: string, claims: JsonObject): AccessToken {
  const { exp } = claims;
  return {
    token,
    issuer,
    subject: text(claims["sub"]),
    // The SDK wants a string; some issuers name the client by `azp`, and few not at all.
    clientId: text(claims["client_id"]) ?? text(claims["azp"]) ?? "",
    scopes: [...scopesOf(claims)],
    ...(typeof exp === "number" && { expiresAt: exp }),
    extra: claims,
  };
}

/** The standard name is `scope`; some issuers use `scp`. Either is a list, or a text with spaces. */
function scopesOf({ scope, scp }: JsonObject): ReadonlySet<string> {
  const given = scope ?? scp;
  const all: readonly unknown[] =
    typeof given === "string" ? given.split(" ") : Array.isArray(given) ? given : [];
  return new Set(all.filter((one): one is string => typeof one === "string" && one !== ""));
}

function text(claim: unknown): string | undefined {
  return typeof claim === "string" && claim !== "" ? claim : undefined;
}

/** The audiences to accept; throws `configuration` if that would be none or any. */
export function audiencesOf(audience: string | readonly string[]): string[] {
  const all = typeof audience === "string" ? [audience] : [...audience];
  if (all.length > 0 && all.every((one) => typeof one === "string" && one !== "")) return all;
  throw new HoldfastError(
    "configuration",
    "audience must name the resource that tokens are issued for, and must not be empty.",
  );
}

/** Throws `configuration` for an issuer that no token can come from. */
export function assertIssuer(issuer: string): void {
  if (typeof issuer === "string" && URL.canParse(issuer)) return;
  throw new HoldfastError(
    "configuration",
    "issuer must be the URL that identifies the authorization server.",
  );
}
