import { isJsonObject } from "../../../generation/message.ts";
import { adaptedRefusal, refusal } from "../admin/admin-answers.ts";
import type { BodyReads } from "../body-reads.ts";
import type { ParsedBody } from "../read-body.ts";

export interface LoginForm {
  readonly token: string;
  readonly next: string;
}

/** The data of the login form, even if a framework has read it already, or the refusal of anything else. */
export async function loginForm(
  request: Request,
  bodies: BodyReads,
  parsed: ParsedBody | undefined,
): Promise<LoginForm | Response> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type))
    return refusal(415, "invalid_request", "Send the login form as application/x-www-form-urlencoded.");
  const fields = parsed === undefined ? await bodies.text(request) : parsed.value;
  if (fields instanceof Response) return adaptedRefusal(fields);
  if (isJsonObject(fields) && !(fields instanceof Uint8Array))
    return { token: text(fields["token"]), next: text(fields["next"]) };
  const search = new URLSearchParams(text(fields));
  return { token: search.get("token") ?? "", next: search.get("next") ?? "" };
}

function text(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  return typeof value === "string" ? value : "";
}
