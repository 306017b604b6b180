import { randomBytes } from "node:crypto";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { interruptedBy, type ExitCode } from "../errors.ts";
import { aborted } from "../terminal/signal-watch.ts";
import { withAdmin } from "./admin/with-admin.ts";

/** `holdfast dashboard STORE`: serves the dashboard until it is interrupted, and prints a link to it. */
export async function dashboard(
  context: Context,
  { store: place, options }: Given<"dashboard">,
): Promise<ExitCode> {
  const { output } = context;
  const { host, port, path, readOnly } = options;
  return withAdmin(context, { place, options, endsItself: true }, async ({ admin, actor, interrupts }) => {
    // Reports a wrong token or a store of another version here, not in the browser.
    await admin.list({ limit: 1 });
    // Loaded on demand, so that other commands start faster.
    const { serveDashboard } = await import("../../server/http/dashboard/serve-dashboard.ts");
    const served = await serveDashboard({
      admin,
      operator: { actor, role: readOnly === true ? "read" : "admin" },
      token: randomBytes(32).toString("base64url"),
      host,
      port,
      path,
      onError: (error) => output.note(error instanceof Error ? error.message : String(error)),
    });
    try {
      const { link } = served;
      const can = readOnly === true ? "see the tasks" : `act as ${actor}`;
      const notes = [`Anyone with this link can ${can}. Press Ctrl-C to stop.`];
      await output.say({ json: { link }, text: `${link}\n`, notes });
      await aborted(interrupts.signal);
    } finally {
      await served.close();
    }
    return interruptedBy(interrupts);
  });
}
