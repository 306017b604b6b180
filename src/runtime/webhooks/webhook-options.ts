import { HoldfastError } from "../../task/fault.ts";
import type { DeliveryEvent } from "../../task/delivery.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { allowedAddresses, refusalOfHost, type AllowedAddresses } from "./allowed-addresses.ts";
import { secretKey } from "./signature.ts";

/** What a webhook can report: that a task was created, that its status changed, or that it was deleted early. */
export type WebhookEvent = `task.${DeliveryEvent}`;

/** A service to notify of task changes. Only the operator sets it: nothing that callers send decides where a message goes. */
export interface WebhookOptions {
  /** Its name in the store and in events, which it keeps when its URL changes: up to 32 letters, digits, `-` and `_`. */
  readonly name: string;
  /** An `https` URL without a user, a password or a fragment. */
  readonly url: string;
  /**
   * Signs its messages as in Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. To rotate secrets, pass several: each of them signs.
   */
  readonly secret: string | readonly string[];
  /** The events to send. Default: all. */
  readonly events?: readonly WebhookEvent[];
  /** Whether its URL may use `http`, which others on the network can read. Default false. */
  readonly allowHttp?: boolean;
  /**
   * Addresses outside the public internet that it may send to: ranges (`10.0.0.0/8`), addresses, and host names, whose addresses are then
   * not checked. Default: none.
   */
  readonly allowPrivate?: readonly string[];
  /** Messages sent to it at the same time. Default 4. */
  readonly concurrency?: number;
  /** How long it may take to answer, in milliseconds. Default 10 seconds. */
  readonly timeoutMs?: number;
}

/** A webhook with all defaults filled in. */
export interface Webhook {
  readonly name: string;
  readonly url: URL;
  readonly keys: readonly Uint8Array[];
  readonly tells: (event: DeliveryEvent) => boolean;
  readonly allowed: AllowedAddresses;
  readonly concurrency: number;
  readonly timeoutMs: number;
}

const eventNames: Readonly<Record<WebhookEvent, true>> = {
  "task.created": true,
  "task.working": true,
  "task.input_required": true,
  "task.completed": true,
  "task.failed": true,
  "task.cancelled": true,
  "task.deleted": true,
};

export function isWebhookEvent(event: unknown): event is WebhookEvent {
  return typeof event === "string" && Object.hasOwn(eventNames, event);
}

const names: OptionNames<WebhookOptions> = {
  name: true,
  url: true,
  secret: true,
  events: true,
  allowHttp: true,
  allowPrivate: true,
  concurrency: true,
  timeoutMs: true,
};

/** Throws `configuration` for invalid options. No message contains a secret. */
export function resolveWebhooks(given: readonly WebhookOptions[]): readonly Webhook[] {
  if (!Array.isArray(given)) throw wrong("webhooks has to be a list");
  const hooks = given.map(resolveWebhook);
  const twice = hooks.find(({ name }, index) => hooks.findIndex((each) => each.name === name) < index);
  if (twice !== undefined) throw wrong(`two webhooks have the name ${twice.name}`);
  return hooks;
}

function resolveWebhook(given: WebhookOptions): Webhook {
  assertOptionNames("A webhook", given, names);
  const { name, secret, events, concurrency = 4, timeoutMs = 10_000 } = given;
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,32}$/.test(name))
    throw wrong(
      `the name of a webhook has to be 1 to 32 letters, digits, - and _, not ${JSON.stringify(name) as string | undefined}`,
    );
  const what = `webhook ${name}`;
  const allowed = allowedAddresses(what, given.allowPrivate ?? []);
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  if (secrets.length === 0) throw wrong(`${what} needs a secret`);
  assertEvents(what, events);
  assertWhole(`${what}: concurrency`, concurrency, 1, 100);
  assertWhole(`${what}: timeoutMs`, timeoutMs, 100, 60_000);
  return {
    name,
    url: urlOf(what, given, allowed),
    keys: secrets.map((each) => secretKey(what, each)),
    tells: (event) => events === undefined || events.includes(`task.${event}`),
    allowed,
    concurrency,
    timeoutMs,
  };
}

function urlOf(
  what: string,
  { url: given, allowHttp = false }: WebhookOptions,
  allowed: AllowedAddresses,
): URL {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  // The URL itself may be a secret, as those of chats are.
  if (url === undefined) throw wrong(`${what}: its url is not a URL`);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && allowHttp))
    throw wrong(`${what}: its url has to begin with https://${allowHttp ? " or http://" : ""}`);
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw wrong(`${what}: its url has a user, a password or a fragment`);
  const refusal = refusalOfHost(url.hostname, allowed);
  if (refusal !== undefined) throw wrong(`${what}: ${refusal}`);
  return url;
}

function assertEvents(what: string, events: unknown): void {
  if (events === undefined) return;
  if (Array.isArray(events) && events.length > 0 && events.every(isWebhookEvent)) return;
  throw wrong(`${what}: events has to be a list of ${Object.keys(eventNames).join(", ")}`);
}

function assertWhole(what: string, value: unknown, min: number, max: number): void {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return;
  throw wrong(`${what} has to be a whole number from ${min} to ${max}`);
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("configuration", `${problem[0]?.toUpperCase()}${problem.slice(1)}.`);
}
