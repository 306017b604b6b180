import { HoldfastError } from "../../task/fault.ts";
import { isRole, roles } from "../../admin/roles.ts";
import { stopping } from "../../task/unanswered.ts";
import { adaptedRefusal, refusal } from "./admin/admin-answers.ts";
import type { AuthenticateOperator, Operator } from "./operator-options.ts";
import type { NameOptions } from "./request-options.ts";
import { AllowedNames } from "./allowed-names.ts";

export interface OperatorGateOptions extends NameOptions {
  readonly authenticate: AuthenticateOperator;
}

/** Admits only operators to an operators' endpoint. */
export class OperatorGate {
  readonly #endpoint: string;
  readonly #authenticate: AuthenticateOperator;
  readonly #names: AllowedNames;
  #closed = false;

  constructor(endpoint: "admin" | "metrics" | "dashboard", { authenticate, ...names }: OperatorGateOptions) {
    this.#endpoint = endpoint;
    this.#authenticate = authenticate;
    this.#names = new AllowedNames(names, undefined);
  }

  /** The operator, or the refusal of the request. */
  async admit(request: Request): Promise<Operator | Response> {
    const forbidden = this.#names.refusal(request);
    if (forbidden !== undefined) return adaptedRefusal(forbidden);
    const operator = await this.#authenticate(request);
    // JavaScript callers may say null.
    if (operator === undefined || operator === null) return this.#unauthenticated();
    this.#assertOperator(operator);
    if (this.#closed) throw stopping();
    return operator;
  }

  /** Admits no one from now on. */
  close(): void {
    this.#closed = true;
  }

  #unauthenticated(): Response {
    const message = `The ${this.#endpoint} endpoint requires a valid operator token.`;
    const challenge = { "WWW-Authenticate": `Bearer realm="${this.#endpoint}"` };
    return refusal(401, "unauthenticated", message, challenge);
  }

  #assertOperator({ actor, role }: Operator): void {
    if (typeof actor !== "string" || actor.trim() === "")
      throw wrong(
        `authenticate of the ${this.#endpoint} endpoint returned an operator without a name (actor).`,
      );
    // A slip of JavaScript authors must not let anybody act.
    if (role !== undefined && !isRole(role))
      throw wrong(`The role of an operator is one of ${roles.join(", ")}, not ${JSON.stringify(role)}.`);
  }
}

function wrong(message: string): HoldfastError {
  return new HoldfastError("configuration", message);
}
