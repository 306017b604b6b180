/** An event on a stream of a session. */
export interface EventId {
  /** Names the log that numbered the event: a session has another one in each process. */
  readonly log: string;
  /** The number of its stream; 0 is the standalone stream. */
  readonly stream: number;
  /** Its own number, in the log. */
  readonly event: number;
}

export function formatEventId({ log, stream, event }: EventId): string {
  return `${log}-${stream}-${event}`;
}

/** Undefined for what `formatEventId` did not write. */
export function parseEventId(text: string): EventId | undefined {
  const [, log, stream, event] = /^(\w{8})-(\d{1,15})-(\d{1,15})$/.exec(text) ?? [];
  return log === undefined ? undefined : { log, stream: Number(stream), event: Number(event) };
}
