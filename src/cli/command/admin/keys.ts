import { keyUsageOfStore } from "../../../store/data-care.ts";
import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { fittedTable } from "../../output/fitted-table.ts";
import type { KeysJson } from "../../output/json-shapes.ts";
import { encryptionKeys } from "../../server/encryption-keys.ts";
import { adminFailure } from "./admin-failure.ts";
import { storePlace } from "./store-place.ts";

const columns = [
  { title: "KEY", least: 4 },
  { title: "GIVEN", least: 5 },
  { title: "TEXTS", least: 5, isNumber: true },
  { title: "WHERE", least: 10 },
] as const;

/** `holdfast admin STORE keys` */
export async function keys(
  { io, output }: Context,
  { place }: { readonly place: string },
): Promise<ExitCode> {
  const at = storePlace(io, place);
  const given = encryptionKeys(io);
  try {
    const usage = await keyUsageOfStore(at, given);
    const ids = new Set([...(given?.keys() ?? []), ...Object.keys(usage.keys)]);
    const rows = [...ids].map((id) => ({
      id,
      isGiven: given?.has(id) === true,
      texts: usage.keys[id] ?? {},
    }));
    const document: KeysJson = { keys: rows, clear: usage.clear, unopened: usage.unopened };
    if (output.json) await output.printJson(document);
    else {
      const inClear = sumOf(usage.clear);
      const cells = rows.map(({ id, isGiven, texts }) => [
        id,
        isGiven ? "yes" : "no",
        sumOf(texts),
        listOf(texts),
      ]);
      if (inClear !== "0") cells.push(["in clear", "", inClear, listOf(usage.clear)]);
      await output.print(
        cells.length === 0 ? "the store has no data\n" : fittedTable(columns, cells, output.columns),
      );
    }
    const unopened = listOf(usage.unopened);
    if (unopened !== "") output.note(`rows that the given keys do not open: ${unopened}`);
    return unopened === "" ? exitCodes.done : exitCodes.failed;
  } catch (error) {
    throw adminFailure(error);
  }
}

function sumOf(counts: Readonly<Record<string, number>>): string {
  return String(Object.values(counts).reduce((sum, count) => sum + count, 0));
}

function listOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([table, count]) => `${table} ${count}`)
    .join(", ");
}
