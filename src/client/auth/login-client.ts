import type { StoredOAuthClientInformation } from "@modelcontextprotocol/client";
import { TaskClientError } from "../task-client-error.ts";
import { endpointOf, type Authority } from "./find-authorization-server.ts";
import type { Login, LoginClient } from "./login.ts";
import type { LogInOptions } from "./login-run.ts";

export const defaultClientName = "Holdfast";

/** The configured client in the SDK's form, bound to the issuer. If undefined, a client is described or registered. */
export function configuredClient(
  { client }: LogInOptions,
  { issuer }: Authority,
): StoredOAuthClientInformation | undefined {
  if (client === undefined) return undefined;
  const { id, secret } = client;
  return { client_id: id, ...(secret !== undefined && { client_secret: secret }), issuer };
}

/** Throws if no client is configured and the authorization server cannot register one. */
export function assertClient(
  { client, clientMetadataUrl }: LogInOptions,
  { issuer, info: { authorizationServerMetadata: metadata } }: Authority,
): void {
  // Without metadata, the endpoint may be at its default path.
  if (client !== undefined || metadata === undefined) return;
  const takesDocument =
    clientMetadataUrl !== undefined && metadata["client_id_metadata_document_supported"] === true;
  if (takesDocument || metadata.registration_endpoint !== undefined) return;
  const message = `${issuer} does not register clients automatically: give the id of a client that is registered there`;
  throw new TaskClientError("unauthorized", message);
}

/** A client in the form that logins store. */
export function loginClient(client: StoredOAuthClientInformation): LoginClient {
  const method = "token_endpoint_auth_method" in client ? client.token_endpoint_auth_method : undefined;
  return { id: client.client_id, secret: client.client_secret, method };
}

/** What a login stores about its authorization server. */
export function loginAuthority({
  issuer,
  info,
}: Authority): Pick<Login, "issuer" | "tokenEndpoint" | "authMethods" | "revocationEndpoint" | "resource"> {
  const { authorizationServerMetadata: metadata, authorizationServerUrl, resourceMetadata } = info;
  return {
    issuer,
    tokenEndpoint: metadata?.token_endpoint ?? new URL("/token", authorizationServerUrl).href,
    authMethods: metadata?.token_endpoint_auth_methods_supported,
    revocationEndpoint: endpointOf(info, "revocation_endpoint"),
    resource: resourceMetadata?.resource,
  };
}
