/** The latest time that is stored (epoch ms), and the longest duration (ms): the last time that a `Date` can show. */
export const latestTime = 8_640_000_000_000_000;

/** A time, or a duration, as stores can hold it: databases give back no integer that JavaScript cannot hold exactly. */
export function storable(ms: number): number {
  return Math.max(-latestTime, Math.min(ms, latestTime));
}
