import * as z from "zod/mini";
import {
  content,
  described,
  flag,
  member,
  membersOf,
  number,
  optional,
  shown,
  text,
  time,
  timeOrNull,
  whole,
} from "./shape.ts";

class DeclaredWebhookBacklog {
  readonly webhook = member(text);
  readonly waiting = member(whole);
  /** When the oldest change was made whose message waits; null if none does. */
  readonly oldestAt = member(timeOrNull);
  /** Messages given up after three days. They are kept until they are a week old. */
  readonly givenUp = member(whole);
  /** The newest failure of these messages; null if none has failed. */
  readonly lastFailure = member(z.nullable(z.object({ at: time, problem: content(text, "") })));
}

/** Messages that a webhook has not accepted yet. Every number is at most 10,000. */
export interface WebhookBacklog extends DeclaredWebhookBacklog {}

export const webhookBacklog = shown<WebhookBacklog>("WebhookBacklog", DeclaredWebhookBacklog);

class DeclaredResendOptions {
  /** Also messages that wait for their next try: they are sent at once. Default false. */
  readonly waiting? = optional(described(flag, "Also messages that wait for their next try."));
  /** Also delivered messages, of tasks that changed at this time (epoch ms) or later: the webhook is told how each task stands now. */
  readonly changedFrom? = optional(
    described(
      number,
      "Also delivered messages: tell how tasks stand that changed at this time (epoch ms) or later.",
    ),
  );
  /** With `changedFrom`: and before this time (epoch ms). */
  readonly changedBefore? = optional(described(number, "And before this time (epoch ms)."));
  /** With `changedFrom`: only tasks of this tool. */
  readonly tool? = optional(described(text, "Of delivered messages, only those of tasks of this tool."));
  /** Only counts the messages, given up and waiting ones up to 10,000 each. Default false. */
  readonly dryRun? = optional(described(flag, "Only count the messages."));
}

/** Which messages of a webhook are sent again, besides those that were given up. */
export interface ResendOptions extends DeclaredResendOptions {}

export const resendOptions = membersOf<ResendOptions>(DeclaredResendOptions);

class DeclaredResent {
  /** Messages that had not been accepted. */
  readonly resent = member(whole);
  /** Tasks of which the webhook is told once more. */
  readonly delivered = member(whole);
}

/** How many messages are sent again. */
export interface Resent extends DeclaredResent {}

export const resent = shown<Resent>("Resent", DeclaredResent);
