import { getOAuthProtectedResourceMetadataUrl } from "@modelcontextprotocol/server";
import { refuse } from "../http/refuse.ts";

const root = "/.well-known/oauth-protected-resource";
const methods = "GET, HEAD, OPTIONS";

/** The public document that names the authorization servers for `resource` (RFC 9728). */
export class Metadata {
  /** Its URL for clients. */
  readonly url: string;
  readonly #paths: ReadonlySet<string>;
  readonly #document: object;

  constructor(resource: URL, document: object) {
    this.url = getOAuthProtectedResourceMetadataUrl(resource);
    // Clients without the URL try the path of the resource first, and then the root.
    this.#paths = new Set([root, new URL(this.url).pathname]);
    this.#document = { resource: resource.href, ...document };
  }

  /** The answer to a request for it, from any page; undefined for all other requests. */
  answer({ method, url, headers }: Request): Response | undefined {
    if (!this.#paths.has(new URL(url).pathname.replace(/(?<=.)\/$/, ""))) return undefined;
    const cors = { "Access-Control-Allow-Origin": "*" };
    if (method === "GET" || method === "HEAD") {
      const response = Response.json(this.#document, {
        headers: { ...cors, "Cache-Control": "max-age=300" },
      });
      return method === "GET" ? response : new Response(null, response);
    }
    if (method !== "OPTIONS") return refuse(405, "Method not allowed.", { ...cors, Allow: methods });
    return new Response(null, {
      status: 204,
      headers: {
        ...cors,
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": headers.get("access-control-request-headers") ?? "*",
        Vary: "Access-Control-Request-Headers",
      },
    });
  }
}
