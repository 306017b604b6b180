export { oauthResource, type OAuthResourceOptions, type ScopeRules } from "./server/auth/oauth-resource.ts";
export { jwtVerifier, type JwtVerifierOptions, type Algorithm } from "./server/auth/jwt-verifier.ts";
export {
  introspectionVerifier,
  type IntrospectionVerifierOptions,
  type IntrospectionCredentials,
} from "./server/auth/introspection-verifier.ts";
export type { AccessToken, TokenVerifier } from "./server/auth/access-token.ts";
