/** Who asks an admin endpoint. */
export interface Operator {
  /** The name with which actions are recorded, not empty. */
  readonly actor: string;
  /** Whether he may act, or only look. Default `write`. */
  readonly role?: "read" | "write";
}

/** Identifies the operator of a request by its headers; `undefined` refuses the request with 401. */
export type AuthenticateOperator = (request: Request) => Promise<Operator | undefined>;

/** An admin endpoint beside an MCP endpoint. */
export interface AdminEndpointOptions {
  /** The whole path of the endpoint, wherever the handler is mounted. Default `/admin`. */
  readonly path?: string;
  /** Of its own: whoever may call tools is no operator. `adminToken` makes one. */
  readonly authenticate: AuthenticateOperator;
}
