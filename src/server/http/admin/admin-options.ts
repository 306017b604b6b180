/** The operator who sends a request to an admin endpoint. */
export interface Operator {
  /** The name recorded with actions, not empty. */
  readonly actor: string;
  /** Whether the operator may change things, or only read. Default `write`. */
  readonly role?: "read" | "write";
}

/** Identifies the operator of a request by its headers; `undefined` refuses the request with 401. */
export type AuthenticateOperator = (request: Request) => Promise<Operator | undefined>;

/** An admin endpoint next to an MCP endpoint. */
export interface AdminEndpointOptions {
  /** The full path of the endpoint, wherever the handler is mounted. Default `/admin`. */
  readonly path?: string;
  /** Separate from clients' authentication: permission to call tools does not make an operator. `adminToken` creates one. */
  readonly authenticate: AuthenticateOperator;
}
