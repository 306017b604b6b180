import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { askForToken, keptToken, type Sender } from "../http/send.ts";
import type { OpenApiDocument } from "./document.ts";
import type { Credential } from "./openapi-options.ts";

/** What a credential adds to a request. */
export interface Proof {
  readonly headers: Record<string, string>;
  readonly query: string[];
  readonly cookies: string[];
}

type Apply = (proof: Proof) => void | Promise<void>;

/** The security schemes of a document for which there are credentials. */
export class Security {
  readonly #schemes = new Map<string, Apply>();
  readonly #default: unknown;

  /** Throws for a credential that fits no scheme, or whose scheme is not supported. */
  constructor(document: OpenApiDocument, credentials: Readonly<Record<string, Credential>>, sender: Sender) {
    const { components, security } = document.root;
    const { securitySchemes } = document.object(components);
    const schemes = isJsonObject(securitySchemes) ? securitySchemes : {};
    this.#default = security;
    for (const [name, credential] of Object.entries(credentials)) {
      if (!Object.hasOwn(schemes, name)) {
        const known = Object.keys(schemes).join(", ");
        throw new Error(
          `credentials has ${name}, and the document has the security schemes ${known || "of no name"}`,
        );
      }
      this.#schemes.set(name, applying(name, document.object(schemes[name]), credential, sender));
    }
  }

  /**
   * How requests of an operation are made credible: by the first of its alternatives for which there are credentials. Throws if there is none, and it
   * needs one.
   */
  of(own: unknown): (proof: Proof) => Promise<void> {
    const asked = own ?? this.#default;
    const alternatives = Array.isArray(asked) ? asked.filter((each) => isJsonObject(each)) : [];
    const usable = alternatives.find((each) => Object.keys(each).every((name) => this.#schemes.has(name)));
    if (alternatives.length > 0 && usable === undefined) {
      const names = alternatives.map((each) => Object.keys(each).join(" and "));
      throw new Error(`it needs credentials for ${names.join(", or ")}`);
    }
    return async (proof) => {
      for (const name of Object.keys(usable ?? {})) await this.#schemes.get(name)?.(proof);
    };
  }
}

function applying(name: string, scheme: JsonObject, credential: Credential, sender: Sender): Apply {
  const { type, in: place, name: key, scheme: kind } = scheme;
  const wrong = (needed: string): never => {
    throw new Error(`the credential ${name} must be ${needed}`);
  };
  const secret = typeof credential === "string" ? credential : undefined;
  if (type === "apiKey") {
    const value = secret ?? wrong("a key");
    return ({ headers, query, cookies }) => {
      if (place === "header") headers[String(key).toLowerCase()] = value;
      else if (place === "query")
        query.push(`${encodeURIComponent(String(key))}=${encodeURIComponent(value)}`);
      else cookies.push(`${String(key)}=${encodeURIComponent(value)}`);
    };
  }
  if (type === "http" && String(kind).toLowerCase() === "basic") {
    if (typeof credential === "string" || !("username" in credential)) return wrong("{ username, password }");
    const pair = Buffer.from(`${credential.username}:${credential.password}`).toString("base64");
    return ({ headers }) => void (headers["authorization"] = `Basic ${pair}`);
  }
  if (type === "http" && String(kind).toLowerCase() === "bearer") return bearer(secret ?? wrong("a token"));
  if (type === "oauth2" || type === "openIdConnect") {
    if (secret !== undefined) return bearer(secret);
    if (typeof credential === "string" || !("clientId" in credential))
      return wrong("a token, or { clientId, clientSecret }");
    const { flows } = scheme;
    const { clientCredentials } = isJsonObject(flows) ? flows : {};
    const { tokenUrl } = isJsonObject(clientCredentials) ? clientCredentials : {};
    if (typeof tokenUrl !== "string" || !URL.canParse(tokenUrl))
      return wrong("a token: the document names no tokenUrl for clients");
    const tokens = clientTokens(tokenUrl, credential, sender);
    return async ({ headers }) => void (headers["authorization"] = `Bearer ${await tokens()}`);
  }
  throw new Error(
    `security scheme ${name} (${String(type)} ${typeof kind === "string" ? kind : ""}) is not supported`,
  );
}

function bearer(token: string): Apply {
  return ({ headers }) => void (headers["authorization"] = `Bearer ${token}`);
}

/** Tokens by the grant for clients of OAuth 2 (RFC 6749, section 4.4), each used until it ends. */
function clientTokens(
  tokenUrl: string,
  { clientId, clientSecret, scope }: Extract<Credential, { clientId: string }>,
  sender: Sender,
): () => Promise<string> {
  return keptToken(undefined, async () => {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      ...(scope !== undefined && { scope }),
    });
    return askForToken(sender, tokenUrl, form, { clientId, clientSecret });
  });
}
