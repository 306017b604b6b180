import { HoldfastError } from "../../task/fault.ts";

/** This server's credentials at the introspection endpoint: client id and secret, or an `Authorization` header. */
export type IntrospectionCredentials =
  | {
      readonly clientId: string;
      readonly clientSecret: string;
      readonly authorization?: never;
    }
  | {
      /** Returns the value of the `Authorization` header; called for each lookup. */
      readonly authorization: () => string | Promise<string>;
      readonly clientId?: never;
      readonly clientSecret?: never;
    };

/** Returns the value of the `Authorization` header; throws `configuration` if there is none. */
export function credentialsHeader(credentials: IntrospectionCredentials): () => string | Promise<string> {
  const { authorization, clientId, clientSecret } = credentials;
  if (authorization !== undefined) return authorization;
  if (typeof clientId !== "string" || clientId === "" || typeof clientSecret !== "string") {
    throw new HoldfastError(
      "configuration",
      "Token introspection needs clientId and clientSecret, or authorization.",
    );
  }
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  const header = `Basic ${Buffer.from(pair).toString("base64")}`;
  return () => header;
}

/** Name and secret are encoded before they are joined, because either may contain a colon (RFC 6749, 2.3.1). */
function formEncoded(value: string): string {
  return new URLSearchParams({ "": value }).toString().slice(1);
}
