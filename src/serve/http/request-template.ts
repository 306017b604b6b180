import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";
import { HoldfastError } from "../../task/fault.ts";
import { filled, filledJson, onlyPlaceholder, textOf, valueOf, type Scope } from "../template.ts";
import type { HttpRequest } from "./send.ts";

/** A request with placeholders. */
export interface RequestTemplate {
  /** Default `GET`. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Values in it are encoded. An address below that of the tool can be given by its path. */
  readonly url: string;
  /** Parameters of the address. Those without a value are left out. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. A text that is one placeholder becomes its value, of any type. */
  readonly body?: unknown;
}

/** How a service knows who asks. */
export interface Credentials {
  readonly bearer?: string;
  readonly basic?: { readonly user: string; readonly password: string };
  readonly headers?: Readonly<Record<string, string>>;
}

/** Throws `configuration` for an address whose host a caller could choose. */
export function assertUrl(what: string, url: string): void {
  const [, host = ""] = /^https?:\/\/([^/?#]*)/.exec(url) ?? [];
  if (host !== "" && !host.includes("{")) return;
  throw new HoldfastError(
    "configuration",
    `${what}: the url must begin with https:// or http:// and a host without placeholders.`,
  );
}

/** The request for these values. Credentials go to the origin of `base` alone. */
export function requestOf(
  { method = "GET", url, query = {}, headers = {}, body }: RequestTemplate,
  scope: Scope,
  { base, credentials }: { readonly base: string; readonly credentials?: Credentials | undefined },
): HttpRequest {
  const address = new URL(addressOf(url, scope), base);
  for (const [name, template] of Object.entries(query)) {
    const value = filledJson(template, scope);
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null) address.searchParams.append(name, textOf(each));
  }
  const json = body === undefined ? undefined : JSON.stringify(filledJson(body, scope));
  const own = Object.entries(headers).map(
    ([name, text]) => [name.toLowerCase(), filled(text, scope)] as const,
  );
  const isOurs = new URL(base).origin === address.origin;
  return {
    method,
    url: address.href,
    headers: {
      accept: "application/json, */*;q=0.5",
      ...(json !== undefined && { "content-type": "application/json" }),
      ...Object.fromEntries(own.filter((each): each is readonly [string, string] => each[1] !== undefined)),
      ...(isOurs && headersOf(credentials)),
    },
    ...(json !== undefined && { body: json }),
  };
}

/** An address that a service has given is taken as it is. */
function addressOf(template: string, scope: Scope): string {
  const only = onlyPlaceholder(template);
  const given = only?.name === "job" ? valueOf(only, scope) : undefined;
  if (typeof given === "string") return given;
  const text = filled(template, scope, (value) => encodeURIComponent(textOf(value)));
  if (text === undefined) throw new Error(`The address ${template} has a placeholder without a value.`);
  assertSamePath(template, filled(template, scope, () => "x") ?? "", text);
  return text;
}

/**
 * Throws if values lead to another path than the one they stand in. A segment of one or two dots, also as `%2e`, goes up in the path (URL Standard), and
 * an empty one names what is above it, such as all orders in the place of one. `usual` is the address with values that do not.
 */
export function assertSamePath(template: string, usual: string, text: string): void {
  const [before, after] = [usual, text].map((address) => (address.split(/[?#]/)[0] ?? "").split("/"));
  const changed = after?.find((segment, at) => leadsAway.test(segment) && segment !== before?.[at]);
  if (changed === undefined) return;
  const what = changed === "" ? "is empty" : `is "${changed}"`;
  throw new NonRetryableError(
    `A value in the path of ${template} ${what}, which would lead to another address. Nothing was sent.`,
  );
}

const leadsAway = /^(?:\.|%2e){0,2}$/i;

function headersOf({ bearer, basic, headers = {} }: Credentials = {}): Record<string, string> {
  const authorization =
    bearer === undefined
      ? basic && `Basic ${Buffer.from(`${basic.user}:${basic.password}`).toString("base64")}`
      : `Bearer ${bearer}`;
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { ...(authorization !== undefined && { authorization }), ...Object.fromEntries(lower) };
}
