import type { JSX } from "preact";

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** A duration in its two largest units, such as `3 min 20 s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${Math.floor(ms / 100) / 10} s`;
  const first = units.findIndex(([, size]) => ms >= size);
  const [name, size] = units[first] ?? ["s", 1_000];
  const whole = Math.floor(ms / size);
  const next = units[first + 1];
  const rest = next === undefined ? 0 : Math.floor((ms % size) / next[1]);
  return rest === 0 || next === undefined ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next[0]}`;
}

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function fullTime(at: number): string {
  return full.format(at);
}

/** How long ago something was; its title has the exact time. */
export function Ago({ at, now }: { readonly at: number; readonly now: number }): JSX.Element {
  const seconds = Math.floor((now - at) / 1_000);
  const text =
    seconds < 1 ? "just now" : `${seconds < 60 ? `${seconds} s` : durationText(seconds * 1_000)} ago`;
  return <Time at={at}>{text}</Time>;
}

/** How long it is until something; its title has the exact time. */
export function Until({ at, now }: { readonly at: number; readonly now: number }): JSX.Element {
  const seconds = Math.ceil((at - now) / 1_000);
  const text = seconds < 60 ? `in ${seconds} s` : `in ${durationText(seconds * 1_000)}`;
  return <Time at={at}>{seconds < 1 ? "now" : text}</Time>;
}

/** When something was or will be. */
export function Time({ at, children }: { readonly at: number; readonly children?: string }): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {children ?? fullTime(at)}
    </time>
  );
}
