/** What the conformance suite says about one run of this program. */
export interface Run {
  /** The suite's server for this run. */
  readonly url: string;
  readonly scenario: string;
  /** What else the scenario gives to its client, such as the credentials of a client. */
  readonly context: unknown;
}

/** Throws an error that says what is missing. */
export function readRun(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Run {
  const [url] = args;
  const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = "{}" } = env;
  if (url === undefined || scenario === undefined) {
    throw new Error(
      "Usage: MCP_CONFORMANCE_SCENARIO=NAME node test/everything-client/main.ts URL\n" +
        "The conformance suite sets both: conformance client --command 'node test/everything-client/main.ts'",
    );
  }
  return { url, scenario, context: JSON.parse(context) };
}
