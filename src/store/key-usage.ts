import { isSealed } from "../task/stored-text.ts";
import { Cipher, keyIdOf } from "./cipher.ts";
import { type Codec, inClear, type Place, type Row } from "./row.ts";
import type { KeyRing } from "./encryption-keys.ts";
import { storeId } from "./protection.ts";
import { pagesOf, sealedTables, secretsOf, type RewrittenDatabase } from "./reseal.ts";

/** Numbers by table. */
type Counts = Record<string, number>;

/** What the keys of a store are still needed for. */
export interface KeyUsage {
  /** How many texts each key has sealed, by the key's id. */
  readonly keys: Readonly<Record<string, Readonly<Counts>>>;
  /** How many texts are in clear although an encrypted store seals them. */
  readonly clear: Readonly<Counts>;
  /** How many rows the given keys do not open, because one is missing or wrong, or the row was changed. */
  readonly unopened: Readonly<Counts>;
}

/** Looks at every sealed column of a store, while servers run. Without keys no row with a sealed text can be opened. */
export async function keyUsageOf(database: RewrittenDatabase, keys: KeyRing | undefined): Promise<KeyUsage> {
  const secrets = await secretsOf(database);
  const store = secrets.get(storeId);
  const ring = [...(keys ?? [])].map(([id, key]) => ({ id, key: key.export() }));
  const cipher =
    store === undefined || ring.length === 0 ? undefined : new Cipher({ keys: ring, store, isStrict: false });
  const sealed = new Map<string, Counts>();
  const [clear, unopened]: [Counts, Counts] = [{}, {}];
  const count = (id: string, table: string, texts = 1): void => {
    const counts = sealed.get(id) ?? {};
    sealed.set(id, counts);
    add(counts, table, texts);
  };
  for (const [name, value] of secrets) {
    if (isSealed(value)) count(keyIdOf(value), "secret");
    else if (name !== storeId) add(clear, "secret", 1);
  }
  for (const table of sealedTables(database)) {
    for await (const rows of pagesOf(database, table)) {
      for (const row of rows) {
        const codec = new CountingCodec(cipher);
        try {
          table.values(row.slice(table.key.length), codec);
          for (const id of codec.ids) count(id, table.table);
          add(clear, table.table, codec.inClear);
        } catch {
          add(unopened, table.table, 1);
          for (const id of idsIn(row)) count(id, table.table);
        }
      }
    }
  }
  return { keys: Object.fromEntries(sealed), clear, unopened };
}

function add(counts: Counts, table: string, texts: number): void {
  if (texts > 0) counts[table] = (counts[table] ?? 0) + texts;
}

/** The ids of the keys in the texts of a row that cannot be opened. */
function idsIn(row: Row): readonly string[] {
  return row.flatMap((value) =>
    typeof value === "string"
      ? [...value.matchAll(/enc2:[^:"]+:[\w-]+/g)].map(([text]) => keyIdOf(text))
      : [],
  );
}

/** Opens texts, and counts them instead of sealing anything. */
class CountingCodec implements Codec {
  readonly ids: string[] = [];
  inClear = 0;
  readonly #cipher: Cipher | undefined;

  constructor(cipher: Cipher | undefined) {
    this.#cipher = cipher;
  }

  readonly seal = inClear.seal;
  readonly sealWords = inClear.sealWords;
  readonly keyedHash = inClear.keyedHash;
  readonly proofOf = inClear.proofOf;

  readonly open = (stored: string, place: Place): string => {
    if (!isSealed(stored)) this.inClear++;
    else this.ids.push(keyIdOf(stored));
    if (isSealed(stored) && this.#cipher === undefined) throw new Error("There is no key.");
    return this.#cipher?.open(stored, place) ?? stored;
  };

  readonly openWords = this.open;

  readonly prove = (proof: string | null, place: Place): boolean => {
    if (proof !== null) this.open(proof, place);
    return true;
  };
}
