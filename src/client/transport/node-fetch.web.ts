import type * as Node from "./node-fetch.ts";

/** The platform's own `fetch`, which has no time limits there. Redirects are not followed. */
export const fetchWithoutTimeout: typeof Node.fetchWithoutTimeout = async (url, init) => {
  const response = await fetch(url, { ...init, redirect: "manual" });
  if (response.type === "opaqueredirect")
    throw new TypeError("fetch failed", { cause: new Error("The server redirects to another address") });
  return response;
};
