import * as z from "zod/mini";
import {
  content,
  contentOrNull,
  countUpTo,
  described,
  flag,
  list,
  member,
  membersOf,
  number,
  optional,
  shown,
  text,
  time,
  timeOrNull,
  whole,
  wholeOrNull,
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

class DeclaredTaskDelivery {
  /** Its number, which grows in the order of changes. */
  readonly seq = member(whole);
  readonly webhook = member(text);
  readonly event = member(
    z.enum(["created", "working", "input_required", "completed", "failed", "cancelled", "deleted"]),
  );
  readonly taskId = member(text);
  readonly tool = member(text);
  /** When the change happened (epoch ms). */
  readonly at = member(time);
  readonly tries = member(whole);
  /** When the next try is (epoch ms); null: the message was given up. */
  readonly nextAt = member(timeOrNull);
  /** When it last failed (epoch ms), and why; null: it has not. */
  readonly failedAt = member(timeOrNull);
  readonly problem = member(contentOrNull);
}

/** A message about a task that a webhook has not accepted yet. */
export interface TaskDelivery extends DeclaredTaskDelivery {}

export const taskDelivery = shown<TaskDelivery>("TaskDelivery", DeclaredTaskDelivery);

class DeclaredDeliveryQuery {
  readonly webhook? = optional(described(text, "Messages to this webhook."));
  /** `waiting`: it will be tried, again or for the first time. `given_up`: it will not, unless it is resent. */
  readonly state? = optional(
    described(z.enum(["waiting", "given_up"]), "Messages that wait for a try, or that were given up."),
  );
  /** Only those that have failed at least once. Default false. */
  readonly failed? = optional(described(flag, "Messages that have failed at least once."));
  readonly tool? = optional(described(text, "Messages about tasks of this tool."));
  readonly taskId? = optional(described(text, "Messages about this task."));
  /** Of changes at this time (epoch ms) or later, and before `changedBefore`. */
  readonly changedFrom? = optional(
    described(number, "Messages about changes at this time (epoch ms) or later."),
  );
  readonly changedBefore? = optional(
    described(number, "Messages about changes before this time (epoch ms)."),
  );
  /** Maximum number of messages, from 1 to 1,000. Default 50. */
  readonly limit? = optional(countUpTo(1_000, 50, "The maximum number of messages."));
  /** The `next` of the previous page. */
  readonly after? = optional(described(whole, "The next of the previous page."));
}

/** Selects the messages that match every given property. */
export interface DeliveryQuery extends DeclaredDeliveryQuery {}

export const deliveryQuery = membersOf<DeliveryQuery>(DeclaredDeliveryQuery);

class DeclaredDeliveryPage {
  /** Newest first. */
  readonly deliveries = member(list(taskDelivery));
  /** Where the next page begins; null on the last page. A page may be shorter than its limit, or even empty, before the last. */
  readonly next = member(wholeOrNull);
}

/** Messages of a list, and where the next page begins. */
export interface DeliveryPage extends DeclaredDeliveryPage {}

export const deliveryPage = shown<DeliveryPage>("DeliveryPage", DeclaredDeliveryPage);

class DeclaredResendOptions {
  /** Only these messages, by their `seq`: at most 1,000 that wait or were given up. */
  readonly messages? = optional(
    described(
      list(whole).check(z.minLength(1), z.maxLength(1_000)),
      "Only these messages, by their numbers (seq).",
    ),
  );

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
