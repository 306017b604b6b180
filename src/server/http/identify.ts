import type { AuthInfo } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { Owner } from "../request.ts";
import type { OnError } from "../faults.ts";
import type { Authenticate, FetchHandlerOptions, Identity, ProtectedResource } from "./http-options.ts";
import { refuse } from "./refuse.ts";

/** The owner of what a request creates, with what the SDK hands to the author's own tools. */
export interface Sender extends Owner {
  readonly authInfo?: AuthInfo;
}

/** The one principal of all callers under `anonymous: "shared"`. */
const everyone = "anonymous";

/** What protects more than by telling who sent a request, if that was given; throws `configuration` for what cannot. */
export function protectedResource({
  authenticate,
}: Pick<FetchHandlerOptions, "authenticate">): ProtectedResource | undefined {
  if (authenticate === undefined || typeof authenticate === "function") return undefined;
  // JavaScript callers may give null, or a verifier alone, which would refuse everybody at the first request only.
  if (typeof authenticate?.authenticate === "function") return authenticate;
  const message = "authenticate has to be a function, or what oauthResource of holdfast/auth gives.";
  throw new HoldfastError("configuration", message);
}

/** The sender of every request where nobody has to say who he is. */
export function anonymousSender(anonymous: FetchHandlerOptions["anonymous"]): Sender {
  return { principal: anonymous === "shared" ? everyone : null };
}

/** Who sent `request`, or the refusal of it; rejects where `authenticate` does. */
export async function identify(
  request: Request,
  { authenticate, anonymous }: Pick<FetchHandlerOptions, "authenticate" | "anonymous">,
  onError: OnError,
): Promise<Sender | Response> {
  if (authenticate === undefined) return anonymousSender(anonymous);
  const owner =
    typeof authenticate === "function"
      ? await byFunction(request, authenticate)
      : await authenticate.authenticate(request, onError);
  if (owner instanceof Response) return owner;
  if (typeof owner.principal === "string" && owner.principal !== "") return owner;
  // Without this check, users without a name would share their tasks.
  throw new HoldfastError("configuration", "authenticate() returned an identity without a principal.");
}

async function byFunction(request: Request, authenticate: Authenticate): Promise<Identity | Response> {
  const found = await authenticate(request);
  // JavaScript callers may say null.
  if (found == null) return refuse(401, "Authentication is needed.", { "WWW-Authenticate": "Bearer" });
  return typeof found === "string" ? { principal: found } : found;
}
