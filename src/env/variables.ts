import { httpVariables } from "./http-variables.ts";
import { storeVariables } from "./store-variables.ts";
import { taskVariables } from "./task-variables.ts";
import { webhookVariables } from "./webhook-variables.ts";
import { fileNameOf, type Variable } from "./variable.ts";

/** The variables for servers, in the order of the table in docs/guides/operations.md. */
export const serverVariables: readonly Variable<unknown>[] = [
  ...storeVariables,
  ...taskVariables,
  ...webhookVariables,
  ...httpVariables,
];

/** The variables for the command line. Servers ignore them if they are set. */
const commandVariables: readonly string[] = [
  "HOLDFAST_TOKEN",
  "HOLDFAST_TOKEN_ORIGIN",
  "HOLDFAST_CLIENT_SECRET",
  "HOLDFAST_KEYRING",
  "HOLDFAST_CONFIG",
  "HOLDFAST_STATE",
];

/** All known names with our prefix. */
export const knownNames: ReadonlySet<string> = new Set([
  ...serverVariables.flatMap((each) => (each.isSecret ? [each.name, fileNameOf(each)] : [each.name])),
  ...commandVariables,
]);
