import type { RunnerServices } from "../../src/admin/bulk-runner.ts";
import type { Admin } from "../../src/admin/operations.ts";
import { createAdmin } from "../../src/admin/create-admin.ts";
import type { Process } from "../runtime/harness.ts";

/** What an operator of a process has. */
export function adminOf(process: Process): Admin {
  return createAdmin(servicesOf(process));
}

export function servicesOf({ store, clock, runtime }: Process): RunnerServices {
  return {
    store,
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    every: (ms, run) => clock.every(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: runtime.options.maxBodyBytes,
    onChange: () => runtime.lookForWork(),
  };
}
