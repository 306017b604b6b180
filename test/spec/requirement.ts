/** The keyword of the source; SHAPE is an exact fact of the wire, IMPLIED is stated without a keyword. */
export type Level = "MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT" | "MAY" | "SHAPE" | "IMPLIED";

/** Requestor and receiver are roles: of a tool call the client is the requestor, of a question of a task the server. */
export type Who = "client" | "server" | "both" | "requestor" | "receiver";

/** One thing that the protocol asks for, in our words. With MUST NOT and SHOULD NOT, `text` is what must not happen. */
export interface Requirement {
  readonly id: `X-${string}` | `C-${string}` | `S-${string}` | `B-${string}`;
  readonly level: Level;
  readonly who: Who;
  readonly text: string;
}
