import type { Admitted } from "../../src/server/http/admission.ts";

/** What no rule refuses. */
export const admitted: Admitted = {
  needed: [],
  refusal: () => undefined,
  admit: (_, respond) => respond(admitted),
};
