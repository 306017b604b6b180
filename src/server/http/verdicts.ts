import { createMcpHandler, type AuthInfo, type McpServer } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";

/**
 * Lets the SDK judge a request of ours that is not certainly valid: returns the SDK's answer if it refuses the request, otherwise
 * undefined. It asks a server that lists our tools and does nothing.
 */
export class Verdicts {
  readonly #sdk: ReturnType<typeof createMcpHandler>;

  /** `make` makes such a server. */
  constructor(make: () => Promise<McpServer>, maxRequestBodySize: number) {
    this.#sdk = createMcpHandler(make, { legacy: "reject", maxRequestBodySize });
  }

  async refusal(
    request: Request,
    parsedBody: unknown,
    authInfo: AuthInfo | undefined,
  ): Promise<Response | undefined> {
    const options = authInfo === undefined ? { parsedBody } : { parsedBody, authInfo };
    const response = await this.#sdk.fetch(request, options);
    const answer: unknown = await response.clone().json();
    return isJsonObject(answer) && isAccepted(answer) ? undefined : response;
  }
}

/** It reached a handler: those of tools give a result, those of methods an internal error. */
function isAccepted({ result, error }: JsonObject): boolean {
  return result !== undefined || (isJsonObject(error) && error["code"] === -32603);
}
