import type { TaskChange } from "../store.ts";
import type { News } from "./news.ts";

/** Postgres refuses a payload of 8,000 bytes. */
const maxBytes = 7_999;

/** The content of a payload, and its sender. */
export interface HeardNews {
  readonly owner: string;
  readonly news: News | "gap";
}

/** The payloads of `NOTIFY`, in the order in which they must be received; a gap if a single id is too long for one. */
export function toPayloads(owner: string, news: News | "gap"): readonly string[] {
  if (news === "gap") return [gapOf(owner)];
  const { tasks = [], sessions = [], messages = false, work = false } = news;
  const open = `{"owner":${JSON.stringify(owner)}`;
  const flags = `${messages ? ',"messages":1' : ""}${work ? ',"work":1' : ""}`;
  const items = [
    ...split("tasks", open, tasks, ({ id, version }) => JSON.stringify([id, version])),
    ...split("sessions", open, sessions, (id) => JSON.stringify(id)),
  ];
  if (flags !== "") items.push(`${open}${flags}}`);
  return items.every((item) => Buffer.byteLength(item) <= maxBytes) ? items : [gapOf(owner)];
}

/** Undefined for a payload that no owner sends. */
export function fromPayload(payload: string): HeardNews | undefined {
  let said: unknown;
  try {
    said = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (typeof said !== "object" || said === null) return undefined;
  const { owner, gap, tasks = [], sessions = [], messages, work }: Record<string, unknown> = { ...said };
  if (typeof owner !== "string") return undefined;
  if (gap === 1) return { owner, news: "gap" };
  const changes = isList(tasks) ? tasks.map(toChange) : [undefined];
  if (!isEach(changes, isThere) || !isList(sessions) || !isEach(sessions, isText)) return undefined;
  return { owner, news: { tasks: changes, sessions, messages: messages === 1, work: work === 1 } };
}

function gapOf(owner: string): string {
  return JSON.stringify({ owner, gap: 1 });
}

/** Splits a list into as many objects as needed. */
function split<Item>(
  name: string,
  open: string,
  items: readonly Item[],
  write: (item: Item) => string,
): string[] {
  const begin = `${open},"${name}":[`;
  const payloads: string[] = [];
  let written: string[] = [];
  let bytes = 0;
  const end = (): void => {
    if (written.length > 0) payloads.push(`${begin}${written.join(",")}]}`);
    written = [];
    bytes = Buffer.byteLength(begin) + 2;
  };
  end();
  for (const item of items) {
    const text = write(item);
    const size = Buffer.byteLength(text) + 1;
    if (bytes + size > maxBytes) end();
    written.push(text);
    bytes += size;
  }
  end();
  return payloads;
}

function toChange(item: unknown): TaskChange | undefined {
  const [id, version]: readonly unknown[] = isList(item) ? item : [];
  const isVersion = version === null || (typeof version === "number" && Number.isSafeInteger(version));
  return typeof id === "string" && isVersion ? { id, version } : undefined;
}

function isEach<Item, Wanted extends Item>(
  items: readonly Item[],
  is: (item: Item) => item is Wanted,
): items is readonly Wanted[] {
  return items.every((item) => is(item));
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isThere(change: TaskChange | undefined): change is TaskChange {
  return change !== undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
