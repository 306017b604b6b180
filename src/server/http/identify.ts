import type { AuthInfo } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { FetchHandlerOptions } from "./http-options.ts";

/** The owner of what a request creates; null where callers are not told apart. */
export interface Owner {
  readonly principal: string | null;
  readonly authInfo?: AuthInfo;
}

/** The one principal of all callers under `anonymous: "shared"`. */
const everyone = "anonymous";

/** Who sent `request`, or undefined where it has to be refused; rejects where `authenticate` does. */
export async function identify(
  request: Request,
  { authenticate, anonymous = "isolated" }: Pick<FetchHandlerOptions, "authenticate" | "anonymous">,
): Promise<Owner | undefined> {
  if (authenticate === undefined) return { principal: anonymous === "shared" ? everyone : null };
  const found = await authenticate(request);
  if (found == null) return undefined; // JavaScript callers may say null
  const owner = typeof found === "string" ? { principal: found } : found;
  if (typeof owner.principal === "string" && owner.principal !== "") return owner;
  // Without this check, users without a name would share their tasks.
  throw new HoldfastError("configuration", "authenticate() returned an identity without a principal.");
}
