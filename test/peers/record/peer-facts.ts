/** What a run of `npm run test:peers` showed of a peer, as a file of `facts/` has it. */
export interface PeerFacts {
  readonly peer: string;
  /** Its package on npm. */
  readonly package: string;
  /** What it is towards Holdfast. */
  readonly as: "client" | "server";
  readonly version: string;
  /** The version of MCP that was negotiated. */
  readonly protocol: string;
  /** Titles of the tests that passed. */
  readonly works: readonly string[];
  /** What does not work, and who alone can change that. */
  readonly lacks: readonly { readonly what: string; readonly owner: string }[];
}
