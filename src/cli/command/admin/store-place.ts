import { resolve } from "node:path";
import { placeOfStore, type StorePlace } from "../../../store/from-url.ts";
import { UsageError } from "../../errors.ts";
import type { Io } from "../../io.ts";

/** The store of a command that needs its database. Throws a UsageError for an admin endpoint. */
export function storePlace({ cwd }: Io, place: string): StorePlace {
  if (/^https?:/i.test(place))
    throw new UsageError("An admin endpoint cannot do this. Give the server's store instead.");
  return placeOfStore(place, (path) => resolve(cwd, path));
}
