import { optionProblem, type OptionNames } from "../task/option-names.ts";
import { protocolVersions, type ConnectOptions } from "./connect-options.ts";

const connectOptions: OptionNames<ConnectOptions> = {
  onInput: true,
  onInputError: true,
  onEvent: true,
  capabilities: true,
  receiveTasks: true,
  handles: true,
  clientInfo: true,
  protocolVersion: true,
  generation: true,
  serverName: true,
  headers: true,
  token: true,
  fetch: true,
  signal: true,
  listen: true,
  pollFloorMs: true,
};

/** Throws a RangeError for options that nobody can follow. */
export function assertOptions(options: ConnectOptions): void {
  const problem = optionProblem("connect", options, connectOptions);
  if (problem !== undefined) throw new RangeError(problem);
  const { pollFloorMs = 0, protocolVersion, generation } = options;
  if (!Number.isFinite(pollFloorMs) || pollFloorMs < 0) {
    throw new RangeError(`pollFloorMs has to be a number of at least 0, not ${pollFloorMs}.`);
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
