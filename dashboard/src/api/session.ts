import { includesRole, type OperatorRole } from "../../../src/admin/roles.ts";

/** The current user, as the server knows them. */
export interface Session {
  readonly actor: string;
  readonly role: OperatorRole;
  /** Sent with every request that changes something. */
  readonly csrf: string;
  /** The version of the server's package. */
  readonly version: string;
  /** The URL of a trace; `{traceId}` stands for the trace. */
  readonly traceUrl: string | null;
  /** The URL of runbooks; `{tool}` and `{cause}` stand for those of an incident. */
  readonly runbookUrl: string | null;
}

/** Whether the server lets the user do what needs this role. */
export function may({ role }: Session, needed: OperatorRole): boolean {
  return includesRole(role, needed);
}

/** The path of the page, without a slash at its end. */
export function basePath(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="base"]')?.content ?? "";
}

/** Without a login, the server sends the login page instead of this one. */
export async function openSession(base: string): Promise<Session> {
  const response = await fetch(`${base}/session`, { headers: { Accept: "application/json" } });
  if (response.status === 401) location.reload();
  if (!response.ok) throw new Error(answered(response));
  return (await response.json()) as Session;
}

/** Rejects if the server did not answer, or did not log out. */
export async function logOut(base: string): Promise<void> {
  // The current token: another tab may have logged in since this page was loaded.
  const { csrf } = await openSession(base);
  const response = await fetch(`${base}/logout`, { method: "POST", headers: { "X-CSRF-Token": csrf } });
  if (!response.ok) throw new Error(answered(response));
  location.assign(`${base}/`);
}

function answered({ status }: Response): string {
  return `The server answered HTTP ${status}.`;
}
