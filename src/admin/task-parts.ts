import * as z from "zod/mini";
import { inputMethods } from "../task/journal.ts";
import {
  contentOrNull,
  countUpTo,
  described,
  list,
  member,
  membersOf,
  optional,
  shown,
  text,
  textOrNull,
  timeOrNull,
  whole,
  wholeOrNull,
  time,
  content,
  flag,
  number,
} from "./shape.ts";

export const questionMethod = z.enum(inputMethods);

export const entryKind = z.enum(["step", "input", "sleep", "call", "event", "artifact", "loop"]);

class DeclaredTimelineEntry {
  readonly key = member(text);
  readonly kind = member(entryKind);
  /** The method of a question's request. */
  readonly method = member(z.nullable(questionMethod));
  readonly begunAt = member(timeOrNull);
  readonly doneAt = member(timeOrNull);
  readonly durationMs = member(wholeOrNull);
  /** Steps: how often it failed with a retry to follow. Loops: the number of its round. */
  readonly tries = member(whole);
  /** When an open wait ends at the latest, or when a step is retried. */
  readonly until = member(timeOrNull);
  /** The error with which it failed. */
  readonly error = member(contentOrNull);
  /** The task of a call that has not ended, or that failed. Others are deleted when they end. */
  readonly childId = member(textOrNull);
  /** The limit by name for which it waits, or a list of the name and a key as JSON; left out for one that waits for none. */
  readonly limit? = optional(text);
}

/** A step, a question, a sleep, a call of another tool or a wait for an event. In a timeline, in the order in which they began. */
export interface TimelineEntry extends DeclaredTimelineEntry {}

export const timelineEntry = shown<TimelineEntry>("TimelineEntry", DeclaredTimelineEntry);

class DeclaredTimelineSummary {
  readonly entries = member(whole);
  /** Those with an error, including steps that are to be tried again. */
  readonly failed = member(whole);
  /** Those that have not ended. */
  readonly open = member(whole);
}

/** What the timeline of a task has in all. */
export interface TimelineSummary extends DeclaredTimelineSummary {}

export const timelineSummary = shown<TimelineSummary>("TimelineSummary", DeclaredTimelineSummary);

class DeclaredTimelinePage {
  /** In the order in which they began. */
  readonly entries = member(list(timelineEntry));
  /** Where the next page begins; null on the last page. */
  readonly next = member(wholeOrNull);
}

/** Entries of the timeline of a task, and where the next page begins. */
export interface TimelinePage extends DeclaredTimelinePage {}

export const timelinePage = shown<TimelinePage>("TimelinePage", DeclaredTimelinePage);

class DeclaredTimelineQuery {
  /** Maximum number of entries, from 1 to 1,000. Default 200. */
  readonly limit? = optional(countUpTo(1_000, 200, "The maximum number of entries."));
  /** The `next` of the previous page. */
  readonly after? = optional(described(whole, "The next of the previous page."));
}

/** Which part of the timeline of a task to read. */
export interface TimelineQuery extends DeclaredTimelineQuery {}

export const timelineQuery = membersOf<TimelineQuery>(DeclaredTimelineQuery);

class DeclaredStoredFile {
  readonly name = member(text);
  readonly mimeType = member(text);
  /** Its size. */
  readonly bytes = member(whole);
  /** In hexadecimal. */
  readonly sha256 = member(text);
  /** When it was complete (epoch ms). */
  readonly at = member(time);
}

/** A file that a task has made (`task.artifact`). */
export interface StoredFile extends DeclaredStoredFile {}

export const storedFile = shown<StoredFile>("StoredFile", DeclaredStoredFile);

class DeclaredFilePart extends DeclaredStoredFile {
  /** Where the part begins. */
  readonly from = member(whole);
  /** Base64. */
  readonly data = member(text);
}

/** A part of such a file. */
export interface FilePart extends DeclaredFilePart {}

export const filePart = shown<FilePart>("FilePart", DeclaredFilePart);

/** The most bytes of one part. */
const mostBytes = 1024 * 1024;

class DeclaredFileQuery {
  /** Where the part begins. Default 0. */
  readonly from? = optional(described(whole, "Where the part begins."));
  /** Maximum number of bytes, from 1 to 1 MiB. Default 1 MiB. */
  readonly bytes? = optional(countUpTo(mostBytes, mostBytes, "The maximum number of bytes."));
}

export interface FileQuery extends DeclaredFileQuery {}

export const fileQuery = membersOf<FileQuery>(DeclaredFileQuery);

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
