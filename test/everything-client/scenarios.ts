import { withEmployee, withKey, withSecret, withWorkload } from "./auth/as-program.ts";
import { asUser, asUserOfKnownClient } from "./auth/as-user.ts";
import { asKeyBoundUser } from "./auth/key-bound-user.ts";
import { withHost } from "./host.ts";
import { useEverything } from "./offers.ts";
import type { Run } from "./run.ts";
import { callEachTool, callGivenTools, echoSchema, listTools } from "./tools.ts";

type Program = (run: Run) => Promise<void>;

const plain: Readonly<Record<string, Program>> = {
  // Initialisation or discovery, and one tool.
  initialize: (run) => withHost(run, callEachTool),
  tools_call: (run) => withHost(run, callEachTool),
  "request-metadata": (run) => withHost(run, callEachTool),

  // The server asks: by requests in a session, and by rounds on the call.
  "elicitation-sep1034-client-defaults": (run) => withHost(run, callEachTool),
  "sep-2322-client-request-state": (run) => withHost(run, callEachTool),

  // The answer to a call comes on another stream than the one that broke.
  "sse-retry": (run) => withHost(run, callEachTool),

  // Headers that servers and their tools ask for.
  "http-standard-headers": (run) => withHost(run, useEverything),
  "http-custom-headers": (run) => withHost(run, callGivenTools),
  "http-invalid-tool-headers": (run) => withHost(run, callEachTool),

  // Schemas of tools are passed on as they are.
  "json-schema-ref-no-deref": (run) => withHost(run, listTools),
  "json-schema-2020-12-preservation": (run) => withHost(run, echoSchema),
};

/** Logins other than that of a user by `logIn`, which all further scenarios of this kind use. */
const authorized: Readonly<Record<string, Program>> = {
  "auth/pre-registration": asUserOfKnownClient,
  "auth/client-credentials-basic": withSecret,
  "auth/client-credentials-jwt": withKey,
  "auth/enterprise-managed-authorization": withEmployee,
  "auth/wif-jwt-bearer": withWorkload,
  "auth/dpop": asKeyBoundUser,
  "auth/dpop-nonce": asKeyBoundUser,
};

/** What the program does in a scenario of the suite; throws for one that needs something this client does not have. */
export function programOf(scenario: string): Program {
  const program = plain[scenario] ?? authorized[scenario];
  if (program !== undefined) return program;
  if (scenario.startsWith("auth/")) return asUser;
  throw new Error(`Nothing here is for the scenario ${scenario}`);
}
