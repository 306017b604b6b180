import { httpVariables } from "./http-variables.ts";
import { storeVariables } from "./store-variables.ts";
import { taskVariables } from "./task-variables.ts";
import { webhookVariables } from "./webhook-variables.ts";
import { fileNameOf, type Variable } from "./variable.ts";

/** What is read for servers, in the order of the table in docs/guides/operations.md. */
export const serverVariables: readonly Variable<unknown>[] = [
  ...storeVariables,
  ...taskVariables,
  ...webhookVariables,
  ...httpVariables,
];

/** What the command line reads. Servers leave it alone, and it may be in their environment. */
const commandVariables: readonly string[] = [
  "HOLDFAST_TOKEN",
  "HOLDFAST_TOKEN_ORIGIN",
  "HOLDFAST_CLIENT_SECRET",
  "HOLDFAST_KEYRING",
  "HOLDFAST_CONFIG",
  "HOLDFAST_STATE",
];

/** Every name with our prefix that means something. */
export const knownNames: ReadonlySet<string> = new Set([
  ...serverVariables.flatMap((each) => (each.isSecret ? [each.name, fileNameOf(each)] : [each.name])),
  ...commandVariables,
]);
