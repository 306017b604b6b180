import type { Names } from "../names.ts";

/** Messages for webhooks. Processes of the version before write none for their changes. */
export function deliveries({ delivery }: Names): string {
  return `
CREATE TABLE ${delivery} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hook text COLLATE "C" NOT NULL,
  event text NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  principal text COLLATE "C",
  generation text NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL,
  due_at bigint,
  tries bigint NOT NULL,
  failed_at bigint,
  problem text
);
CREATE INDEX delivery_due ON ${delivery} (hook, due_at, seq);
CREATE INDEX delivery_failed ON ${delivery} (hook, failed_at) WHERE failed_at IS NOT NULL;
`;
}
