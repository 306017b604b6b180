import { PROTOCOL_VERSION_META_KEY, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import { protocolVersions } from "../../generation/generations.ts";
import type { JsonObject } from "../../generation/message.ts";
import { reservedMethods } from "../author-server.ts";

/** The requests of clients in all revisions, and of SEP-1686. */
const methods: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "subscriptions/listen",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  ...reservedMethods,
]);

const versions: ReadonlySet<string> = new Set([...protocolVersions, ...SUPPORTED_PROTOCOL_VERSIONS]);

/** A method's name in traces, which need few names, while a client may send any. */
export function tracedMethod(method: string): string {
  return methods.has(method) ? method : "_OTHER";
}

/** The revision that the `_meta` of a request names; undefined if it names no existing one. */
export function versionIn(meta: JsonObject): string | undefined {
  const version = meta[PROTOCOL_VERSION_META_KEY];
  return typeof version === "string" && versions.has(version) ? version : undefined;
}
