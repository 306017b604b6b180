import type { TracedPeer } from "../client-telemetry.ts";

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
