import { createHmac } from "node:crypto";
import type { Delivery, DeliveryEvent } from "../../task/delivery.ts";
import type { TimeSpan } from "../../task/time.ts";
import { listKind, textKind } from "../../options/kind.ts";
import {
  assertOptions,
  choices,
  flag,
  list,
  number,
  row,
  settingsOf,
  tableOf,
  text,
  time,
} from "../../options/options.ts";
import { HoldfastError } from "../../task/fault.ts";
import { allowedAddresses, type AllowedAddresses, isAllowable, refusalOfHost } from "../allowed-addresses.ts";

const prefix = "whsec_";

/** Whether a secret has the form of Standard Webhooks. */
function isSecret(secret: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) return false;
  const { length } = secretKey(secret);
  return length >= 24 && length <= 64;
}

/** The bytes of a secret. */
export function secretKey(secret: string): Uint8Array {
  return Buffer.from(secret.slice(prefix.length), "base64");
}

/** `webhook-signature`: each key's signature of the message, its id and the time of sending (s). */
export function signatures(
  keys: readonly Uint8Array[],
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const signed = `${id}.${timestamp}.${body}`;
  return keys.map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`).join(" ");
}

/** A message to send. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** By Standard Webhooks. The id and the body are the same each time it is sent; the time and the signatures are new. */
export function messageOf(delivery: Delivery, keys: readonly Uint8Array[], now: number): Message {
  const { event, taskId, tool, principal, generation, version, at } = delivery;
  const status = event === "created" ? "working" : event;
  const body = JSON.stringify({
    type: `task.${event}`,
    timestamp: new Date(at).toISOString(),
    data: { taskId, tool, principal, generation, status, version },
  });
  const id = `${taskId}_${version}`;
  const timestamp = Math.floor(now / 1_000);
  return {
    headers: {
      "content-type": "application/json",
      "user-agent": "holdfast",
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signatures(keys, { id, timestamp, body }),
    },
    body,
  };
}

/** What a webhook can report: that a task was created, that its status changed, or that it was deleted early. */
export type WebhookEvent = `task.${DeliveryEvent}`;

const events = [
  "task.created",
  "task.working",
  "task.input_required",
  "task.completed",
  "task.failed",
  "task.cancelled",
  "task.deleted",
] as const satisfies readonly WebhookEvent[];

const secrets = listKind("`whsec_` and 24 to 64 bytes in base64", textKind("", isSecret));

class DeclaredWebhookOptions {
  /** Its name in the store and in events. Keep it when the URL changes. */
  readonly name: string = text(
    "1 to 32 letters, digits, `-` and `_`",
    (name) => /^[A-Za-z0-9_-]{1,32}$/.test(name),
    { required: true },
  );
  /** Where messages go: an `https` URL without a user, a password or a fragment. */
  // The URL itself may be a secret, as those of chats are.
  readonly url: string = text("an `https://` URL", (url) => URL.canParse(url), {
    required: true,
    variable: "HOLDFAST_WEBHOOK_URL",
    secret: true,
  });
  /** Signs messages as in Standard Webhooks. To rotate secrets, pass several: each of them signs. */
  readonly secret: string | readonly string[] = row(
    {
      ...secrets,
      accepts: (given) => secrets.accepts([given].flat()) && [given].flat().length > 0,
      inCode: 'such as "whsec_" + randomBytes(32).toString("base64"), or a list of them',
    },
    { required: true, variable: "HOLDFAST_WEBHOOK_SECRET", secret: true },
  );
  /** The events to send. Default: all. */
  readonly events?: readonly WebhookEvent[] = choices(events, { variable: "HOLDFAST_WEBHOOK_EVENTS" });
  /** Whether its URL may use `http`, which others on the network can read. Default `false`. */
  readonly allowHttp?: boolean = flag({ default: false, variable: "HOLDFAST_WEBHOOK_ALLOW_HTTP" });
  /** Addresses outside the public internet that it may send to. Addresses behind a host name are then not checked. Default: none. */
  readonly allowPrivate?: readonly string[] = list(
    "addresses, ranges such as `10.0.0.0/8`, or host names",
    isAllowable,
    { variable: "HOLDFAST_WEBHOOK_ALLOW_PRIVATE" },
  );
  /** Messages sent to it at the same time. Default 4. */
  readonly concurrency?: number = number({ min: 1, max: 100, default: 4 });
  /** How long it may take to answer. Default 10 seconds. */
  readonly timeoutMs?: TimeSpan = time({ min: 100, max: 60_000, default: 10_000 });
}

/** A service to notify of task changes. Only the operator sets it: nothing that callers send decides where a message goes. */
export interface WebhookOptions extends DeclaredWebhookOptions {}

export const webhookOptions = tableOf<WebhookOptions>(DeclaredWebhookOptions);

/** A webhook with all defaults filled in. */
export interface Webhook {
  readonly name: string;
  readonly url: URL;
  readonly keys: readonly Uint8Array[];
  readonly reports: (event: DeliveryEvent) => boolean;
  readonly allowed: AllowedAddresses;
  readonly concurrency: number;
  readonly timeoutMs: number;
}

/** Throws `configuration` for invalid options. No message contains a secret. */
export function resolveWebhooks(given: readonly WebhookOptions[]): readonly Webhook[] {
  const hooks = given.map(resolveWebhook);
  const twice = hooks.find(({ name }, index) => hooks.findIndex((each) => each.name === name) < index);
  if (twice !== undefined) throw wrong(`Two webhooks have the name ${twice.name}`);
  return hooks;
}

function resolveWebhook(given: WebhookOptions): Webhook {
  const { name: called } = (given ?? {}) as { name?: unknown };
  const what = typeof called === "string" && called !== "" ? `Webhook ${called}` : "A webhook";
  assertOptions(what, given, webhookOptions);
  const settings = settingsOf<WebhookOptions, "events" | "allowPrivate">(webhookOptions, given);
  const { name, secret, concurrency, timeoutMs, events: chosen, allowPrivate = [] } = settings;
  const allowed = allowedAddresses(allowPrivate);
  return {
    name,
    url: urlOf(what, settings, allowed),
    keys: [secret].flat().map(secretKey),
    reports: (event) => chosen === undefined || chosen.includes(`task.${event}`),
    allowed,
    concurrency,
    timeoutMs,
  };
}

function urlOf(
  what: string,
  { url: given, allowHttp }: { readonly url: string; readonly allowHttp: boolean },
  allowed: AllowedAddresses,
): URL {
  const url = new URL(given);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && allowHttp))
    throw wrong(`${what}: url must begin with https://${allowHttp ? " or http://" : ""}`);
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw wrong(`${what}: url must not contain a user, a password or a fragment`);
  const refusal = refusalOfHost(url.hostname, allowed);
  if (refusal !== undefined) throw wrong(`${what}: ${refusal}. To allow it, list it in allowPrivate`);
  return url;
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("configuration", `${problem}.`);
}
