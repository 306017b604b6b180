import type { Slots } from "../dispatch/slots.ts";
import type { Attempts } from "../execution/attempts.ts";
import type { LeakedHandlers } from "../execution/leaked-handlers.ts";
import type { Services } from "../services.ts";
import { LoopDelays } from "./loop-delay.ts";
import { QueueReads } from "./queue-reads.ts";

export interface ObservedParts {
  readonly slots: Pick<Slots, "used" | "limit">;
  readonly attempts: Pick<Attempts, "active" | "waiting">;
  readonly leaked: Pick<LeakedHandlers, "counts">;
}

/** Lets a runtime's current values be read until the returned function is called. Does nothing if nothing is measured. */
export function observeRuntime(services: Services, { slots, attempts, leaked }: ObservedParts): () => void {
  const { telemetry } = services;
  if (telemetry === undefined) return () => undefined;
  const delays = new LoopDelays();
  const queues = new QueueReads(services);
  const end = telemetry.metrics.observe({
    slots: () => ({ used: slots.used, limit: slots.limit }),
    activeHandlers: () => attempts.active(),
    waitingHandlers: () => attempts.waiting,
    leakedHandlers: () => leaked.counts,
    loopDelay: () => delays.read(),
    queues: () => queues.read(),
  });
  return () => {
    end();
    delays.stop();
  };
}
