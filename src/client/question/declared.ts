import type { ClientCapabilities } from "@modelcontextprotocol/client";
import type { OpenQuestion } from "../task/remote-task.ts";

/** Which questions a client with these capabilities may be asked, by method and by the form that they take. */
export function declaredBy({
  elicitation,
  sampling,
  roots,
}: ClientCapabilities): (question: OpenQuestion) => boolean {
  return ({ method, params }) => {
    switch (method) {
      case "elicitation/create":
        if (elicitation === undefined) return false;
        // Forms are what a client means that names no mode.
        if (params["mode"] === "url") return elicitation.url !== undefined;
        return elicitation.form !== undefined || elicitation.url === undefined;
      case "sampling/createMessage":
        return sampling !== undefined && (params["tools"] === undefined || sampling.tools !== undefined);
      case "roots/list":
        return roots !== undefined;
      default:
        return false;
    }
  };
}

/** What a client declares that is told nothing else: forms, where there is somebody to ask. */
export function defaultCapabilities(canAsk: boolean): ClientCapabilities {
  return canAsk ? { elicitation: { form: {} } } : {};
}
