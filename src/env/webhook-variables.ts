import { secretKey } from "../runtime/webhooks/signature.ts";
import { isWebhookEvent, resolveWebhooks, type WebhookOptions } from "../runtime/webhooks/webhook-options.ts";
import { HoldfastError } from "../task/fault.ts";
import { readAll, type EnvReader } from "./env-reader.ts";
import type { Kind } from "./kind.ts";
import { listKind, switchKind, textKind } from "./text-kinds.ts";
import { variable } from "./variable.ts";

/** Its name in the store, in events and for operators. */
const name = "default";

const url = variable("webhookUrl", textKind("an `https://` URL"), {
  meaning:
    "sends [webhooks](#webhooks) to this URL when tasks change, in place of those that the program has",
  isSecret: true,
});
const secret = variable("webhookSecret", secretsKind(), {
  meaning: "signs the messages; with several secrets, each of them signs",
  isSecret: true,
});
const events = variable(
  "webhookEvents",
  listKind("`task.completed` and other events", (text) => (isWebhookEvent(text) ? text : undefined)),
  { meaning: "the events to send; if not set: all" },
);
const allowHttp = variable("webhookAllowHttp", switchKind, {
  meaning: "whether the URL may be an `http://` one, which sends messages unencrypted",
  default: "false",
});
const allowPrivate = variable(
  "webhookAllowPrivate",
  listKind("addresses, ranges such as `10.0.0.0/8`, or host names", (text) => text),
  { meaning: "addresses outside the public internet that the URL may lead to" },
);

export const webhookVariables = [url, secret, events, allowHttp, allowPrivate];

/** The webhook from an environment; undefined if it sets none. */
export function readWebhooks(reader: EnvReader): readonly WebhookOptions[] | undefined {
  const at = reader.read(url);
  const secrets = reader.read(secret);
  const others = readAll(reader, { events, allowHttp, allowPrivate });
  if (at === undefined) return undefined;
  if (secrets === undefined) {
    const message = `its messages are signed with ${secret.name}, which has no valid value.`;
    reader.foundIn(url, new HoldfastError("configuration", message));
    return undefined;
  }
  const hook = { name, url: at, secret: secrets, ...others };
  try {
    resolveWebhooks([hook]);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    reader.foundIn(url, error);
  }
  return [hook];
}

function secretsKind(): Kind<readonly string[]> {
  return listKind("`whsec_` and 24 to 64 bytes in base64", (text) => {
    try {
      secretKey(name, text);
      return text;
    } catch {
      return undefined;
    }
  });
}
