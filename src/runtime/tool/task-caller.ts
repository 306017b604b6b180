import type { CallerDetails } from "../../task/record.ts";

/** Who called a tool, as `authenticate` found it. Stored with the task, without the token. */
export interface TaskCaller {
  /** The owner of the task; null if the server does not tell callers apart. */
  readonly principal: string | null;
  /** The OAuth client that called for the principal. Left out if authentication names none. */
  readonly clientId?: string;
  /** The scopes of the call's token. Left out if authentication names none. */
  readonly scopes?: readonly string[];
  /** What `authenticate` returned as `claims`: plain JSON data. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export function taskCaller(
  principal: string | null,
  { clientId, scopes, claims = {} }: CallerDetails = {},
): TaskCaller {
  return {
    principal,
    ...(clientId !== undefined && { clientId }),
    ...(scopes !== undefined && { scopes }),
    claims,
  };
}
