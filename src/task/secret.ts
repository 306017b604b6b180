/**
 * The text of a secret of a store: random bytes in base64url, of which there may be several versions, the newest first.
 * - Processes read secrets once a second. A new version is used from a time on that lets all of them learn of it first; they accept it before.
 * - An earlier version is accepted until a time, and then deleted by whoever notices first.
 */

interface Version {
  readonly value: string;
  /** When it begins to be used (epoch ms). */
  readonly from?: number;
  /** When it is no longer accepted (epoch ms). */
  readonly until?: number;
}

/** A secret at a time. */
export interface Secret {
  /** What is made now is made with this version. */
  readonly current: Uint8Array;
  /** All versions that count, the current one first. */
  readonly accepted: readonly Uint8Array[];
}

/** A new version is used this much later, in ms: renewals come once a second, and clocks differ a little. */
const untilKnownMs = 5_000;

/** After this time, in ms, all processes use it. */
export const untilUsedMs = untilKnownMs + 2_000;

export function secretAt(text: string, now: number): Secret {
  const versions = versionsOf(text).filter((version) => counts(version, now));
  const used = versions.findIndex(({ from = 0 }) => from <= now);
  const [current] = versions.splice(Math.max(0, used), 1);
  const bytes = [...(current === undefined ? [] : [current]), ...versions].map(({ value }) => bytesOf(value));
  return { current: bytes[0] ?? bytesOf(text), accepted: bytes };
}

/** The text with a new version. The earlier ones are accepted for `acceptMs` after it is used; for 0, the new one alone counts at once. */
export function rotated(text: string, value: string, now: number, acceptMs: number): string {
  if (acceptMs === 0) return value;
  const from = now + untilKnownMs;
  const earlier = versionsOf(text)
    .filter((version) => counts(version, now))
    .map((version) => ({ ...version, until: Math.min(version.until ?? Infinity, from + acceptMs) }));
  return textOf([{ value, from }, ...earlier]);
}

/** The text without the versions that no longer count. */
export function pruned(text: string, now: number): string {
  const versions = versionsOf(text);
  const left = versions.filter((version) => counts(version, now));
  return left.length === versions.length || left.length === 0 ? text : textOf(left);
}

/** When all of its earlier versions are over (epoch ms); null if it has one version. */
export function settledAt(text: string): number | null {
  const ends = versionsOf(text).flatMap(({ until }) => until ?? []);
  return ends.length === 0 ? null : Math.max(...ends);
}

function counts({ until = Infinity }: Version, now: number): boolean {
  return until > now;
}

function versionsOf(text: string): Version[] {
  return text.startsWith("[") ? (JSON.parse(text) as Version[]) : [{ value: text }];
}

function textOf(versions: readonly Version[]): string {
  const [first, ...others] = versions;
  return first !== undefined && others.length === 0 && first.until === undefined
    ? first.value
    : JSON.stringify(versions);
}

function bytesOf(value: string): Uint8Array {
  return Buffer.from(value, "base64url");
}
