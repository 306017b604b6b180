import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Admin } from "../../../src/admin/operations.ts";
import { remoteAdmin } from "../../../src/admin/remote-admin.ts";
import { ChangeFeed } from "../live/change-feed.ts";
import { basePath, openSession, type Session } from "./session.ts";

/** What the whole page needs. */
export interface Services {
  readonly base: string;
  readonly session: Session;
  readonly admin: Admin;
  readonly feed: ChangeFeed;
}

const context = createContext<Services | undefined>(undefined);

export const ServicesProvider = context.Provider;

export function useServices(): Services {
  const services = useContext(context);
  if (services === undefined) throw new Error("The server has no such page.");
  return services;
}

export async function openServices(): Promise<Services> {
  const base = basePath();
  const session = await openSession(base);
  const away = (): void => feed.away();
  const url = new URL(`${base}/api`, location.href).href;
  const admin = remoteAdmin(url, { fetch: fetchAs(base, session, away) });
  const feed = new ChangeFeed(admin, `${base} ${session.role} ${session.actor}`);
  return { base, session, admin, feed };
}

/** Requests authenticate with the login's cookie. Those that change something also need its CSRF token. */
function fetchAs(base: string, session: Session, onAway: () => void): typeof fetch {
  let { csrf } = session;
  const send: typeof fetch = async (input, init = {}) => {
    const headers = new Headers(init.headers);
    if (init.method !== undefined && init.method !== "GET") headers.set("X-CSRF-Token", csrf);
    try {
      const response = await fetch(input, { ...init, headers, credentials: "same-origin" });
      if (response.status === 401) location.reload(); // shows the login page
      if (response.status === 503) onAway();
      return response;
    } catch (error) {
      if (init.signal?.aborted !== true) onAway();
      throw error;
    }
  };
  return async (input, init = {}) => {
    const response = await send(input, init);
    if (response.status !== 403 || init.method === undefined || init.method === "GET") return response;
    // Another tab may have logged in since, which gave all tabs a new CSRF token.
    const now = await openSession(base);
    if (now.actor !== session.actor || now.role !== session.role)
      location.reload(); // the page shows who acts
    else if (now.csrf !== csrf) {
      ({ csrf } = now);
      return send(input, init);
    }
    return response;
  };
}
