import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { TracedPeer } from "../client-events.ts";

/**
 * Names of servers are stored, logged and shown. They keep two promises:
 *
 * - They contain no values of a URL's query, which are often keys, unless the host says which may be seen.
 * - They are equal for equal addresses, and differ for others: whatever a name hides, its hash tells apart.
 */

/** The name of the server at a URL. */
export function urlName(url: URL, isPublic: IsPublic = nothingIsPublic): string {
  const address = addressOf(url);
  return nameOf(redacted(address, isPublic), address);
}

/** What requests are sent to: fragments are not. */
export function addressOf(url: URL): string {
  const address = new URL(url);
  address.hash = "";
  return address.href;
}

/** The name of a process: equal for equal command lines. */
export function processName(words: readonly string[]): string {
  return nameOf(joined(words.map((word) => redacted(word))), joined(words));
}

/** What may be seen of an address, with a hash of the address if that is less than all of it. */
export function nameOf(shown: string, address: string): string {
  if (shown === address) return shown;
  return `${shown}#${bytesToHex(sha256(utf8ToBytes(address))).slice(0, 16)}`;
}

/** The words of a command line as one. */
export function joined(words: readonly string[]): string {
  return `stdio:${words.map(encodeURIComponent).join("+")}`;
}

/** Whether the values of the query's parameter may be seen. */
export type IsPublic = (parameter: string) => boolean;

const nothingIsPublic: IsPublic = () => false;

const mark = "***";

/** A URL, or a word that has one in it, without the values of its query, its user name and its password. */
export function redacted(text: string, isPublic: IsPublic = nothingIsPublic): string {
  const { before, scheme, rest } =
    /^(?<before>.*?)(?<scheme>https?:\/\/)(?<rest>.*)$/is.exec(text)?.groups ?? {};
  if (before === undefined || scheme === undefined || rest === undefined) return text;
  const address = rest.replace(/^[^/?#]*@/, `${mark}@`);
  const at = address.indexOf("?");
  if (at === -1) return `${before}${scheme}${address}`;
  const [query = ""] = address.slice(at + 1).split("#");
  const shown = query.split("&").map((part) => {
    const [name = "", value] = part.split("=", 2);
    if (value === "" || part === "" || isPublic(name)) return part;
    return value === undefined ? mark : `${name}=${mark}`;
  });
  return `${before}${scheme}${address.slice(0, at)}?${shown.join("&")}`;
}

/** What `connect` takes, for messages. */
export const targets =
  'a URL, such as "http://127.0.0.1:3000/mcp", a process to start, or a transport of the SDK';

export function httpUrl(target: string | URL): URL {
  const url = target instanceof URL ? target : URL.parse(target);
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  // Keeps passwords and keys out of logs.
  const named = String(target).replace(/\?.*$/su, "?***").replace(/^.*@/su, "");
  throw new TypeError(`connect takes ${targets}, not ${JSON.stringify(named)}.`);
}

export function httpPeer({ hostname, port, protocol }: URL): TracedPeer {
  const usualPort = protocol === "https:" ? 443 : 80;
  return { transport: "http", address: hostname, port: port === "" ? usualPort : Number(port) };
}

export function hasCredentials({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}
