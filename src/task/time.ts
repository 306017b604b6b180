/** The latest time that is stored (epoch ms), and the longest duration (ms): the last time that a `Date` can show. */
export const latestTime = 8_640_000_000_000_000;

/** A time or duration as stores can hold it: integers that JavaScript cannot represent exactly do not survive a database. */
export function storable(ms: number): number {
  return Math.max(-latestTime, Math.min(ms, latestTime));
}
