import type { ConnectOptions, OnInput } from "holdfast/client";
import { sampleOf } from "./samples.ts";

export const capabilities: NonNullable<ConnectOptions["capabilities"]> = {
  elicitation: { form: {} },
  sampling: {},
  roots: {},
};

/** Answers what a server asks, as a user would who accepts every form as it stands. */
export const answer: OnInput = async (request) => {
  switch (request.method) {
    case "elicitation/create": {
      const { params } = request;
      if (params.mode === "url") return { action: "decline" };
      const fields = Object.entries(params.requestedSchema.properties);
      const content = Object.fromEntries(fields.map(([name, schema]) => [name, sampleOf(schema)]));
      return { action: "accept", content };
    }
    case "sampling/createMessage":
      return { role: "assistant", content: { type: "text", text: "A sample." }, model: "none" };
    case "roots/list":
      return { roots: [] };
  }
};
