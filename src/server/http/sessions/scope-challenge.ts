import {
  bearerAuthChallengeResponse,
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
  type AuthInfo,
  type JSONRPCRequest,
  type ScopeChallengeHandler,
} from "@modelcontextprotocol/server";

/** The refusal of requests whose sender lacks scopes that the author's server requires; undefined if it lacks none. */
export async function scopeRefusal(
  requests: readonly JSONRPCRequest[],
  authInfo: AuthInfo | undefined,
  find: ScopeChallengeHandler,
): Promise<Response | undefined> {
  for (const request of requests) {
    const challenge = await find({ request, ...(authInfo !== undefined && { authInfo }) });
    if (challenge === undefined) continue;
    const { scopes, errorDescription = "Insufficient scope" } = challenge;
    const resourceMetadataUrl = metadataUrl(authInfo);
    return bearerAuthChallengeResponse(new OAuthError(OAuthErrorCode.InsufficientScope, errorDescription), {
      requiredScopes: [...scopes],
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    });
  }
  return undefined;
}

function metadataUrl(authInfo: AuthInfo | undefined): string | undefined {
  if (authInfo?.resourceMetadataUrl !== undefined) return authInfo.resourceMetadataUrl;
  const { resource } = authInfo ?? {};
  return resource !== undefined && /^https?:$/.test(resource.protocol)
    ? getOAuthProtectedResourceMetadataUrl(resource)
    : undefined;
}
