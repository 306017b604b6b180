import { introspectionVerifier, type TokenVerifier } from "holdfast/auth";

export function makeVerifier(issuer: string, clientSecret: string): TokenVerifier {
  return introspectionVerifier({
    url: new URL("/oauth2/introspect", issuer),
    clientId: "reports",
    clientSecret,
    issuer,
    audience: "https://reports.example.com/mcp",
  });
}
