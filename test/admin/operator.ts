import type { Admin } from "../../src/admin/operations.ts";
import { createAdmin } from "../../src/admin/create-admin.ts";
import type { Process } from "../runtime/harness.ts";

/** What an operator of a process has. */
export function adminOf({ store, clock, runtime }: Process): Admin {
  return createAdmin({
    store,
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: runtime.options.maxBodyBytes,
    onChange: () => runtime.lookForWork(),
  });
}
