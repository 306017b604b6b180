import type { Names } from "../names.ts";

/** Reports of processes for each minute. Those of the version before write none. */
export function reports({ report }: Names): string {
  return `
CREATE TABLE ${report} (
  owner text COLLATE "C" NOT NULL,
  minute bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (minute, owner)
);
`;
}
