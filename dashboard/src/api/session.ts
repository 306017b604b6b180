/** Who looks, as the server knows him. */
export interface Session {
  readonly actor: string;
  readonly role: "read" | "write";
  /** To be sent with all that changes something. */
  readonly csrf: string;
  /** Of the server's package. */
  readonly version: string;
  /** Where traces are shown; `{traceId}` stands for the trace. */
  readonly traceUrl: string | null;
}

/** Where the page is served, without a slash at its end. */
export function basePath(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="base"]')?.content ?? "";
}

/** Whoever is not logged in is shown the login page, which the server sends in the place of this one. */
export async function openSession(base: string): Promise<Session> {
  const response = await fetch(`${base}/session`, { headers: { Accept: "application/json" } });
  if (response.status === 401) location.reload();
  if (!response.ok) throw new Error(answered(response));
  return (await response.json()) as Session;
}

/** Rejects where the server did not answer, or did not log out. */
export async function logOut(base: string): Promise<void> {
  // Of now: another tab may have logged in since this page was loaded.
  const { csrf } = await openSession(base);
  const response = await fetch(`${base}/logout`, { method: "POST", headers: { "X-CSRF-Token": csrf } });
  if (!response.ok) throw new Error(answered(response));
  location.assign(`${base}/`);
}

function answered({ status }: Response): string {
  return `The server answered with status ${status}.`;
}
