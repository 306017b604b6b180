/** Reports of processes for each minute. */
export const reports = `
CREATE TABLE report (
  owner TEXT NOT NULL,
  minute INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (minute, owner)
) STRICT;
`;
