import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { grants, type Login, type LoginClient } from "./login.ts";

/** Incremented by changes that an earlier version could not read. */
const format = 1;

export function loginText(server: string, login: Login): string {
  return `${JSON.stringify({ format, server, login })}\n`;
}

/** The login of a server; undefined if the text contains none. */
export function readLogin(server: string, text: string): Login | undefined {
  const stored = parsed(text);
  if (!isJsonObject(stored) || stored["format"] !== format || stored["server"] !== server) return undefined;
  const login = stored["login"];
  if (!isJsonObject(login)) return undefined;
  const { issuer, tokenEndpoint, accessToken } = login;
  const client = readClient(login["client"]);
  const grant = grants.find((known) => known === login["grant"]);
  if (typeof issuer !== "string" || typeof tokenEndpoint !== "string" || typeof accessToken !== "string")
    return undefined;
  if (client === undefined || grant === undefined) return undefined;
  const expiresAt = login["expiresAt"];
  return {
    issuer,
    tokenEndpoint,
    accessToken,
    client,
    grant,
    authMethods: readMethods(login["authMethods"]),
    revocationEndpoint: textIn(login, "revocationEndpoint"),
    resource: textIn(login, "resource"),
    refreshToken: textIn(login, "refreshToken"),
    scope: textIn(login, "scope"),
    expiresAt: typeof expiresAt === "number" ? expiresAt : undefined,
  };
}

function readClient(value: unknown): LoginClient | undefined {
  if (!isJsonObject(value) || typeof value["id"] !== "string") return undefined;
  return { id: value["id"], secret: textIn(value, "secret"), method: textIn(value, "method") };
}

function readMethods(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((method) => typeof method === "string") : undefined;
}

function textIn(object: JsonObject, name: string): string | undefined {
  const value = object[name];
  return typeof value === "string" ? value : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
