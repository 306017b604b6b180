import type { TaskRecord } from "../../task/record.ts";
import type { NodeReport, NodeReports } from "../node-reports.ts";
import { compareText } from "./memory-lists.ts";

/** The reports of owners, by minute and owner. */
export class MemoryReports {
  readonly #byMinute = new Map<number, Map<string, string>>();

  write({ owner, minute, body }: NodeReport, oldest: number): void {
    const said = this.#byMinute.get(minute) ?? new Map<string, string>();
    this.#byMinute.set(minute, said.set(owner, body));
    for (const each of this.#byMinute.keys()) if (each < oldest) this.#byMinute.delete(each);
  }

  between(first: number, last: number, limit: number): readonly NodeReport[] {
    return [...this.#byMinute]
      .filter(([minute]) => minute >= first && minute <= last)
      .sort(([a], [b]) => b - a)
      .flatMap(([minute, said]) => [...said].map(([owner, body]) => ({ owner, minute, body })))
      .slice(0, limit);
  }
}

/** What an owner's store provides besides the reports. */
interface Around {
  readonly assertOpen: () => void;
  /** Resolves with the owner that writes. */
  readonly commit: () => Promise<string>;
  readonly living: () => readonly string[];
  readonly unfinished: (most: number) => readonly TaskRecord[];
}

/** The port for one owner. */
export function memoryReports(
  reports: MemoryReports,
  { assertOpen, commit, living, unfinished }: Around,
): NodeReports {
  return {
    write: async (report, oldest) => {
      assertOpen();
      reports.write({ ...report, owner: await commit() }, oldest);
    },
    between: async (...query) => {
      assertOpen();
      return reports.between(...query);
    },
    owners: async (most) => {
      assertOpen();
      const running = unfinished(most).filter(({ state }) => state === "running");
      return living()
        .toSorted(compareText)
        .map((id) => ({ id, running: running.filter(({ owner }) => owner === id).length }));
    },
  };
}
