export const prefix = "HOLDFAST_";

/** The variables for the command line. Servers ignore them if they are set. */
export const commandVariables: readonly string[] = [
  "HOLDFAST_TOKEN",
  "HOLDFAST_TOKEN_ORIGIN",
  "HOLDFAST_CLIENT_SECRET",
  "HOLDFAST_KEYRING",
  "HOLDFAST_CONFIG",
  "HOLDFAST_STATE",
];
