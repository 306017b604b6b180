/** Who has to agree before a call of a tool begins. */
export interface Approval {
  /** `user`: the client's user. `operator`: somebody who operates the server. */
  readonly by: "user" | "operator";
}
