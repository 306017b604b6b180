/** The keyword of the source; SHAPE is an exact fact of the wire, IMPLIED is stated without a keyword. */
export type Level = "MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT" | "MAY" | "SHAPE" | "IMPLIED";

/** One thing that the protocol asks for, in our words. With MUST NOT, `text` is what must not happen. */
export interface Requirement {
  readonly id: `X-${string}`;
  readonly level: Level;
  readonly who: "client" | "server" | "both";
  readonly text: string;
}
