import type { Admitted } from "../../src/server/http/admission.ts";

/** What no rule refuses. Only `Admission` makes real ones. */
export const admitted = {
  sender: { principal: null },
  needed: [],
  refusal: () => undefined,
  admit: (_, respond) => respond(admitted),
} satisfies Pick<Admitted, keyof Admitted> as unknown as Admitted;
