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

/** The receivers of a process's events. */
interface Observers {
  /** For events of tasks; undefined if nothing listens. */
  readonly events: ServerEvents | undefined;
  /** For refused requests: exists even without listeners, since these requests are reported. */
  readonly served: ServerEvents;
  /** What is reported. Of tasks, which are many, it counts the writes. */
  readonly counts: ProcessCounts;
}

export function observersOf({ onEvent, telemetry, clock, onError }: ObserversSetup): Observers {
  const measure = telemetry && ((event: ServerEvent) => telemetry.metrics.event(event));
  const listeners = [onEvent, measure].filter((listener) => listener !== undefined);
  const counts = new ProcessCounts(clock);
  const count = (event: ServerEvent): void => counts.count(event);
  return {
    events: listeners.length === 0 ? undefined : new ServerEvents({ listeners, clock, onError }),
    served: new ServerEvents({ listeners: [...listeners, count], clock, onError }),
    counts,
  };
}
