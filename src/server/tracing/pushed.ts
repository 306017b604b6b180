import type { Runtime } from "../../runtime/runtime.ts";

/** A listener was notified of a change of a task, committed at `changedAt` (epoch ms), possibly by a process whose clock is ahead. */
export function pushed({ telemetry, clock }: Pick<Runtime, "telemetry" | "clock">, changedAt: number): void {
  telemetry?.metrics.pushed(Math.max(0, clock.now() - changedAt));
}
