import type { Clock } from "../runtime/clock.ts";
import type { ServerEvent } from "../runtime/events/server-event.ts";
import { ServerEvents, type OnEvent } from "../runtime/events/server-events.ts";
import { ProcessCounts } from "../runtime/reports/process-counts.ts";
import type { ServerTelemetry } from "../runtime/telemetry/telemetry.ts";

interface ObserversSetup {
  readonly onEvent: OnEvent | undefined;
  readonly telemetry: ServerTelemetry | undefined;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** Who hears of what happens in a process. */
interface Observers {
  /** Of what happens to tasks; undefined where nobody listens. */
  readonly events: ServerEvents | undefined;
  /** Of requests that are refused: also where nobody listens, since they are reported. */
  readonly served: ServerEvents;
  /** What is reported. Of tasks, which are many, it counts the writes. */
  readonly counts: ProcessCounts;
}

export function observersOf({ onEvent, telemetry, clock, onError }: ObserversSetup): Observers {
  const measure = telemetry && ((event: ServerEvent) => telemetry.metrics.event(event));
  const listeners = [onEvent, measure].filter((listener) => listener !== undefined);
  const counts = new ProcessCounts(clock);
  const count = (event: ServerEvent): void => counts.told(event);
  return {
    events: listeners.length === 0 ? undefined : new ServerEvents({ listeners, clock, onError }),
    served: new ServerEvents({ listeners: [...listeners, count], clock, onError }),
    counts,
  };
}
