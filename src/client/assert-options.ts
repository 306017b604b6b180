import { protocolVersions, type ConnectOptions } from "./connect-options.ts";

/** Throws a RangeError for options that nobody can follow. */
export function assertOptions({ pollFloorMs = 0, protocolVersion, generation }: ConnectOptions): void {
  if (!Number.isFinite(pollFloorMs) || pollFloorMs < 0) {
    throw new RangeError(`pollFloorMs has to be a number from 0 on, not ${pollFloorMs}.`);
  }
  if (protocolVersion !== undefined && !protocolVersions.includes(protocolVersion)) {
    const known = protocolVersions.join(", ");
    throw new RangeError(`protocolVersion has to be one of ${known}, not ${String(protocolVersion)}.`);
  }
  if (generation === undefined) return;
  if (generation !== "sep-1686") {
    throw new RangeError(`generation has to be "sep-1686", not ${JSON.stringify(generation)}.`);
  }
  if (protocolVersion === "2026-07-28") {
    throw new RangeError("Protocol 2026-07-28 has no tasks of SEP-1686.");
  }
}
