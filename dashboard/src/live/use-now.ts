import { useEffect, useState } from "preact/hooks";

/** The time (epoch ms), updated every second. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const interval = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(interval);
  }, [everyMs]);
  return now;
}
