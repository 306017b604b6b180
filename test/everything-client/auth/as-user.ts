import { InsufficientScopeError, SdkHttpError } from "@modelcontextprotocol/client";
import { logIn, memoryLogins, TaskClientError, type LogInOptions } from "holdfast/client";
import * as z from "zod";
import { withHost } from "../host.ts";
import type { Run } from "../run.ts";
import { callEachTool } from "../tools.ts";

/** Some servers want other scopes for every token that they see: a user would not log in for ever. */
const maxLogins = 2;

/** Describes this client to authorization servers that take such a document instead of a registration. */
const clientMetadataUrl = "https://conformance-test.local/client-metadata.json";

/** Logs in when the server asks for it, and again when it wants more scopes or another authorization server. */
export function asUser(run: Run): Promise<void> {
  return withLogins(run, { clientMetadataUrl });
}

const known = z.object({ client_id: z.string(), client_secret: z.string() });

/** `asUser`, with a client that the authorization server knows already. */
export function asUserOfKnownClient(run: Run): Promise<void> {
  const { client_id: id, client_secret: secret } = known.parse(run.context);
  return withLogins(run, { client: { id, secret } });
}

async function withLogins(run: Run, options: Partial<LogInOptions>): Promise<void> {
  const store = memoryLogins();
  for (let logins = 0, scope: string | undefined; ; logins++) {
    try {
      return await withHost(run, callEachTool, { auth: store });
    } catch (error) {
      if (!wantsLogin(error) || logins === maxLogins) throw error;
      scope = scopeWantedBy(error) ?? scope;
      await logIn(run.url, { store, onAddress: visit, ...options, ...(scope !== undefined && { scope }) });
    }
  }
}

/** Requests of `client.sdk` reject with the SDK's error if no other token can be had. */
function wantsLogin(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 401;
  return error instanceof TaskClientError && error.code === "unauthorized";
}

/** The scopes that the login has and those that it lacks. */
function scopeWantedBy(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof InsufficientScopeError ? cause.requiredScope : undefined;
}

/** Logs in without a user: the suite's page redirects at once to the port that `logIn` listens at. */
async function visit({ url }: { readonly url: URL }): Promise<void> {
  const page = await fetch(url);
  await page.body?.cancel();
}
